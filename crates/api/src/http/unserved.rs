//! What those are told who are not served: no connection is left for them, or more is asked than can be done.

use super::problem::{Code, Problem};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use onrush_serve::Unserved;
use onrush_serve::pressure::SentAway;

/// After how long to come back when the house is full.
const FULL_MS: u32 = 5_000;

/// Their answers, as problem documents.
#[must_use]
pub fn unserved() -> Unserved {
    let full = "as many connections are open as may be; come back in a moment";
    let too_many = "as many connections are open from your address as one may have; close some";
    Unserved {
        full: whole_answer(&Problem::new(Code::ConnectionsFull, full)),
        too_many: whole_answer(&Problem::new(Code::TooManyConnections, too_many)),
        busy,
    }
}

fn busy(SentAway { after_ms }: SentAway) -> Response<Body> {
    let why = "more is asked than can be done just now; ask again when Retry-After is over";
    Problem::new(Code::Busy, why).after_ms(after_ms).into_response()
}

/// An answer as it stands on the wire, after which the connection closes.
fn whole_answer(problem: &Problem) -> Box<[u8]> {
    let body = problem.to_json();
    let (status, text) = (&body["status"], body.to_string());
    format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: application/problem+json\r\nContent-Length: {}\r\n\
         Retry-After: {}\r\n\
         Connection: close\r\n\r\n{text}",
        if status == 429 { "Too Many Requests" } else { "Service Unavailable" },
        text.len(),
        FULL_MS / 1_000,
    )
    .into_bytes()
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_turned_away_gets_a_whole_answer() {
        let Unserved { full, too_many, busy: _ } = unserved();
        for (answer, status) in [(&full, "503"), (&too_many, "429")] {
            let text = std::str::from_utf8(answer).unwrap();
            assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
            assert!(head.contains("Retry-After: 5"), "{head}");
        }
    }
}

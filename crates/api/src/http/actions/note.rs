//! Writing down what was done with a key, and forgetting it after a time.

use crate::http::state::{Callers, HttpState};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use onrush_base::auth::names::event_of;
use onrush_base::auth::{hex, random};
use onrush_core::Time;
use onrush_core::ids::EventId;
use onrush_ledger::action::Action;
use onrush_serve::ProblemCode;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::net::IpAddr;
use std::time::Duration;

/// The header that has the request's id, by which it is found among what was done.
pub static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest path that is kept, in bytes.
const MAX_PATH: usize = 500;
/// How often old rows are forgotten.
const TIDY_EVERY: Duration = Duration::from_secs(3_600);
const DAY_MS: i64 = 24 * 3_600_000;

/// Says which event a request was about whose path names none.
#[derive(Clone, Debug)]
pub struct About(pub EventId);

/// A request that is written down once it is answered.
pub struct Asked {
    at: Time,
    address: IpAddr,
    method: String,
    path: String,
    event: Option<EventId>,
}

impl Asked {
    /// A request to `pattern`, from an address.
    #[must_use]
    pub fn new(callers: &Callers, parts: &Parts, pattern: &str, address: IpAddr) -> Self {
        let (path, event) = shown(pattern, parts.uri.path());
        let method = parts.method.as_str().to_owned();
        Self { at: callers.clock.now(), address, method, path, event }
    }

    /// Writes down what came of it, and tells the caller under which id. Nobody hears of an answer
    /// before; if the ledger fails, the log has it.
    pub async fn note(self, callers: &Callers, name: Option<&str>, response: &mut Response) {
        let Self { at, address, method, path, event } = self;
        let request = hex(&random::<16>());
        let about = response.extensions().get::<About>().map(|About(event)| event.clone());
        let code = response.extensions().get::<ProblemCode>().map(|code| code.0.to_owned());
        if let Ok(id) = HeaderValue::try_from(&request) {
            response.headers_mut().insert(REQUEST_ID.clone(), id);
        }
        let action = Action {
            request,
            at,
            name: name.map(str::to_owned),
            address: address.to_string(),
            method,
            path,
            event: event.or(about),
            status: response.status().as_u16(),
            code,
        };
        if let Err(error) = callers.ledger.note_action(action.clone()).await {
            tracing::error!(%error, ?action, "what was done with a key could not be written down");
        }
    }
}

/// A path with what it was about, but without users: nothing here shall name a person who buys.
fn shown(pattern: &str, path: &str) -> (String, Option<EventId>) {
    let mut event = None;
    let parts = pattern.split('/').zip(path.split('/')).map(|(of, is)| {
        // As the handler reads it; what is no id then, it refuses.
        let id = percent_decode_str(is).decode_utf8().ok();
        let id = id.filter(|id| id.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/'));
        let is = id.unwrap_or(Cow::Borrowed(is));
        match of {
            "{event}" => event = is.parse().ok(),
            // Its id names the event that it is of.
            "{booking}" if event.is_none() => event = event_of(&is),
            _ => {}
        }
        if of == "{user}" || !of.starts_with('{') { Cow::Borrowed(of) } else { is }
    });
    let mut shown = parts.collect::<Vec<_>>().join("/");
    shown.truncate(shown.floor_char_boundary(MAX_PATH));
    (shown, event)
}

/// Forgets what is older than it is to be kept, now and each hour, until the server stops.
pub async fn forget_old(state: HttpState) {
    loop {
        let kept_ms = i64::from(state.config.actions_kept_days) * DAY_MS;
        let before = state.callers.clock.now().plus_ms(-kept_ms);
        if let Err(error) = state.ledger.forget_actions(before).await {
            tracing::warn!(%error, "what was done with keys long ago could not be forgotten");
        }
        tokio::select! {
            biased;
            () = state.sagas.stopped() => return,
            () = tokio::time::sleep(TIDY_EVERY) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shows_what_it_was_about_and_no_user() {
        let pattern = "/api/v1/admin/events/{event}/visitors/{user}/remove";
        let path = "/api/v1/admin/events/gala/visitors/u_77/remove";
        let gala = Some("gala".parse().unwrap());
        let told = "/api/v1/admin/events/gala/visitors/{user}/remove".to_owned();
        assert_eq!(shown(pattern, path), (told, gala));
        let pattern = "/api/v1/admin/desk/{entry}/settle";
        let path = "/api/v1/admin/desk/stripe.re_1/settle";
        assert_eq!(shown(pattern, path), (path.to_owned(), None));
        // What is about a booking is about its event, whatever the path names besides.
        let booking = format!("gala.{}", "7".repeat(32));
        for (of_booking, path, event) in [
            ("/sagas/{booking}/retry", format!("/sagas/{booking}/retry"), "gala"),
            ("/{event}/bookings/{booking}", format!("/expo/bookings/{booking}"), "expo"),
        ] {
            let event = Some(event.parse().unwrap());
            assert_eq!(shown(of_booking, &path), (path.clone(), event));
        }
        assert_eq!(shown("/sagas/{booking}", "/sagas/x").1, None);
        // Written otherwise it is the same event.
        let pattern_of_event = "/api/v1/admin/events/{event}/open";
        let path = "/api/v1/admin/events/g%61la/open";
        let gala = Some("gala".parse().unwrap());
        let told = "/api/v1/admin/events/gala/open".to_owned();
        assert_eq!(shown(pattern_of_event, path), (told, gala));
        for path in ["/api/v1/admin/events/a%2Fb/open", "/api/v1/admin/events/a%0Ab/open"] {
            assert_eq!(shown(pattern_of_event, path), (path.to_owned(), None));
        }
        let long = format!("/api/v1/admin/desk/{}/settle", "e".repeat(9_000));
        assert_eq!(shown(pattern, &long).0.len(), MAX_PATH);
        for letters in ["é".repeat(300), format!("e{}", "é".repeat(300))] {
            let path = format!("/api/v1/admin/desk/{letters}/settle");
            assert!([MAX_PATH - 1, MAX_PATH].contains(&shown(pattern, &path).0.len()), "{path}");
        }
    }
}

//! The page where the buyer pays: plain HTML, no scripts.

use super::api;
use super::fault::{CARDS, card_digits};
use super::service::{Answer, AskedView, PaymentView, Service};
use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use onrush_base::amount;
use onrush_core::ids::PaymentId;
use std::fmt::Write;
use std::sync::Arc;

/// Nothing but our own style sheet, and forms only to ourselves.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

const STYLE: &str = "\
:root { color-scheme: light dark; --line: #8888; --paid: #1a7f37; --failed: #b42318; }
* { box-sizing: border-box; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 30rem; padding: 1rem; }
h1 { font-size: 1.1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
.amount { font-size: 2rem; font-variant-numeric: tabular-nums; margin: 0 0 1rem; }
.note { border-left: .3rem solid var(--line); margin: 0 0 1rem; padding: .5rem .75rem; }
.note.paid { border-color: var(--paid); }
.note.failed { border-color: var(--failed); }
label { display: block; font-weight: 600; }
input, button { border: 1px solid var(--line); border-radius: .4rem; font: inherit;
  min-height: 3rem; padding: 0 .8rem; width: 100%; }
input { letter-spacing: .05em; margin: .25rem 0 1rem; }
button { cursor: pointer; margin-bottom: .75rem; }
button.pay { background: #0b57d0; border-color: #0b57d0; color: #fff; font-weight: 600; }
:focus-visible { outline: 3px solid #0b57d0; outline-offset: 2px; }
footer { border-top: 1px solid var(--line); font-size: .85rem; margin-top: 2rem; padding-top: .5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .2rem .5rem .2rem 0; text-align: left; vertical-align: top; }
td:first-child { font-variant-numeric: tabular-nums; white-space: nowrap; }
";

/// `GET /pay.css`
pub(super) async fn style() -> Response {
    let kind = HeaderValue::from_static("text/css; charset=utf-8");
    (secured(), [(CONTENT_TYPE, kind)], STYLE).into_response()
}

fn secured() -> [(HeaderName, HeaderValue); 4] {
    [
        (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ]
}

/// `GET /pay/{payment}`
pub(super) async fn show(State(service): State<Arc<Service>>, Path(id): Path<String>) -> Response {
    let Ok(payment) = id.parse::<PaymentId>() else { return missing() };
    match service.status(&payment).await {
        Answer::Done(view) => page_of(StatusCode::OK, &view, None),
        Answer::Refused(_) => missing(),
        Answer::Lost => api::lost(),
        Answer::Stumbled | Answer::Broken => trouble(),
    }
}

/// `POST /pay/{payment}`
pub(super) async fn pay(
    State(service): State<Arc<Service>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let wants_json = headers
        .get(ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|text| text.contains("application/json"));
    let Ok(payment) = id.parse::<PaymentId>() else {
        return if wants_json { api::answer(&no_payment()) } else { missing() };
    };
    let field = |name: &str| {
        let mut fields = form_urlencoded::parse(&body);
        fields.find(|(other, _)| other == name).map(|(_, value)| value.into_owned())
    };
    let answer = match field("action").as_deref() {
        Some("decline") => service.give_up(&payment).await,
        Some("pay") => {
            let card = field("card").unwrap_or_default();
            let Some(digits) = card_digits(&card) else {
                return wrong_card(&service, &payment, wants_json).await;
            };
            service.pay(&payment, &digits).await
        }
        _ => Answer::Refused(super::book::Refused {
            status: 422,
            code: "ACTION_UNKNOWN",
            detail: "action is pay or decline",
        }),
    };
    if wants_json {
        return api::answer(&answer);
    }
    match answer {
        // Whoever reloads the page that follows does not pay again.
        Answer::Done(_) => see_other(&payment),
        Answer::Refused(why) if why.status == 409 => see_other(&payment),
        Answer::Refused(why) if why.status == 422 => document(
            StatusCode::UNPROCESSABLE_ENTITY,
            "Nothing happened",
            &note("failed", why.detail),
        ),
        Answer::Refused(_) => missing(),
        Answer::Lost => api::lost(),
        Answer::Stumbled | Answer::Broken => trouble(),
    }
}

const WRONG_CARD: &str = "This is no card number: it has 12 to 19 digits. Nothing was paid.";

async fn wrong_card(service: &Service, payment: &PaymentId, wants_json: bool) -> Response {
    let refused = super::book::Refused {
        status: 422,
        code: "CARD_INVALID",
        detail: "card has 12 to 19 digits",
    };
    match service.status(payment).await {
        Answer::Done(view) if !wants_json => {
            page_of(StatusCode::UNPROCESSABLE_ENTITY, &view, Some(WRONG_CARD))
        }
        Answer::Done(_) => api::answer(&Answer::Refused(refused)),
        answer if wants_json => api::answer(&answer),
        Answer::Lost => api::lost(),
        Answer::Refused(_) => missing(),
        Answer::Stumbled | Answer::Broken => trouble(),
    }
}

fn no_payment() -> Answer {
    Answer::Refused(super::book::Refused {
        status: 404,
        code: "PAYMENT_NOT_FOUND",
        detail: "there is no such payment",
    })
}

fn see_other(payment: &PaymentId) -> Response {
    // An id has no character that a header cannot have.
    let to = HeaderValue::from_str(&format!("/pay/{payment}"));
    let mut response = (StatusCode::SEE_OTHER, secured()).into_response();
    if let Ok(to) = to {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

fn missing() -> Response {
    let text = "This payment does not exist. Go back to the shop and start again.";
    document(StatusCode::NOT_FOUND, "No such payment", &note("failed", text))
}

fn trouble() -> Response {
    let text = "Something went wrong and nothing was paid. Go back and try again.";
    document(StatusCode::INTERNAL_SERVER_ERROR, "Try again", &note("failed", text))
}

fn note(kind: &str, text: &str) -> String {
    format!("<p class=\"note {kind}\" role=\"status\">{}</p>", escaped(text))
}

fn page_of(status: StatusCode, view: &PaymentView, wrong: Option<&str>) -> Response {
    let Some(asked) = &view.asked else {
        let text = "This payment was called off. Nothing was paid.";
        return document(status, "Called off", &note("failed", text));
    };
    let mut body = format!(
        "<h1>{}</h1><p class=\"amount\">{}</p>",
        escaped(&asked.description),
        escaped(&amount::readable(asked.amount_minor, asked.currency)),
    );
    let why = view.why.as_deref().unwrap_or_default();
    let title = match view.status.as_str() {
        "captured" if view.refunded_minor > 0 => {
            let back = amount::readable(view.refunded_minor, asked.currency);
            body += &note("paid", &format!("Paid. {back} went back to your card."));
            "Paid"
        }
        "authorised" => {
            body += &note(
                "paid",
                "Your money is set aside. Nothing was taken yet: go back to the shop.",
            );
            "Set aside"
        }
        "captured" => {
            body += &note("paid", "Paid. Thank you!");
            "Paid"
        }
        "cancelled" => {
            body += &note("failed", "This payment was called off. Nothing was paid.");
            "Called off"
        }
        "declined" => {
            let text = wrong.map_or_else(|| declined(why), str::to_owned);
            body += &note("failed", &text);
            body += &form(asked);
            "Declined"
        }
        _ => {
            if let Some(wrong) = wrong {
                body += &note("failed", wrong);
            }
            body += &form(asked);
            "Pay"
        }
    };
    if let Some(url) = asked.return_url.as_deref().filter(|url| api::is_web_address(url)) {
        // Writing to a text cannot fail.
        let _ = write!(
            body,
            "<p><a href=\"{}\" rel=\"noreferrer\">Back to the shop</a></p>",
            escaped(url)
        );
    }
    document(status, title, &body)
}

fn declined(why: &str) -> String {
    let reason = match why {
        "insufficient_funds" => "the card has too little money",
        "timeout" => "the card's bank did not answer",
        "cancelled" => "it was called off",
        other => other,
    };
    format!("Declined: {reason}. Nothing was paid. You can try again, also with another card.")
}

fn form(asked: &AskedView) -> String {
    // The button that comes first is the one that the return key presses.
    format!(
        "<form method=\"post\"><label for=\"card\">Card number</label>\
         <input id=\"card\" name=\"card\" inputmode=\"numeric\" autocomplete=\"off\" maxlength=\"30\" \
         placeholder=\"4242 4242 4242 4242\">\
         <button class=\"pay\" name=\"action\" value=\"pay\">Pay {}</button>\
         <button name=\"action\" value=\"decline\">Decline</button></form>",
        escaped(&amount::readable(asked.amount_minor, asked.currency)),
    )
}

fn document(status: StatusCode, title: &str, body: &str) -> Response {
    let mut cards = String::new();
    for (number, what, _) in CARDS {
        let _ = write!(cards, "<tr><td>{number}</td><td>{}</td></tr>", escaped(what));
    }
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{title} · sandbox</title><link rel=\"stylesheet\" href=\"/pay.css\"></head>\
         <body><main>{body}</main><footer><p>This is a sandbox: no money moves. Test cards:</p>\
         <table><thead><tr><th>Number</th><th>What it does</th></tr></thead><tbody>{cards}</tbody></table>\
         <p>Any other number of 12 to 19 digits pays.</p></footer></body></html>"
    );
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    (status, secured(), [(CONTENT_TYPE, kind)], html).into_response()
}

/// A text that is only text in HTML, also within quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

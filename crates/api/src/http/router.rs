//! Every path, and what answers it.

use super::headers;
use super::problem::{Code, Problem};
use super::state::HttpState;
use super::system::operator::Operator;
use super::system::{health, metrics};
use super::{
    bookings, channels, claims, compat, events, live, messages, openapi, pages, payments, queue,
    receipts, sagas, seats, sessions, system, tickets, visitors,
};
use axum::Router;
use axum::routing::get;
use onrush_serve::Traffic;
use std::sync::{Arc, OnceLock};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

/// Everything the public listener answers.
pub fn public_router(state: HttpState) -> Router {
    let (router, document) = described(state.config.booking_paths).split_for_parts();
    let text: Arc<str> = document.to_json().expect("the OpenAPI document is JSON").into();
    let config = Arc::clone(&state.config);
    let router = router
        .route("/api/openapi.json", get(move || openapi::document(text)))
        .route("/docs/errors", get(openapi::errors))
        .merge(openapi::browser())
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::public_readyz))
        .fallback(pages::pages)
        .method_not_allowed_fallback(no_such_method)
        .with_state(state);
    headers::guarded(router, &config)
}

/// Everything the operator's listener answers; before the engine has recovered there is no state yet.
pub fn operator_router(state: Arc<OnceLock<HttpState>>, traffic: Arc<Traffic>) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::metrics))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .with_state(Operator { state, traffic })
}

/// The paths that the OpenAPI document describes, with their whole path each: nesting would rewrite
/// every request's.
fn described(booking_paths: bool) -> OpenApiRouter<HttpState> {
    let mut all = OpenApiRouter::with_openapi(openapi::Document::openapi())
        .merge(visitors::routes())
        .merge(events::routes())
        .merge(seats::routes())
        .merge(queue::routes())
        .merge(live::routes())
        .merge(bookings::routes())
        .merge(channels::routes())
        .merge(payments::routes())
        .merge(receipts::routes())
        .merge(tickets::routes())
        .merge(claims::routes())
        .merge(sessions::routes())
        .merge(sagas::routes())
        .merge(messages::routes())
        .merge(system::routes());
    openapi::let_sessions_in(all.get_openapi_mut());
    if booking_paths { all.merge(compat::routes()) } else { all }
}

async fn no_such_path() -> Problem {
    Problem::new(Code::PathNotFound, "there is nothing here; /docs shows all paths")
}

async fn no_such_method() -> Problem {
    Problem::new(Code::MethodNotAllowed, "this path does not know the method; see Allow")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document as a value.
    fn document() -> serde_json::Value {
        serde_json::to_value(described(true).into_openapi()).unwrap()
    }

    /// The build of the pages makes its types from the file, so that it needs no server.
    #[test]
    fn file_that_pages_are_built_from_is_the_document() {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/openapi.json");
        let document = serde_json::to_value(described(false).into_openapi()).unwrap();
        let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
        if std::env::var_os("ONRUSH_WRITE_OPENAPI").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let there = std::fs::read_to_string(&file).unwrap();
        assert!(
            there == text,
            "run this test once with ONRUSH_WRITE_OPENAPI=1, and commit {}",
            file.display()
        );
    }

    #[test]
    fn every_operation_names_its_problems_and_every_reference_leads_somewhere() {
        let document = document();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.contains_key("503"), "{method} {path}");
                assert!(operation["operationId"].is_string(), "{method} {path}");
            }
        }
        let text = document.to_string();
        for reference in text.split("\"#/").skip(1) {
            let pointer = format!("/{}", reference.split('"').next().unwrap());
            assert!(document.pointer(&pointer).is_some(), "{pointer}");
        }
    }
}

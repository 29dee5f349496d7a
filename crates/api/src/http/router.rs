//! Every path, and what answers it.

use super::doorkeeper;
use super::front::Front;
use super::problem::{Code, Problem};
use super::state::HttpState;
use super::system::operator::Operator;
use super::system::{health, metrics};
use super::{
    actions, bookings, channels, claims, compat, events, live, messages, openapi, pages, payments,
    queue, receipts, sagas, seats, sessions, system, tickets, visitors,
};
use axum::body::Bytes;
use axum::routing::get;
use axum::{Router, middleware};
use onrush_serve::Traffic;
use std::sync::{Arc, OnceLock};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

/// Everything the public listener answers.
pub fn public_router(state: HttpState) -> Router {
    let booking_paths = state.config.booking_paths;
    let router = described_once(booking_paths)
        .route_layer(middleware::from_fn_with_state(state.clone(), doorkeeper::keep))
        .route(
            "/api/openapi.json",
            get(async move || openapi::document(document_text(booking_paths))),
        )
        .route("/docs/errors", get(openapi::errors))
        .merge(openapi::browser())
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::public_readyz))
        .fallback(pages::pages)
        .method_not_allowed_fallback(no_such_method)
        .with_state(state.clone());
    Front::of(router, state)
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

/// The paths that the OpenAPI document describes. Tests and simulations open many servers in one
/// process, and to describe all paths takes longer than to open the files.
fn described_once(booking_paths: bool) -> Router<HttpState> {
    static MADE: [OnceLock<Router<HttpState>>; 2] = [const { OnceLock::new() }; 2];
    MADE[usize::from(booking_paths)].get_or_init(|| described(booking_paths).into()).clone()
}

/// The OpenAPI document, which few servers are ever asked for.
fn document_text(booking_paths: bool) -> Bytes {
    static MADE: [OnceLock<Bytes>; 2] = [const { OnceLock::new() }; 2];
    let text = MADE[usize::from(booking_paths)].get_or_init(|| {
        let document = described(booking_paths).into_openapi();
        document.to_json().expect("the OpenAPI document is JSON").into()
    });
    text.clone()
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
        .merge(actions::routes())
        .merge(sagas::routes())
        .merge(messages::routes())
        .merge(system::routes());
    openapi::say_who_may(all.get_openapi_mut());
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
    use crate::http::scopes;

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

    /// Method, path and what must be shown, of each operation of the organiser's.
    fn guarded(document: &serde_json::Value) -> Vec<(String, String, Vec<serde_json::Value>)> {
        let mut found = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let security = operation["security"].as_array().cloned().unwrap_or_default();
                let has_key = security.iter().any(|way| !way["key"].is_null());
                if has_key || path.starts_with("/api/v1/admin/") {
                    found.push((method.to_uppercase(), path.clone(), security));
                }
            }
        }
        found
    }

    #[test]
    fn every_operation_of_the_organisers_says_which_scope_it_needs() {
        let document = document();
        let all = guarded(&document);
        for (method, path, security) in &all {
            let row = scopes::TABLE.iter().find(|row| (row.0, row.1) == (method, path));
            let scope = row.unwrap_or_else(|| panic!("{method} {path} has no scope")).2.to_string();
            assert_eq!(security[0]["key"], serde_json::json!([scope]), "{method} {path}");
            assert_eq!(security[1]["session"], serde_json::json!([scope]), "{method} {path}");
            let changes = method != "GET";
            assert_eq!(!security[1]["csrf"].is_null(), changes, "{method} {path}");
            let forbidden = &document["paths"][path][method.to_lowercase()]["responses"]["403"];
            assert!(!forbidden.is_null(), "{method} {path}");
        }
        assert_eq!(all.len(), scopes::TABLE.len(), "a row is of no operation, or there twice");
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

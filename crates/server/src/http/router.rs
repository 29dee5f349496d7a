//! Every path, and what answers it.

use super::problem::{Code, Problem};
use super::state::App;
use super::{admin, gateway, live, openapi, operator, pages, s3, scanner, session, visitor};
use crate::serve::Traffic;
use axum::Router;
use axum::routing::get;
use std::sync::{Arc, OnceLock};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Everything the public listener answers.
pub fn public_router(app: Arc<App>) -> Router {
    let (router, document) = described(app.config.s3_paths).split_for_parts();
    let text: Arc<str> = document.to_json().expect("the OpenAPI document is JSON").into();
    router
        .route("/api/openapi.json", get(move || openapi::document(text)))
        .route("/docs/errors", get(openapi::errors))
        .merge(openapi::browser())
        .route("/healthz", get(operator::healthz::healthz))
        .route("/readyz", get(operator::readyz::public_readyz))
        .fallback(pages::pages)
        .method_not_allowed_fallback(no_such_method)
        .with_state(app)
}

/// Everything the operator's listener answers; before the engine has recovered there is no [`App`] yet.
pub fn operator_router(app: Arc<OnceLock<Arc<App>>>, traffic: Arc<Traffic>) -> Router {
    Router::new()
        .route("/healthz", get(operator::healthz::healthz))
        .route("/readyz", get(operator::readyz::readyz))
        .route("/metrics", get(operator::metrics::metrics))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .with_state(operator::State { app, traffic })
}

/// The paths that the OpenAPI document describes, with their whole path each: nesting would rewrite
/// every request's.
fn described(s3_paths: bool) -> OpenApiRouter<Arc<App>> {
    let visitor = OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(visitor::guest::guest))
        .routes(routes!(visitor::renew::renew))
        .routes(routes!(visitor::carry::carry))
        .routes(routes!(visitor::carried::carried))
        .routes(routes!(visitor::stream_ticket::stream_ticket))
        .routes(routes!(visitor::keys::keys))
        .routes(routes!(visitor::events::events))
        .routes(routes!(visitor::event::event))
        .routes(routes!(visitor::availability::availability))
        .routes(routes!(visitor::pace::pace))
        .routes(routes!(visitor::texts::texts))
        .routes(routes!(visitor::seats::seats))
        .routes(routes!(visitor::seat_statuses::seat_statuses))
        .routes(routes!(visitor::draw::draw))
        .routes(routes!(visitor::entrants::entrants))
        .routes(routes!(visitor::join::join, visitor::position::position, visitor::leave::leave))
        .routes(routes!(visitor::arrive::arrive))
        .routes(routes!(live::sse::stream))
        .routes(routes!(live::ws::ws))
        .routes(routes!(visitor::hold::hold))
        .routes(routes!(visitor::bookings::bookings))
        .routes(routes!(visitor::booking::booking))
        .routes(routes!(visitor::extend::extend))
        .routes(routes!(visitor::cancel::cancel))
        .routes(routes!(visitor::confirm::confirm))
        .routes(routes!(visitor::link::link, visitor::link::withdraw_link))
        .routes(routes!(visitor::tickets::tickets))
        .routes(routes!(visitor::ticket_picture::ticket_picture))
        .routes(routes!(scanner::check_in::check_in))
        .routes(routes!(scanner::revoked::revoked))
        .routes(routes!(visitor::pay::pay, visitor::payment::payment))
        .routes(routes!(visitor::set_buyer::set_buyer, visitor::erase_buyer::erase_buyer))
        .routes(routes!(gateway::webhook::webhook))
        .routes(routes!(visitor::claim::claim))
        .routes(routes!(visitor::claim_view::claim_view, visitor::declaim::declaim));
    let mut all = visitor
        .routes(routes!(session::create::create, session::show::show, session::end::end))
        .routes(routes!(admin::create::create))
        .routes(routes!(admin::change::change))
        .routes(routes!(admin::room::room))
        .routes(routes!(admin::add_pool::add_pool))
        .routes(routes!(admin::capacity::capacity))
        .routes(routes!(admin::claimed::claimed))
        .routes(routes!(admin::seat_map::seat_map))
        .routes(routes!(admin::block::block))
        .routes(routes!(admin::unblock::unblock))
        .routes(routes!(admin::prequeue::prequeue))
        .routes(routes!(admin::close_prequeue::close_prequeue))
        .routes(routes!(admin::open::open))
        .routes(routes!(admin::pause::pause))
        .routes(routes!(admin::resume::resume))
        .routes(routes!(admin::close::close))
        .routes(routes!(admin::confirm::confirm))
        .routes(routes!(admin::cancel::cancel))
        .routes(routes!(admin::remove_visitor::remove_visitor))
        .routes(routes!(admin::unban_visitor::unban_visitor))
        .routes(routes!(admin::bans::bans))
        .routes(routes!(admin::seats::seats))
        .routes(routes!(admin::seat::seat))
        .routes(routes!(admin::pool::pool))
        .routes(routes!(admin::feed::feed))
        .routes(routes!(admin::live::live))
        .routes(routes!(admin::dead_messages::dead_messages))
        .routes(routes!(admin::replay_messages::replay_messages))
        .routes(routes!(admin::inventory_status::inventory_status))
        .routes(routes!(admin::sync_inventory::sync_inventory))
        .routes(routes!(admin::flags::flags))
        .routes(routes!(admin::flags::set_flag))
        .routes(routes!(admin::bookings::bookings))
        .routes(routes!(admin::bookings_csv::bookings_csv))
        .routes(routes!(admin::sagas::sagas))
        .routes(routes!(admin::saga::saga))
        .routes(routes!(admin::saga_retry::saga_retry))
        .routes(routes!(admin::saga_refund::saga_refund))
        .routes(routes!(admin::saga_release::saga_release))
        .routes(routes!(admin::payments::payments))
        .routes(routes!(admin::refunds::refunds))
        .routes(routes!(admin::gateway::gateway))
        .routes(routes!(admin::desk::desk))
        .routes(routes!(admin::desk::settle))
        .routes(routes!(admin::erase::erase))
        .routes(routes!(admin::texts::texts));
    openapi::let_sessions_in(all.get_openapi_mut());
    if s3_paths { all.merge(described_s3()) } else { all }
}

/// The paths of S3.
fn described_s3() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(s3::request::request))
        .routes(routes!(s3::position::position))
        .routes(routes!(s3::select_seat::select_seat))
        .routes(routes!(s3::initiate::initiate))
        .routes(routes!(s3::success::success))
        .routes(routes!(s3::failure::failure))
        .routes(routes!(s3::cancel::cancel))
        .routes(routes!(s3::seats::seats))
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

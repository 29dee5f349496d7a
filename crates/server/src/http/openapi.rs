//! The OpenAPI document, its browser, and the problems that operations share.

use crate::http::shapes::ids::ProblemBody;
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi};
use utoipa_swagger_ui::{Config, SwaggerUi};

/// What stands at the head of the document.
#[derive(OpenApi)]
#[openapi(
    info(title = "Onrush", description = "An on-sale engine: queue fairly, hold atomically, never sell a thing twice."),
    tags(
        (name = "visitors", description = "Tokens, tickets and keys"),
        (name = "events", description = "What is on sale and what is left of it"),
        (name = "queue", description = "The waiting room"),
        (name = "live", description = "Live updates"),
        (name = "bookings", description = "Holds and what becomes of them"),
        (name = "tickets", description = "Proof of a confirmed booking, unit by unit"),
        (name = "gateways", description = "For payment gateways"),
        (name = "claims", description = "Units taken at once, such as vouchers"),
        (name = "admin", description = "For the organiser"),
        (name = "s3", description = "The same sale with the paths, fields and words of S3, where they are switched on"),
    ),
    components(schemas(ProblemBody)),
    modifiers(&Schemes),
)]
pub struct Document;

struct Schemes;

impl Modify for Schemes {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        for (name, what) in [
            ("visitor", "A guest token from POST /api/v1/visitors, or the shop's token"),
            ("scanner", "The scanner key"),
            ("admin", "The admin API key"),
        ] {
            let scheme =
                HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(what)).build();
            components.add_security_scheme(name, SecurityScheme::Http(scheme));
        }
    }
}

/// Sets of problems, by status.
macro_rules! problems {
    ($($(#[$doc:meta])* $name:ident: $($status:literal)*;)*) => {
        $(
            $(#[$doc])*
            pub enum $name {}

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    BTreeMap::from([$((stringify!($status).to_owned(), described($status).into())),*])
                }
            }
        )*
    };
}

problems! {
    /// Of reading what anyone may see.
    OpenProblems: 400 503;
    /// Of reading what anyone may see of one event.
    EventProblems: 400 404 503;
    /// Of reading with a token.
    ReadProblems: 400 401 404 503;
    /// Of reading with a token what only some states have.
    ConflictProblems: 400 401 404 409 503;
    /// Of changing something.
    WriteProblems: 400 401 404 409 413 415 422 503;
    /// Of asking for a guest token.
    GuestProblems: 400 403 413 415 422 429 503;
    /// Of paying.
    PayProblems: 400 401 404 409 413 415 422 502 503;
    /// Of a gateway's message.
    WebhookProblems: 400 404 409 413 503;
    /// Of opening a stream.
    StreamProblems: 400 401 403 404 503;
}

fn described(status: u16) -> Response {
    let description = match status {
        400 => {
            "The request cannot be understood: `MALFORMED_JSON`, `INVALID_ID`, `INVALID_QUERY`, `IDEMPOTENCY_KEY_…`"
        }
        401 => "`TOKEN_MISSING`, `TOKEN_INVALID`, `TOKEN_EXPIRED`",
        402 => "`PAYMENT_REQUIRED`",
        403 => "`ORIGIN_REFUSED`, `GUESTS_DISABLED`",
        404 => "There is no such thing, or it is not yours",
        409 => {
            "The state does not allow it, or settings or a plan's parts do not go together; the code says why"
        }
        413 => "`BODY_TOO_LARGE`",
        415 => "`UNSUPPORTED_MEDIA_TYPE`",
        422 => {
            "The request is understood and wrong: `INVALID_BODY`, `INVALID_QUANTITY`, `INVALID_LINES`, `INVALID_SETTINGS`, …"
        }
        502 => "`GATEWAY_REFUSED`: the payment gateway will not have it",
        429 => "`RATE_LIMITED`: come back after Retry-After",
        _ => "`BUSY`, `STOPPED`, `DISK_LOW` and their like: come back after Retry-After",
    };
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content)
        .build()
}

/// `/api/openapi.json`.
pub(super) async fn document(text: Arc<str>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text.to_string())
}

/// `/docs/errors`: what the `type` of every problem points to.
pub(super) async fn errors() -> impl IntoResponse {
    let text = include_str!("../../../../docs/errors.md");
    ([(CONTENT_TYPE, "text/markdown; charset=utf-8")], text)
}

/// `/docs`: the document for people. All of it is in the binary.
pub(super) fn browser<S: Clone + Send + Sync + 'static>() -> Router<S> {
    SwaggerUi::new("/docs").config(Config::from("/api/openapi.json")).into()
}

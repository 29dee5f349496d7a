//! The OpenAPI document, its browser, and the problems that operations share.

use crate::http::scopes;
use crate::http::sessions::cookie::COOKIE_NAME;
use crate::http::shapes::problem::ProblemBody;
use axum::Router;
use axum::body::Bytes;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::collections::BTreeMap;
use utoipa::openapi::security::{
    ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme,
};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify, OpenApi};
use utoipa_swagger_ui::{Config, SwaggerUi};

/// What stands at the head of the document.
#[derive(OpenApi)]
#[openapi(
    info(title = "Onrush",
        description = "An on-sale engine: queue fairly, hold atomically, never sell a thing twice."),
    tags(
        (name = "visitors", description = "Tokens, tickets and keys"),
        (name = "events", description = "What is on sale and what is left of it"),
        (name = "queue", description = "The waiting room"),
        (name = "live", description = "Live updates"),
        (name = "bookings", description = "Holds and what becomes of them"),
        (name = "tickets", description = "Proof of a confirmed booking, unit by unit"),
        (name = "gateways", description = "For payment gateways"),
        (name = "claims", description = "Units taken at once, such as vouchers"),
        (name = "sessions",
            description = "Signing in with a browser, for the organiser and those who let people in"),
        (name = "admin", description = "For the organiser"),
        (name = "inherited",
            description = "The same sale with inherited paths, fields and words, where they are switched on"),
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
            ("link", "The link of a booking, from GET /api/v1/bookings/{booking}/link or a mail"),
            ("key", "A key of the organiser's that has the scope beside it, or `admin`"),
        ] {
            let scheme =
                HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(what)).build();
            components.add_security_scheme(name, SecurityScheme::Http(scheme));
        }
        let what = "A browser's cookie from POST /api/v1/session; it does what the key does. \
                    Over https it is `__Host-onrush_session`";
        let cookie = ApiKey::Cookie(ApiKeyValue::with_description(COOKIE_NAME, what));
        components.add_security_scheme("session", SecurityScheme::ApiKey(cookie));
        let what = "Beside the cookie: the csrf of GET /api/v1/session";
        let header = ApiKey::Header(ApiKeyValue::with_description("X-CSRF-Token", what));
        components.add_security_scheme("csrf", SecurityScheme::ApiKey(header));
    }
}

/// Writes down which operations need a key, of which scope, that the cookie does wherever a key does,
/// and what may come of it.
pub(super) fn say_who_may(document: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut document.paths.paths {
        for (method, operation) in [
            (Method::GET, &mut item.get),
            (Method::PUT, &mut item.put),
            (Method::POST, &mut item.post),
            (Method::DELETE, &mut item.delete),
            (Method::PATCH, &mut item.patch),
        ] {
            let Some(operation) = operation else { continue };
            let Some(scope) = scopes::needed(&method, path) else { continue };
            let with = |name: &str| SecurityRequirement::new(name, [scope.to_string()]);
            let session = if method == Method::GET {
                with("session")
            } else {
                with("session").add("csrf", Vec::<String>::new())
            };
            operation.security = Some(vec![with("key"), session]);
            let responses = &mut operation.responses.responses;
            responses.entry("403".to_owned()).or_insert_with(|| described(403).into());
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
    EventProblems: 400 404 410 503;
    /// Of reading what is said of one event, within what an address may read.
    TextsProblems: 400 404 410 429 503;
    /// Of reading with a token.
    ReadProblems: 400 401 404 410 429 503;
    /// Of reading with a token what only some states have.
    ConflictProblems: 400 401 404 409 410 429 503;
    /// Of changing something.
    WriteProblems: 400 401 404 408 409 410 413 415 422 429 503;
    /// Of joining and holding, which a banned visitor may not, and no guest where guests are off.
    EntryProblems: 400 401 403 404 408 409 410 413 415 422 429 503;
    /// Of claiming, which a banned visitor may not, and what has a price cannot be.
    ClaimProblems: 400 401 402 403 404 408 409 410 413 415 422 429 503;
    /// Of asking for a guest token.
    GuestProblems: 400 403 408 413 415 422 429 503;
    /// Of renewing a guest token, or carrying its visitor to another device.
    RenewProblems: 400 401 403 408 413 415 422 429 503;
    /// Of taking over another device's visitor.
    CarriedProblems: 400 404 408 413 415 422 429 503;
    /// Of paying.
    PayProblems: 400 401 404 408 409 410 413 415 422 429 502 503;
    /// Of a gateway's message.
    WebhookProblems: 400 404 408 409 413 503;
    /// Of signing in.
    SignInProblems: 400 401 403 408 413 415 422 429 503;
    /// Of being sent to the OpenID provider.
    OidcStartProblems: 400 409 503;
    /// Of coming back from the OpenID provider.
    OidcProblems: 400 403 409 429 502 503;
    /// Of asking who is signed in.
    SessionProblems: 401 503;
    /// Of signing out.
    SignOutProblems: 403 503;
    /// Of opening a stream.
    StreamProblems: 400 401 403 404 410 429 503;
}

fn described(status: u16) -> Response {
    let description = match status {
        400 => {
            "The request cannot be understood: `MALFORMED_JSON`, `INVALID_ID`, `INVALID_QUERY`, \
             `INVALID_HOST`, `IDEMPOTENCY_KEY_…`, `OIDC_NOT_BEGUN`"
        }
        401 => "`TOKEN_MISSING`, `TOKEN_INVALID`, `TOKEN_EXPIRED`, `LINK_WITHDRAWN`",
        402 => "`PAYMENT_REQUIRED`",
        403 => {
            "`SCOPE_MISSING`, `ORIGIN_REFUSED`, `CSRF_REFUSED`, `GUESTS_DISABLED`, `NOT_A_GUEST`, \
             `OIDC_REFUSED`, `OIDC_INSUFFICIENT`, `OIDC_NO_SCOPES`, `VISITOR_BANNED`"
        }
        404 => "There is no such thing, or it is not yours",
        409 => {
            "The state does not allow it, or settings or a plan's parts do not go together; the code says why"
        }
        410 => "`EVENT_ARCHIVED`: the event is over, and nothing is kept of it here",
        408 => "`BODY_TOO_SLOW`",
        413 => "`BODY_TOO_LARGE`",
        415 => "`UNSUPPORTED_MEDIA_TYPE`",
        422 => {
            "The request is understood and wrong: `INVALID_BODY`, `INVALID_QUANTITY`, \
             `INVALID_LINES`, `INVALID_SETTINGS`, …"
        }
        502 => {
            "`GATEWAY_REFUSED`: the payment gateway will not have it; `OIDC_NOT_GENUINE`: the OpenID \
             provider cannot be believed"
        }
        429 => "`RATE_LIMITED`, `TOO_MANY_STREAMS`: come back after Retry-After",
        _ => "`BUSY`, `STOPPED`, `DISK_LOW` and their like: come back after Retry-After",
    };
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new()
        .description(description)
        .content("application/problem+json", content)
        .build()
}

/// `/api/openapi.json`.
pub(super) fn document(text: Bytes) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], text)
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

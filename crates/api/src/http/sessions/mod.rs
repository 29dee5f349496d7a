//! Browser sessions: signing in with a key or an OpenID provider, who is, and signing out.

pub mod cookie;
pub mod live;
pub mod oidc;
pub mod sign_in;
pub mod sign_out;
pub mod streams;
mod watch;

use crate::http::state::HttpState;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The paths of browser sessions.
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(sign_in::create, sign_in::show, sign_out::end))
        .routes(routes!(oidc::ways))
        .routes(routes!(oidc::start))
        .routes(routes!(oidc::callback))
        .routes(routes!(live::sessions, live::end_sessions))
        .routes(routes!(live::end_one_session))
        .routes(routes!(live::keys))
}

//! Lets in who has a key with the scope that a path needs, before anything else of the request is
//! looked at; and has it written down what was done with the key.

use super::actions::note::Asked;
use super::caller::Operator;
use super::problem::{Code, Problem};
use super::request_span;
use super::scopes;
use super::state::HttpState;
use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use onrush_base::config::keys::Scope;
use onrush_base::spans;
use serde_json::{Map, Value};

/// What stands before every path; those that need no key go by.
pub(super) async fn keep(State(state): State<HttpState>, request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    if let Some(path) = &path {
        request_span::took_route(&spans::current(), request.method(), path.as_str());
    }
    let needed = path.as_ref().and_then(|path| scopes::needed(request.method(), path.as_str()));
    let (Some(scope), Some(path)) = (needed, path) else { return next.run(request).await };
    let (mut parts, body) = request.into_parts();
    let callers = state.callers.clone();
    let address = match callers.address_in(&parts) {
        Ok(address) => address,
        Err(problem) => return problem.into_response(),
    };
    let asked = Asked::new(&callers, &parts, path.as_str(), address);
    let operator = match callers.operator_in(&parts).await {
        Ok(operator) => operator,
        Err(problem) => {
            let is_wrong_key = problem.code() == Code::TokenInvalid.facts().0;
            let mut response = problem.into_response();
            if is_wrong_key && callers.limits.wrong_keys.is_worth_a_row(None) {
                asked.note(&callers, None, &mut response).await;
            }
            return response;
        }
    };
    let name = operator.key.name.clone();
    if !operator.key.may(scope) {
        let mut response = lacks(&operator, scope).into_response();
        if callers.limits.wrong_keys.is_worth_a_row(Some(&name)) {
            asked.note(&callers, Some(&name), &mut response).await;
        }
        return response;
    }
    let is_noted = is_noted(&parts, scope);
    parts.extensions.insert(operator);
    let request = Request::from_parts(parts, body);
    if !is_noted {
        return next.run(request).await;
    }
    // Who hangs up leaves nothing undone or unwritten.
    let done = tokio::spawn(spans::carried(async move {
        let mut response = next.run(request).await;
        asked.note(&callers, Some(&name), &mut response).await;
        response
    }));
    done.await.unwrap_or_else(|_| {
        Problem::new(Code::Internal, "the request broke down; the log has more").into_response()
    })
}

/// Whether a request is written down: what changes something, and what takes people's data away. What
/// is opened to those who only read changes nothing, whatever its method: a search may have a body.
fn is_noted(parts: &Parts, scope: Scope) -> bool {
    let is_read = matches!(parts.method, Method::GET | Method::HEAD) || scope == Scope::Read;
    !is_read || scope == Scope::Money
}

fn lacks(operator: &Operator, scope: Scope) -> Problem {
    let why = format!("the key {} lacks the scope {scope}, which this needs", operator.key.name);
    let facts = Map::from_iter([("scope".to_owned(), Value::from(scope.to_string()))]);
    Problem::new(Code::ScopeMissing, why).with(facts)
}

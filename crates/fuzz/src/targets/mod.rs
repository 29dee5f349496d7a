//! The targets, one a file.

pub mod bodies;
pub mod config;
pub mod id_tokens;
pub mod journal;
pub mod plans;
pub mod redis_answers;
pub mod redis_records;
pub mod shop_tokens;
pub mod signed;
pub mod snapshots;
pub mod tokens;
pub mod webhooks;

use crate::verdict::{Verdict, assert_sentence};
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use futures_util::FutureExt as _;
use onrush_api::http::problem::Problem;
use onrush_base::auth::keys::KeyDir;

/// One thing that bytes are handed to.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `corpus/`.
    pub name: &'static str,
    /// Panics if something comes of the bytes that must not be.
    pub run: fn(&[u8]) -> Verdict,
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target { name: "plans", run: plans::target },
    Target { name: "bodies", run: bodies::target },
    Target { name: "tokens", run: tokens::target },
    Target { name: "shop_tokens", run: shop_tokens::target },
    Target { name: "id_tokens", run: id_tokens::target },
    Target { name: "signed", run: signed::target },
    Target { name: "webhooks", run: webhooks::target },
    Target { name: "journal", run: journal::target },
    Target { name: "snapshots", run: snapshots::target },
    Target { name: "redis_records", run: redis_records::target },
    Target { name: "redis_answers", run: redis_answers::target },
    Target { name: "config", run: config::target },
];

/// The target of this name.
#[must_use]
pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// The second in which everything here happens.
const NOW_S: i64 = 1_790_000_000;
/// The key under which everything here is signed.
const KEY: [u8; 32] = [7; 32];

/// What a handler is handed for a request with this body.
///
/// # Errors
/// Why the request is refused.
///
/// # Panics
/// If the body is waited for, which is there as a whole.
fn extracted<T: FromRequest<(), Rejection = Problem>>(body: &[u8]) -> Result<T, Problem> {
    let request = Request::builder().header(CONTENT_TYPE, "application/json");
    let request = request.body(Body::from(body.to_vec())).expect("its header is in order");
    T::from_request(request, &()).now_or_never().expect("a body that is there is not waited for")
}

/// Holds that a refused body has a code and a sentence, and names the member that is wrong.
///
/// # Panics
/// If it does not.
fn assert_problem(problem: &Problem, body: &[u8]) {
    let document = problem.to_json();
    let text = |member: &str| document[member].as_str().unwrap_or_default().to_owned();
    assert_sentence(&text("detail"));
    assert_sentence(&text("title"));
    assert!(text("code").bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'));
    let is_object = matches!(serde_json::from_slice(body), Ok(serde_json::Value::Object(_)));
    if is_object && ["INVALID_BODY", "INVALID_ID"].contains(&problem.code()) {
        // A member's name may be empty.
        assert!(document["field"].is_string(), "no member is named: {document}");
    }
}

/// A directory of keys with these files, each with [`KEY`] in it, for as long as `open` takes.
///
/// # Panics
/// If no file can be written.
fn with_keys<T>(names: &[&str], open: impl FnOnce(&KeyDir) -> T) -> T {
    let dir = tempfile::tempdir().expect("there is room for a directory");
    let keys = KeyDir::open(dir.path()).expect("the directory can be used");
    for name in names {
        keys.store_new(name, &KEY).expect("a key can be written");
    }
    open(&keys)
}

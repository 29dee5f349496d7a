//! `GET /healthz`: whether the process runs.

/// 200 as long as anything answers.
pub async fn healthz() -> &'static str {
    "ok\n"
}

//! A problem document as the OpenAPI document describes it.

use utoipa::ToSchema;

/// A problem document (RFC 9457); the members after `retryable` depend on the code.
#[derive(ToSchema)]
#[schema(as = Problem)]
#[expect(dead_code, reason = "it describes what problem.rs writes")]
pub struct ProblemBody {
    /// Where the code is explained.
    #[schema(example = "/docs/errors#SEAT_UNAVAILABLE")]
    r#type: String,
    /// The code in words.
    title: String,
    /// The HTTP status again.
    status: u16,
    /// What is wrong and what to do, as a sentence.
    detail: String,
    /// The stable code.
    #[schema(pattern = "^[A-Z_]+$")]
    code: String,
    /// Whether the same request may succeed later without anything being mended.
    retryable: bool,
    /// The member of the request that is wrong, where it is one: its name, or a path such as
    /// `refunds[0].percent`.
    #[schema(example = "max_per_user", nullable = false)]
    field: Option<String>,
}

//! Why there is no certificate, as a sentence.

use instant_acme::{Error, Problem};
use onrush_base::http_client::CallError;

/// Where it failed, by which the next try is sooner or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The authority was not asked.
    Unreached,
    /// It answered, and counts what it refuses.
    Refused,
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) fault: Fault,
    pub(crate) why: String,
}

impl Trouble {
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self { fault: Fault::Refused, why: why.into() }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        match &error {
            Error::Api(problem) => {
                Self::refused(format!("the authority refuses: {}", told(problem)))
            }
            Error::Json(why) => Self::refused(format!(
                "what answers there is no ACME directory, or ails ({why}); look at \
                 tls.acme.directory"
            )),
            Error::Timeout(_) => Self::refused("the authority did not decide in time"),
            Error::Other(inner) => match called(inner.as_ref()) {
                Some(call) => Self {
                    fault: Fault::Unreached,
                    why: format!("the authority cannot be asked: {call}"),
                },
                None => Self::refused(error.to_string()),
            },
            _ => Self::refused(error.to_string()),
        }
    }
}

/// What our own client said.
fn called<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a CallError> {
    error.downcast_ref::<CallError>().or_else(|| error.source()?.downcast_ref::<CallError>())
}

/// What a problem document says (RFC 7807), with those that it is made of.
pub(crate) fn told(problem: &Problem) -> String {
    let kind = |kind: Option<&String>| {
        kind.and_then(|kind| kind.rsplit(':').next()).unwrap_or("no kind").to_owned()
    };
    let detail = problem.detail.as_deref().unwrap_or("it does not say why");
    let mut text = format!("{detail} ({})", kind(problem.r#type.as_ref()));
    for part in &problem.subproblems {
        let detail = part.detail.as_deref().unwrap_or_default();
        text.push_str(&format!("; {detail} ({})", kind(part.r#type.as_ref())));
    }
    text
}

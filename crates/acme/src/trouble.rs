//! Why there is no certificate, as a sentence.

use instant_acme::{Error, Problem};
use onrush_base::http_client::CallError;
use std::fmt;

/// Where it failed, by which the next try is sooner or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The authority was not asked.
    Unreached,
    /// It refused, or what it did is not known: it may count that.
    Refused,
}

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) fault: Fault,
    pub(crate) why: String,
}

/// A request that has no answer.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) call: CallError,
    /// Whether it was posted. All that is asked for is (RFC 8555, section 6.3); the directory and a nonce
    /// are only looked at, and nobody counts that.
    pub(crate) is_posted: bool,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.call, f)
    }
}

impl std::error::Error for Unanswered {}

impl Trouble {
    pub(crate) fn refused(why: impl Into<String>) -> Self {
        Self { fault: Fault::Refused, why: why.into() }
    }

    /// The same of something that the authority may count, wherever it failed.
    pub(crate) fn counted(self) -> Self {
        Self { fault: Fault::Refused, ..self }
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
            Error::Other(inner) => match inner.downcast_ref::<Unanswered>() {
                Some(unanswered) => Self::from(unanswered),
                None => Self::refused(error.to_string()),
            },
            _ => Self::refused(error.to_string()),
        }
    }
}

impl From<&Unanswered> for Trouble {
    fn from(Unanswered { call, is_posted }: &Unanswered) -> Self {
        let may_be_known = match call {
            CallError::Forbidden | CallError::Unreachable(_) => false,
            CallError::TimedOut | CallError::Broken(_) | CallError::TooLong => *is_posted,
        };
        if may_be_known {
            let why = "the authority was asked for something, and its answer is lost";
            Self::refused(format!("{why}: {call}"))
        } else {
            let why = format!("the authority cannot be asked: {call}");
            Self { fault: Fault::Unreached, why }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_lost_may_have_been_a_refusal_of_what_was_posted() {
        let (unreached, lost) = ("cannot be asked: ", "its answer is lost: ");
        for (call, is_posted, fault, said) in [
            (CallError::Forbidden, true, Fault::Unreached, unreached),
            (CallError::Unreachable("refused".into()), true, Fault::Unreached, unreached),
            (CallError::TimedOut, true, Fault::Refused, lost),
            (CallError::Broken("closed".into()), true, Fault::Refused, lost),
            (CallError::TooLong, true, Fault::Refused, lost),
            (CallError::Unreachable("refused".into()), false, Fault::Unreached, unreached),
            (CallError::TimedOut, false, Fault::Unreached, unreached),
            (CallError::Broken("closed".into()), false, Fault::Unreached, unreached),
            (CallError::TooLong, false, Fault::Unreached, unreached),
        ] {
            let unanswered = Unanswered { call: call.clone(), is_posted };
            let trouble = Trouble::from(Error::Other(Box::new(unanswered)));
            assert_eq!(trouble.fault, fault, "{call}, posted: {is_posted}");
            assert!(trouble.why.ends_with(&format!("{said}{call}")), "{}", trouble.why);
            assert_eq!(trouble.counted().fault, Fault::Refused, "{call}");
        }
    }
}

//! Why a connection is of no use any more.

use lapin::ErrorKind;
use onrush_tls::why_refused;
use std::io;

/// The settings that certificates are in.
pub(super) const CERTIFICATES: &str = "rabbitmq.certificates";

/// Why a connection is of no use any more.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RabbitError {
    /// What the client library says.
    #[error("{}", with_advice(.0))]
    Amqp(lapin::Error),
    /// No answer in time.
    #[error("no answer in time")]
    Silence,
    /// A message has no queue to go to: somebody removed one.
    #[error("a queue is gone")]
    Unroutable,
    /// RabbitMQ would not take a message.
    #[error("a message was not taken")]
    Rejected,
    /// What was subscribed to is gone.
    #[error("a subscription was ended")]
    Cancelled,
    /// It was cut off as soon as TLS was agreed, and no certificate of ours was shown. With TLS 1.3 a
    /// server asks for one only then, and what it says of it can be lost with the connection.
    #[error(
        "it ended the connection as soon as TLS was agreed; if it wants to see a client \
         certificate, set {CERTIFICATES}.cert and {CERTIFICATES}.key. ({0})"
    )]
    CutOff(lapin::Error),
    /// The settings cannot be used.
    #[error("{0}")]
    Settings(String),
}

impl RabbitError {
    /// What became of a connection that was being made over TLS.
    pub(super) fn of_tls(error: lapin::Error, shows_ours: bool) -> Self {
        let is_cut_off = matches!(error.kind(), ErrorKind::IOError(io) if matches!(
            io.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
        ));
        let is_known = shows_ours || advice(&error).is_some();
        if is_cut_off && !is_known { Self::CutOff(error) } else { Self::Amqp(error) }
    }
}

/// An error, after what to do about it if that is known.
fn with_advice(error: &lapin::Error) -> String {
    match advice(error) {
        Some(advice) => format!("{advice}. ({error})"),
        None => error.to_string(),
    }
}

/// What to do about a connection that TLS or the login is in the way of.
fn advice(error: &lapin::Error) -> Option<String> {
    why_refused(error, CERTIFICATES).or_else(|| {
        error.to_string().contains("ACCESS_REFUSED").then(|| {
            "it does not let this user in; look at user, password and vhost in rabbitmq.url".into()
        })
    })
}

impl From<lapin::Error> for RabbitError {
    fn from(error: lapin::Error) -> Self {
        Self::Amqp(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn told(kind: io::ErrorKind, shows_ours: bool) -> String {
        let error = lapin::Error::from(ErrorKind::IOError(Arc::new(kind.into())));
        RabbitError::of_tls(error, shows_ours).to_string()
    }

    #[test]
    fn a_connection_that_is_cut_off_without_our_certificate_names_the_setting() {
        let cut_off = told(io::ErrorKind::ConnectionReset, false);
        assert!(cut_off.contains("rabbitmq.certificates.cert"), "{cut_off}");
        for (kind, shows_ours) in
            [(io::ErrorKind::ConnectionReset, true), (io::ErrorKind::ConnectionRefused, false)]
        {
            let other = told(kind, shows_ours);
            assert!(!other.contains("rabbitmq.certificates"), "{other}");
        }
    }
}

//! Why a connection is of no use any more.

use onrush_tls::why_refused;
use std::fmt;

/// Why a connection is of no use any more.
#[derive(Clone, Debug)]
pub enum RabbitError {
    /// What the client library says.
    Amqp(lapin::Error),
    /// No answer in time.
    Silence,
    /// A message has no queue to go to: somebody removed one.
    Unroutable,
    /// RabbitMQ would not take a message.
    Rejected,
    /// What was subscribed to is gone.
    Cancelled,
    /// The settings cannot be used.
    Settings(String),
}

impl fmt::Display for RabbitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Amqp(error) => match advice(error) {
                Some(advice) => write!(f, "{advice}. ({error})"),
                None => error.fmt(f),
            },
            Self::Silence => f.write_str("no answer in time"),
            Self::Unroutable => f.write_str("a queue is gone"),
            Self::Rejected => f.write_str("a message was not taken"),
            Self::Cancelled => f.write_str("a subscription was ended"),
            Self::Settings(why) => f.write_str(why),
        }
    }
}

/// What to do about a connection that TLS or the login is in the way of.
fn advice(error: &lapin::Error) -> Option<String> {
    why_refused(error, "rabbitmq.certificates").or_else(|| {
        error.to_string().contains("ACCESS_REFUSED").then(|| {
            "it does not let this user in; look at user, password and vhost in rabbitmq.url".into()
        })
    })
}

impl std::error::Error for RabbitError {}

impl From<lapin::Error> for RabbitError {
    fn from(error: lapin::Error) -> Self {
        Self::Amqp(error)
    }
}

//! Connections to RabbitMQ, and sending over them so that nothing is lost unnoticed.

use super::bodies::{Content, Message};
use super::error::{CERTIFICATES, RabbitError};
use super::topology::{SLOT_RELEASED_KEY, TIMEOUT_KEY, Topology};
use async_rs::{Runtime, TokioRuntime};
use futures_util::StreamExt;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::tcp::{AsyncTcpStream, RustlsConnector};
use lapin::types::{AMQPValue, FieldTable};
use lapin::uri::{AMQPAuthority, AMQPScheme, AMQPUri};
use lapin::{
    BasicProperties, Channel, Confirmation, Connection, ConnectionProperties, Event,
    PublisherConfirm,
};
use onrush_base::auth::random;
use onrush_base::config::ladder::Ladder;
use onrush_base::config::rabbit::{RabbitSettings, Tuning};
use onrush_core::Time;
use onrush_tls::{Verification, client_config};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The header with the deadline in milliseconds: the body has whole seconds only.
pub const DUE_HEADER: &str = "due_ms";
/// Seconds of silence that count as a broken connection, unless the address says otherwise.
const HEARTBEAT_S: u16 = 10;
/// Kept on disk.
const PERSISTENT: u8 = 2;

/// Waits for an answer, within bounds.
pub(super) async fn within<T, E: Into<RabbitError>>(
    patience: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, RabbitError> {
    match tokio::time::timeout(patience, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(RabbitError::Silence),
    }
}

/// Connects, and makes what is not there yet. `name` is what RabbitMQ's lists call the connection.
///
/// # Errors
/// RabbitMQ cannot be reached, does not let us in, or has something else under our names.
pub async fn connect(
    settings: &RabbitSettings,
    topology: &Topology,
    name: &str,
) -> Result<Connection, RabbitError> {
    let mut address = settings.address().map_err(RabbitError::Settings)?;
    address.query.heartbeat.get_or_insert(HEARTBEAT_S);
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    let tls = match address.scheme {
        AMQPScheme::AMQP => None,
        AMQPScheme::AMQPS => {
            let certificates = settings.certificates.load(CERTIFICATES);
            let certificates = certificates.map_err(RabbitError::Settings)?;
            let config = client_config(&certificates, Verification::Full)
                .map_err(|why| RabbitError::Settings(format!("{CERTIFICATES}: {why}")))?;
            Some(RustlsConnector::from(Arc::new(config)))
        }
    };
    within(settings.tuning.patience, async {
        let connection = match tls {
            None => Connection::connect_uri(address, properties).await?,
            Some(tls) => over_tls(address, properties, tls).await.map_err(|error| {
                RabbitError::of_tls(error, settings.certificates.cert.is_some())
            })?,
        };
        let channel = connection.create_channel().await?;
        topology.declare(&channel).await?;
        // Closing is a courtesy: the connection takes its channels along.
        drop(channel.close(200, "done".into()).await);
        Ok::<_, RabbitError>(connection)
    })
    .await
}

/// Connects with our own authorities and certificate, where the library would take its own.
async fn over_tls(
    address: AMQPUri,
    properties: ConnectionProperties,
    tls: RustlsConnector,
) -> Result<Connection, lapin::Error> {
    let connect = async move |address: AMQPUri, runtime: TokioRuntime| {
        let AMQPAuthority { host, port, .. } = address.authority;
        let place = runtime.to_socket_addrs((host.clone(), port));
        let stream = AsyncTcpStream::connect(&runtime, place).await?;
        Ok(stream.into_rustls(&tls, &host).await?)
    };
    let runtime = Runtime::tokio_current();
    Connection::connector(address, runtime, connect, properties).await
}

/// Comes back when the connection broke.
pub async fn broken(connection: &Connection) -> RabbitError {
    let mut events = Box::pin(connection.events_listener());
    // Whatever happened before there was anybody to listen is in the status.
    while connection.status().connected() {
        match events.next().await {
            Some(Event::Error(error)) => return error.into(),
            Some(_) => {}
            None => break,
        }
    }
    RabbitError::Cancelled
}

/// Says goodbye.
pub(super) async fn close(connection: &Connection, tuning: &Tuning) {
    // One that is broken cannot be closed any more.
    let _ = within(tuning.patience.min(Duration::from_secs(2)), async {
        connection.close(200, "goodbye".into()).await
    })
    .await;
}

/// A channel on which every message is confirmed.
#[derive(Clone)]
pub struct Outlet {
    channel: Channel,
    topology: Arc<Topology>,
    ladder: Ladder,
    patience: Duration,
}

impl Outlet {
    /// A new one.
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn open(
        connection: &Connection,
        topology: Arc<Topology>,
        tuning: &Tuning,
    ) -> Result<Self, RabbitError> {
        let channel = within(tuning.patience, async {
            let channel = connection.create_channel().await?;
            channel.confirm_select(ConfirmSelectOptions::default()).await?;
            Ok::<_, lapin::Error>(channel)
        })
        .await?;
        Ok(Self { channel, topology, ladder: tuning.ladder.clone(), patience: tuning.patience })
    }

    /// Sends a message on its way; a deadline that is not due at `now` waits first. Nothing is certain before
    /// [`Self::confirmed`].
    ///
    /// # Errors
    /// The connection is broken.
    pub async fn send(
        &self,
        message: &Message,
        now: Time,
    ) -> Result<PublisherConfirm, RabbitError> {
        let mut properties = BasicProperties::default()
            .with_delivery_mode(PERSISTENT)
            .with_content_type("application/json".into());
        if let Some(id) = &message.id {
            properties = properties.with_message_id(id.as_str().into());
        }
        let (exchange, key) = match &message.content {
            Content::SlotReleased(_) => {
                (self.topology.slot_released_exchange(), SLOT_RELEASED_KEY.to_owned())
            }
            Content::Timeout { body: _, due } => {
                let mut headers = FieldTable::default();
                headers.insert(DUE_HEADER.into(), AMQPValue::LongLongInt(due.0));
                properties = properties.with_headers(headers);
                let wait = self.ladder.wait(due.since_ms(now));
                if let Some(own_ms) = wait.and_then(|wait| wait.own_ms) {
                    properties = properties.with_expiration(own_ms.to_string().into());
                }
                let key = match wait {
                    Some(wait) => Topology::rung_key(wait.rung_ms),
                    None => TIMEOUT_KEY.to_owned(),
                };
                (self.topology.timeout_exchange(), key)
            }
        };
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        let body = message.content.body();
        let sent =
            self.channel.basic_publish(exchange.into(), key.into(), options, &body, properties);
        within(self.patience, sent).await
    }

    /// Waits until RabbitMQ has a message for good.
    ///
    /// # Errors
    /// It has not, or nobody knows.
    pub async fn confirmed(&self, sent: PublisherConfirm) -> Result<(), RabbitError> {
        match within(self.patience, sent).await? {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => {
                Err(RabbitError::Unroutable)
            }
            Confirmation::Nack(None) => Err(RabbitError::Rejected),
            Confirmation::NotRequested => {
                unreachable!("confirms were asked for when the channel was opened")
            }
        }
    }
}

/// Pauses between attempts: each failure in a row doubles them, up to a bound.
#[derive(Debug, Default)]
pub(super) struct Pauses {
    failures: AtomicU32,
    /// The last one.
    last_ms: AtomicU64,
}

impl Pauses {
    /// Something went through. That a connection stands is not enough: over each of them what RabbitMQ
    /// refuses would be sent again.
    pub(super) fn reset(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// A connection stood for so long. If it outlived the last pause it was well, even if nothing had to
    /// be sent over it.
    pub(super) fn stood(&self, long: Duration) {
        if long > Duration::from_millis(self.last_ms.load(Ordering::Relaxed)) {
            self.reset();
        }
    }

    /// How long to wait after one more failure.
    pub(super) fn next(&self, tuning: &Tuning) -> Duration {
        let bytes: [u8; 8] = random();
        let failures = self.failures.fetch_add(1, Ordering::Relaxed);
        let pause = pause(tuning, failures, u64::from_le_bytes(bytes));
        self.last_ms.store(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        pause
    }
}

/// Up to a quarter more or less, so that all nodes do not come back together.
fn pause(tuning: &Tuning, failures: u32, dice: u64) -> Duration {
    let doubled = tuning.first_pause.saturating_mul(1 << failures.min(20));
    let pause_ms = doubled.min(tuning.longest_pause).as_millis();
    let pause_ms = u64::try_from(pause_ms).unwrap_or(u64::MAX);
    let span_ms = pause_ms / 2;
    Duration::from_millis(pause_ms - span_ms / 2 + dice % span_ms.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_ten_seconds_and_differ_by_a_quarter_at_most() {
        let tuning = Tuning::default();
        for (failures, least_ms, most_ms) in [
            (0, 187, 313),
            (1, 375, 625),
            (4, 3_000, 5_000),
            (6, 7_500, 12_500),
            (99, 7_500, 12_500),
        ] {
            for dice in [0, 1, 1_249, u64::MAX] {
                let pause = pause(&tuning, failures, dice).as_millis();
                assert!((least_ms..=most_ms).contains(&pause), "{failures} {dice}: {pause} ms");
            }
        }
        assert_ne!(pause(&tuning, 3, 1), pause(&tuning, 3, 2));
    }

    #[test]
    fn a_pause_is_the_first_again_once_something_went_through() {
        let (tuning, pauses) = (Tuning::default(), Pauses::default());
        let first = pauses.next(&tuning);
        assert!(pauses.next(&tuning) > first, "the second is twice as long");
        pauses.reset();
        assert!(pauses.next(&tuning) <= tuning.first_pause * 5 / 4);
    }

    #[test]
    fn a_pause_is_the_first_again_only_after_a_connection_that_outlived_the_last_one() {
        let (tuning, pauses) = (Tuning::default(), Pauses::default());
        let first = pauses.next(&tuning);
        pauses.stood(first);
        let second = pauses.next(&tuning);
        assert!(second > first, "it stood no longer than the pause");
        pauses.stood(second + Duration::from_millis(1));
        assert!(pauses.next(&tuning) <= tuning.first_pause * 5 / 4);
    }
}

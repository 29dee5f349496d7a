//! The way to Kafka: a producer that has a bounded number of messages under way.

use super::bodies::Topic;
use super::client::{CERTIFICATES, client_of, producer_of, topic_of};
use super::health::Health;
use crate::cursors::Fence;
use onrush_base::config::kafka::{KafkaSettings, Tuning};
use onrush_core::ids::EventId;
use onrush_store::Seq;
use onrush_tls::Refusal;
use rdkafka::ClientContext;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::future_producer::DeliveryFuture;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer, PurgeConfig};
use rdkafka::types::RDKafkaErrorCode;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use strum::VariantArray;

/// Kafka, or the way there, is in trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Undelivered(pub(super) String);

impl fmt::Display for Undelivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kafka cannot be used: {}", self.0)
    }
}

impl From<KafkaError> for Undelivered {
    fn from(error: KafkaError) -> Self {
        Self(sentence(&error))
    }
}

/// What is said of an error. Of an option that the client does not take it is the name alone: the value
/// may be a secret, and the client's own words repeat it.
fn sentence(error: &KafkaError) -> String {
    if let KafkaError::ClientConfig(_, _, name, _) = error {
        format!("kafka.options: the client does not take {name}; see librdkafka's CONFIGURATION.md")
    } else {
        error.to_string()
    }
}

/// What the client says goes where everything else is said. What stands in the way of a connection
/// is remembered too: the call that waits for it only learns that it took too long.
#[derive(Clone, Default)]
struct Context {
    in_the_way: Arc<Mutex<Option<String>>>,
}

impl Context {
    fn hear(&self, said: &str) {
        if let Some(advice) = advice(said) {
            *self.in_the_way.lock().unwrap_or_else(PoisonError::into_inner) = Some(advice);
        }
    }

    /// An error, and what is known to be in the way.
    fn explain(&self, error: &KafkaError) -> Undelivered {
        let heard = self.in_the_way.lock().unwrap_or_else(PoisonError::into_inner).take();
        let said = sentence(error);
        // No connection was tried yet, and an option's name is no sign of what is in its way.
        if matches!(error, KafkaError::ClientConfig(..)) {
            return Undelivered(said);
        }
        Undelivered(match heard.or_else(|| advice(&said)) {
            Some(advice) => format!("{advice}. ({said})"),
            None => said,
        })
    }
}

/// What to do about a connection that TLS or the login is in the way of. What the client said is not
/// repeated: it may have more in it than a log should.
fn advice(said: &str) -> Option<String> {
    if let Some(refusal) = Refusal::of_text(said) {
        return Some(refusal.sentence(CERTIFICATES));
    }
    let said = said.to_ascii_lowercase();
    let login = ["sasl authentication error", "authentication failed", "saslauthenticat"];
    if login.iter().any(|sign| said.contains(sign)) {
        return Some(
            "it does not let this user in; look at sasl.mechanism, sasl.username and \
             sasl.password in kafka.options"
                .into(),
        );
    }
    // An alert that says no more than that the broker ends it, mostly for want of a certificate.
    if said.contains("alert") || said.contains("ssl transport error") {
        return Some(format!(
            "the broker ends the greeting; if it asks for client certificates, set \
             {CERTIFICATES}.cert and {CERTIFICATES}.key"
        ));
    }
    (said.contains("ssl handshake failed") || said.contains("disconnected while requesting")).then(
        || {
            "the broker and this client do not speak the same; look at security.protocol in \
             kafka.options and at the port in kafka.brokers"
                .into()
        },
    )
}

impl ClientContext for Context {
    fn log(&self, _: RDKafkaLogLevel, _: &str, message: &str) {
        self.hear(message);
        tracing::debug!(message, "Kafka's client");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.hear(reason);
        tracing::debug!(%error, reason, "Kafka's client");
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record<'a> {
    pub(super) topic: Topic,
    pub(super) event: &'a EventId,
    pub(super) sequence: Seq,
    pub(super) index: usize,
    pub(super) body: Vec<u8>,
}

/// A producer for one turn of publishing. What is still under way when it is dropped is sent no more.
pub(super) struct Outlet {
    producer: Option<FutureProducer<Context>>,
    context: Context,
    topics: Vec<(Topic, String)>,
    under_way: VecDeque<DeliveryFuture>,
    tuning: Tuning,
    health: Arc<Health>,
}

impl Outlet {
    /// Makes a producer, and topics that are missing if that is wanted; else looks whether all are there.
    pub(super) async fn open(
        settings: &KafkaSettings,
        health: Arc<Health>,
    ) -> Result<Self, Undelivered> {
        let producer = producer_of(settings).map_err(Undelivered)?;
        let context = Context::default();
        let producer = producer
            .create_with_context(context.clone())
            .map_err(|error| context.explain(&error))?;
        let named = |&topic| (topic, topic_of(settings, topic));
        let outlet = Self {
            producer: Some(producer),
            context,
            topics: Topic::VARIANTS.iter().map(named).collect(),
            under_way: VecDeque::new(),
            tuning: settings.tuning.clone(),
            health,
        };
        // The producer's client says what is in the way; that of the topics only that it waited.
        if settings.create_topics {
            make_topics(settings, &outlet.context).await?;
        } else {
            outlet.look_for_topics(settings).await?;
        }
        Ok(outlet)
    }

    /// A client is made without a word to anybody: whether Kafka is there is known once it was asked.
    async fn look_for_topics(&self, settings: &KafkaSettings) -> Result<(), Undelivered> {
        let producer = self.producer.clone().expect("it goes when this is dropped");
        let names: Vec<_> = self.topics.iter().map(|(_, name)| name.clone()).collect();
        let patience = settings.tuning.making_topics;
        let looked = tokio::task::spawn_blocking(move || {
            names.iter().try_for_each(|name| missing(&producer, name, patience))
        });
        match looked.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(Look::Failed(error))) => Err(self.context.explain(&error)),
            Ok(Err(Look::Missing(sentence))) => Err(Undelivered(sentence)),
            Err(_) => Err(Undelivered("the look for its topics was broken off".into())),
        }
    }

    /// Sends a message after all that were sent before; waits while too many are under way.
    pub(super) async fn send(
        &mut self,
        record: Record<'_>,
        fence: Fence,
    ) -> Result<(), Undelivered> {
        while self.under_way.len() >= self.tuning.window {
            self.oldest().await?;
        }
        let mut topics = self.topics.iter();
        let topic = topics.find_map(|(topic, name)| (*topic == record.topic).then_some(name));
        let topic = topic.expect("every topic has a name").clone();
        let numbers =
            [("fence", fence.0), ("sequence", record.sequence.0), ("index", record.index as u64)];
        loop {
            let mut headers = OwnedHeaders::new_with_capacity(numbers.len());
            for (key, value) in numbers {
                headers = headers.insert(Header { key, value: Some(&value.to_string()) });
            }
            let message = FutureRecord::to(&topic)
                .key(record.event.as_str())
                .payload(&record.body)
                .headers(headers);
            let producer = self.producer.as_ref().expect("it goes when this is dropped");
            match producer.send_result(message) {
                Ok(delivery) => break self.under_way.push_back(delivery),
                // Long messages fill the queue before there are too many.
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _))
                    if !self.under_way.is_empty() =>
                {
                    self.oldest().await?;
                }
                Err((error, _)) => return Err(error.into()),
            }
        }
        self.health.set(|state| state.sent += 1);
        Ok(())
    }

    /// Comes back when Kafka has all that was sent.
    pub(super) async fn settle(&mut self) -> Result<(), Undelivered> {
        while !self.under_way.is_empty() {
            self.oldest().await?;
        }
        Ok(())
    }

    async fn oldest(&mut self) -> Result<(), Undelivered> {
        // It is taken out only when it has arrived, as whoever waits may give up waiting.
        let Some(oldest) = self.under_way.front_mut() else { return Ok(()) };
        let arrived = tokio::time::timeout(self.tuning.patience, oldest).await;
        self.under_way.pop_front();
        match arrived {
            Ok(Ok(Ok(_))) => {}
            Ok(Ok(Err((error, _)))) => return Err(self.context.explain(&error)),
            Ok(Err(_)) => return Err(Undelivered("the producer is gone".into())),
            Err(_) => return Err(Undelivered("no acknowledgement came".into())),
        }
        self.health
            .set(|state| (state.acknowledged, state.connected) = (state.acknowledged + 1, true));
        Ok(())
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let Some(producer) = self.producer.take() else { return };
        // Another node may publish from now on: what waits here is for it to send.
        producer.purge(PurgeConfig::default().queue().inflight());
        // Its end takes a moment, in which nothing else should have to wait.
        tokio::task::spawn_blocking(move || drop(producer));
    }
}

/// Why topics were not found.
enum Look {
    Failed(KafkaError),
    Missing(String),
}

fn missing(producer: &FutureProducer<Context>, name: &str, patience: Duration) -> Result<(), Look> {
    let told = producer.client().fetch_metadata(Some(name), patience).map_err(Look::Failed)?;
    match told.topics().iter().find_map(|topic| topic.error()) {
        None => Ok(()),
        Some(error) => Err(Look::Missing(format!(
            "the topic {name} cannot be written to; make it, or let this user, or set \
             kafka.create_topics = true ({:?})",
            RDKafkaErrorCode::from(error)
        ))),
    }
}

async fn make_topics(settings: &KafkaSettings, context: &Context) -> Result<(), Undelivered> {
    let client = client_of(settings).map_err(Undelivered)?;
    let admin: AdminClient<Context> =
        client.create_with_context(context.clone()).map_err(|error| context.explain(&error))?;
    let names: Vec<_> = Topic::VARIANTS.iter().map(|&topic| topic_of(settings, topic)).collect();
    // -1: as the broker likes.
    let partitions = settings.partitions.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1);
    let new = |name| NewTopic::new(name, partitions, TopicReplication::Fixed(-1));
    let topics: Vec<_> = names.iter().map(|name| new(name)).collect();
    let options = AdminOptions::new().request_timeout(Some(settings.tuning.making_topics));
    let made = admin.create_topics(&topics, &options).await;
    tokio::task::spawn_blocking(move || drop(admin));
    for topic in made.map_err(|error| context.explain(&error))? {
        match topic {
            Ok(topic) => tracing::info!(topic, "a topic was made"),
            Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            // Whoever may not make topics has somebody who does.
            Err((topic, error)) => tracing::warn!(topic, %error, "a topic could not be made"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_option_that_is_not_taken_is_named_without_its_value() {
        for (name, value) in [
            ("sasl.jaas.config", "password=\"s3cret\""),
            ("ssl.truststore.password", "s3cret"),
            ("no.such.option", "s3cret"),
            // Why it is not taken repeats the value as well.
            ("compression.type", "s3cret"),
            // Elsewhere that word is a sign of TLS.
            ("no.such.alert", "s3cret"),
        ] {
            let settings =
                format!("brokers = ['127.0.0.1:1']\noptions = {{ '{name}' = '{value}' }}");
            let settings: KafkaSettings = toml::from_str(&settings).expect("these are settings");
            let opened = Outlet::open(&settings, Arc::default()).await;
            let Undelivered(why) = opened.err().expect("the client does not take it");
            assert!(
                why.starts_with(&format!("kafka.options: the client does not take {name};")),
                "{why}"
            );
            assert!(!why.contains("s3cret"), "{why}");
        }
    }
}

//! RabbitMQ and Kafka away for a minute in the middle of a sale with a waiting room: nothing but
//! their own messages is late. Redis away: nodes stay where a balancer finds them, and say so.

use crate::cli_support::run;
use crate::deployment::{Deployment, RedisKind, until};
use crate::load::{create, sell_out_in_room};
use onrush_testkit::{Kafka, RabbitMq, need};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Units there are.
const CAPACITY: u32 = 40;
/// How long they are away.
const AWAY: Duration = Duration::from_secs(60);

#[test]
fn a_minute_without_rabbitmq_and_kafka_delays_their_messages_and_nothing_else() {
    let start = || {
        let (rabbit, kafka) = (RabbitMq::start()?, Kafka::start()?);
        let settings = format!(
            "[rabbitmq]\nurl = {:?}\n[kafka]\nbrokers = [{:?}]\n",
            rabbit.url(),
            kafka.bootstrap_servers()
        );
        let deployment = Deployment::start_with(2, RedisKind::durable()?, &settings)?;
        Ok((deployment, rabbit, kafka))
    };
    let Some((mut deployment, mut rabbit, mut kafka)) = need(start()) else { return };
    let mut killed_at = Instant::now();
    sell_out_in_room(&mut deployment, CAPACITY, |faulty| {
        faulty.sale.until_sold(5);
        rabbit.kill();
        kafka.kill();
        killed_at = Instant::now();
        // Everybody else is served meanwhile.
        faulty.sale.until_sold(CAPACITY as usize);
    });
    // Whatever was sold, they stay away for the whole minute.
    while killed_at.elapsed() < AWAY {
        std::thread::park_timeout(AWAY.saturating_sub(killed_at.elapsed()));
    }
    rabbit.restart().expect("it starts again");
    kafka.restart().expect("it starts again");

    let mut reader = Reader::new(&kafka);
    until("every confirmed booking is on its topic", || {
        reader.read();
        (reader.bookings.len() == CAPACITY as usize).then_some(())
    });
    let queues = || rabbit.ctl(&["list_queues", "-q", "name", "messages"]).expect("it answers");
    until("the wake-ups were taken from their queue", || {
        let line = |name: &str| {
            let queues = queues();
            let line = queues.lines().find(|line| line.split_whitespace().next() == Some(name));
            line.and_then(|line| line.split_whitespace().last()?.parse::<u32>().ok())
        };
        (line("slot-released-queue") == Some(0)).then_some(())
    });
    // Nothing is missing, and nothing came so late that a receiver drops it.
    let feed = deployment.nodes[0].organise("GET", "/feed?limit=1000", &Value::Null);
    let entries = feed["entries"].as_array().expect("a list");
    let expected: BTreeSet<(u64, u64)> = entries
        .iter()
        .flat_map(|entry| {
            let changes = entry["changes"].as_array().expect("a list").len() as u64;
            let seq = entry["seq"].as_u64().expect("a number");
            (0..changes).map(move |index| (seq, index))
        })
        .collect();
    until("the whole feed is on its topic", || {
        reader.read();
        (reader.taken.len() >= expected.len()).then_some(())
    });
    assert!(reader.taken.is_superset(&expected), "{:?}", expected.difference(&reader.taken));
    deployment.audit();
}

#[test]
fn node_without_redis_stays_ready_says_so_and_asks_buyers_to_come_back() {
    let start = || {
        let mut deployment = Deployment::start(1)?;
        let node = deployment.start_node(|node| {
            node.args(["--operator-listen", "127.0.0.1:0"]);
        });
        deployment.nodes.push(node);
        Ok(deployment)
    };
    let Some(mut deployment) = need(start()) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 9, 0)]);
    let buyer = deployment.nodes[1].visitor();
    let operator = deployment.nodes[1].operator.expect("it listens").to_string();
    let health = || {
        let output = run(&["health", "--address", &operator]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}{output:?}");
        said
    };
    let hold = |deployment: &Deployment| {
        let wish = r#"{"pools":{"ga":1}}"#;
        deployment.nodes[1].ask("POST", "/api/v1/events/e/bookings", &buyer, "h", wish)
    };
    // An engine that takes a second to answer is a line as well.
    until("that nothing else is to be said", || (health() == "ready\n").then_some(()));

    deployment.redis.one().kill();
    let said = until("a word of Redis", || Some(health()).filter(|said| said != "ready\n"));
    assert!(said.starts_with("ready\nengine: "), "{said}");
    until("that it cannot be reached", || {
        health().contains("Redis cannot be reached").then_some(())
    });
    let (status, answer) = hold(&deployment);
    assert_eq!((status, &answer["code"]), (503, &json!("ENGINE_UNREACHABLE")), "{answer}");
    assert_eq!(answer["retryable"], true, "{answer}");

    deployment.redis.one().restart().expect("it starts again");
    until("that it is reached", || (health() == "ready\n").then_some(()));
    until("a hold", || (hold(&deployment).0 == 201).then_some(()));
    deployment.audit();
}

#[test]
fn node_whose_redis_is_full_stays_ready_and_says_so() {
    let start = || {
        let mut deployment = Deployment::start(0)?;
        let node = deployment.start_node(|node| {
            node.args(["--operator-listen", "127.0.0.1:0"]);
        });
        deployment.nodes.push(node);
        Ok(deployment)
    };
    let Some(mut deployment) = need(start()) else { return };
    let event = json!({"event": "e", "title": "Show", "currency": "EUR", "room": null});
    create(&deployment, &event, &[("ga", 9, 0)]);
    let buyer = deployment.nodes[0].visitor();
    let operator = deployment.nodes[0].operator.expect("it listens");
    let full = "Redis refused something new";
    let health = || {
        let output = run(&["health", "--address", &operator.to_string()]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}{output:?}");
        said
    };
    let is_shown = |row: &str| metrics(operator).lines().any(|line| line == row);
    let hold = |deployment: &Deployment| {
        let wish = r#"{"pools":{"ga":1}}"#;
        deployment.nodes[0].ask("POST", "/api/v1/events/e/bookings", &buyer, "h", wish)
    };
    assert!(!health().contains(full));
    assert!(is_shown("onrush_redis_full 0"));

    deployment.redis.one().command(&["CONFIG", "SET", "maxmemory", "1"]).expect("Redis answers");
    let (status, answer) = hold(&deployment);
    assert_eq!((status, &answer["code"]), (503, &json!("DISK_LOW")), "{answer}");
    assert!(health().contains(full), "{}", health());
    assert!(is_shown("onrush_redis_full 1"), "{}", metrics(operator));

    deployment.redis.one().command(&["CONFIG", "SET", "maxmemory", "0"]).expect("Redis answers");
    until("a hold", || (hold(&deployment).0 == 201).then_some(()));
    deployment.audit();
}

/// What the operator's listener shows.
fn metrics(operator: SocketAddr) -> String {
    let mut stream = TcpStream::connect(operator).expect("it listens");
    let request = "GET /metrics HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it is text");
    text
}

/// Reads what Kafka has, and looks at the order on the way.
pub(crate) struct Reader {
    consumer: BaseConsumer,
    bookings: BTreeSet<String>,
    /// Changes on the topic of the whole feed, as a receiver takes them who drops what is not above
    /// the last one.
    pub(crate) taken: BTreeSet<(u64, u64)>,
    last: HashMap<String, (u64, u64)>,
}

impl Reader {
    pub(crate) fn new(kafka: &Kafka) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", kafka.bootstrap_servers())
            .set("group.id", "test")
            .set("auto.offset.reset", "earliest")
            .create()
            .expect("a consumer");
        consumer.subscribe(&["booking_completed", "onrush-feed"]).expect("it can subscribe");
        Self { consumer, bookings: BTreeSet::new(), taken: BTreeSet::new(), last: HashMap::new() }
    }

    pub(crate) fn read(&mut self) {
        while let Some(message) = self.consumer.poll(Duration::from_millis(100)) {
            // A broker that has just started may not know the topics yet.
            let Ok(message) = message else { return };
            let body = message.payload().expect("a body");
            if message.topic() == "booking_completed" {
                let body: Value = serde_json::from_slice(body).expect("JSON");
                self.bookings.insert(body["payment_id"].as_str().expect("an id").to_owned());
                continue;
            }
            let key = String::from_utf8_lossy(message.key().expect("a key")).into_owned();
            let headers = message.headers().expect("headers");
            let number = |name: &str| {
                let header = headers.iter().find(|header| header.key == name).expect(name);
                let text = std::str::from_utf8(header.value.expect("a value")).expect("text");
                text.parse::<u64>().expect("a number")
            };
            let place = (number("sequence"), number("index"));
            let last = self.last.entry(key).or_default();
            if place > *last {
                *last = place;
                self.taken.insert(place);
            }
        }
    }
}

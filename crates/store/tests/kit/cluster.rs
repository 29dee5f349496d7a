//! The kit on Redis Cluster: with tagged keys every call goes to one node.

use crate::eval;
use crate::texts;
use onrush_store::redis::kit::ExpiryWorker;
use onrush_testkit::{RedisCluster, need};
use redis::cluster::{ClusterClient, ClusterConnection};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

struct Sale {
    connection: ClusterConnection,
    event: String,
}

impl Sale {
    fn key(&self, name: &str) -> String {
        name.replace("<event>", &format!("{{{}}}", self.event))
    }

    #[track_caller]
    fn run(&mut self, script: &str, keys: &[&str], args: &[&str]) -> Vec<String> {
        let keys: Vec<_> = keys.iter().map(|key| self.key(key)).collect();
        let keys: Vec<_> = keys.iter().map(String::as_str).collect();
        texts(&eval(script, &keys, args).query(&mut self.connection).expect("the script answers"))
    }

    fn redis(&mut self, parts: &[&str]) -> Vec<String> {
        let parts: Vec<_> = parts.iter().map(|part| self.key(part)).collect();
        texts(
            &redis::cmd(&parts[0])
                .arg(&parts[1..])
                .query(&mut self.connection)
                .expect("the command is right"),
        )
    }
}

#[tokio::test]
async fn tagged_keys_work_on_a_cluster() {
    let Some(cluster) = need(RedisCluster::start()) else { return };
    let client = ClusterClient::new(cluster.urls()).expect("the URLs are some");
    // Events whose keys are on different nodes.
    for event in ["e1", "e2", "e3", "e4"] {
        let connection = client.get_connection().expect("the cluster runs");
        let mut sale = Sale { connection, event: event.to_owned() };

        let keys = [
            "zone:availability:<event>:A",
            "user:reservations:ada:<event>",
            "reservation:<event>:b1",
            "expiries:<event>",
        ];
        sale.redis(&["SET", keys[0], "10"]);
        let args = ["3", "4", "ada", "b1", "A", event, "evening", "15000", "600"];
        assert_eq!(sale.run("reserve_seats", &keys, &args), ["1", "7", "3"]);
        let confirmable =
            ["zone:availability:<event>:A", keys[1], "reservation:<event>:b2", keys[3]];
        let args = ["1", "4", "ada", "b2", "A", event, "evening", "15000", "600"];
        assert_eq!(sale.run("reserve_seats", &confirmable, &args), ["1", "6", "4"]);
        assert_eq!(
            sale.run("confirm_booking", &confirmable[2..], &["b2", "ada"])[..2],
            ["1", "CONFIRMED"]
        );
        let entry = sale.redis(&["ZRANGE", keys[3], "0", "-1"]).concat();
        sale.redis(&["ZADD", keys[3], "1000.5", &entry]);
        let asynchronous = client.get_async_connection().await.expect("the cluster runs");
        let done = ExpiryWorker::new(asynchronous, sale.key(keys[3]))
            .run_once()
            .await
            .expect("the cluster runs");
        assert_eq!((done.reservations, done.seats), (1, 3));
        assert_eq!(sale.redis(&["GET", keys[0]]), ["9"]);

        let queue = ["queue:<event>", "queue:user:<event>:ada", "places:<event>"];
        assert_eq!(
            sale.run("join_queue", &queue, &["ada", event, "t", "1800", "0"])[..3],
            ["1", "1", "1"]
        );
        assert_eq!(sale.run("lapse_places", &[queue[0], queue[2]], &[]), ["1", "0"]);

        let claim = ["claimed:<event>", "claim:<event>:r1", "history:<event>"];
        assert_eq!(sale.run("claim", &claim, &["1", "1"]), ["1"]);

        let dedupe = ["dedupe:<event>:k1", "queue:event:<event>"];
        assert_eq!(sale.run("atomic_enqueue", &dedupe, &["t1", "5"]), ["0"]);
        sale.redis(&["SET", "inventory:<event>", "1"]);
        let seat =
            ["seat:status:<event>", "hold:seat:<event>:A1", "inventory:<event>", "holds:<event>"];
        assert_eq!(sale.run("atomic_hold", &seat, &["A1", "ada", "600"]), ["HOLD_SUCCESS", "0"]);
        let sold = [seat[0], seat[1], seat[3]];
        assert_eq!(sale.run("confirm_hold", &sold, &["A1", "ada", "p1"]), ["HOLD_CONFIRMED"]);

        let (waiting, active, state) =
            ("waiting_list:<event>", "active_users:<event>", "user_state:ada:<event>");
        let lock = "lock:seat:<event>:A1";
        assert_eq!(
            sale.run("enqueue", &[waiting, "queue_sequence:<event>", active], &[event, "ada"]),
            ["1", "1"]
        );
        assert_eq!(sale.run("position", &[waiting, state], &["ada", event]), ["1", "queued", "1"]);
        let promote = [event, "0", "1000", "600", "1", "ada"];
        assert_eq!(sale.run("promote", &[waiting, active, state], &promote)[..2], ["1", "ada"]);
        assert_eq!(sale.run("lock_seat", &[state, lock], &["ada", event, "A1"]), ["1", "success"]);
        assert_eq!(sale.run("timeout", &[state, active, lock], &[event, "ada"])[1], "not_due");
        assert_eq!(
            sale.run("initiate_payment", &[state, active, lock], &["ada", event, "p1"])[..2],
            ["1", "p1"]
        );
        let refused = sale.run("cancel", &[waiting, active, state, lock], &[event, "ada"]);
        assert_eq!(refused, ["0", "cannot_cancel_during_payment"]);
        assert_eq!(sale.run("cleanup", &[state, active, lock], &[event, "ada", "p1"]), ["1", "A1"]);
        let paid = sale.run("payment_success", &[state, active, lock], &[event, "ada", "A1", "p1"]);
        assert_eq!(paid, ["0", "not_found"]);
    }
}

// A trap: the client of a cluster tries again by itself, and sleeps longer than the failover takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker_returns_stock_after_a_failover_however_long_its_client_would_wait() {
    let Some(mut cluster) = need(RedisCluster::start()) else { return };
    let client = ClusterClient::new(cluster.urls()).expect("the URLs are some");
    let sale = || Sale {
        connection: client.get_connection().expect("the cluster runs"),
        event: "e1".to_owned(),
    };
    let keys = [
        "zone:availability:<event>:A",
        "user:reservations:ada:<event>",
        "reservation:<event>:b1",
        "expiries:<event>",
    ];
    let mut before = sale();
    before.redis(&["SET", keys[0], "10"]);
    let args = ["3", "4", "ada", "b1", "A", "e1", "evening", "15000", "600"];
    assert_eq!(before.run("reserve_seats", &keys, &args), ["1", "7", "3"]);
    cluster.wait_until_whole().expect("replicas have all");

    let (hour, day) = (3_600_000, 86_400_000);
    let patient = ClusterClient::builder(cluster.urls()).min_retry_wait(hour).max_retry_wait(day);
    let connection = patient.build().expect("the URLs are some").get_async_connection().await;
    let index = before.key(keys[3]);
    let worker = ExpiryWorker::new(connection.expect("the cluster runs"), index.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let running = tokio::spawn(worker.run(async {
        let _ = stopped.await;
    }));
    cluster.kill_primary_of(&index).expect("somebody serves it");
    cluster.wait_for_failover(&index).expect("its replica takes over");

    let mut after = sale();
    let entry = after.redis(&["ZRANGE", keys[3], "0", "-1"]).concat();
    after.redis(&["ZADD", keys[3], "1000.5", &entry]);
    let began = Instant::now();
    while after.redis(&["GET", keys[0]]) != ["10"] {
        assert!(began.elapsed() < Duration::from_secs(120), "the worker comes");
        tokio::task::yield_now().await;
    }
    stop.send(()).expect("the worker runs");
    running.await.expect("the worker ends");
}

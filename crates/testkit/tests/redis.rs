//! Redis: alone, with a replica, and as a cluster.

use onrush_testkit::{Redis, RedisCluster, RedisOptions, RedisPair, need, wait_until};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

fn durable() -> RedisOptions {
    RedisOptions { appendonly: true, ..RedisOptions::default() }
}

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn server_answers_and_leaves_nothing_behind() {
    let Some(redis) = need(Redis::start()) else { return };
    assert_eq!(redis.command(&["SET", "zone", "100"]).unwrap(), "OK");
    assert_eq!(redis.command(&["GET", "zone"]).unwrap(), "100");
    let (pid, folder) = (redis.pid(), redis.folder().to_owned());
    assert!(runs(pid) && folder.exists());
    drop(redis);
    assert!(!runs(pid));
    assert!(!folder.exists());
}

#[test]
fn server_ends_with_a_test_that_panics() {
    let Some(redis) = need(Redis::start()) else { return };
    let (pid, folder) = (redis.pid(), redis.folder().to_owned());
    let test = std::thread::spawn(move || {
        let _redis = redis;
        panic!("a test that fails");
    });
    assert!(test.join().is_err());
    assert!(!runs(pid));
    assert!(!folder.exists());
}

#[test]
#[ignore = "the next test runs it in a process of its own, and kills it"]
fn starts_a_server_and_waits() {
    let Some(redis) = need(Redis::start()) else { return };
    println!("pid={}", redis.pid());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn server_ends_with_a_test_that_is_killed() {
    if need(Redis::start()).is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "starts_a_server_and_waits", "--ignored", "--nocapture"])
        // What a killed test cannot clean up goes with this folder.
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(test.stdout.take().unwrap());
    let pid = said.lines().find_map(|line| line.unwrap().split_once("pid=")?.1.parse().ok());
    test.kill().unwrap();
    test.wait().unwrap();
    let pid = pid.expect("it starts one");
    wait_until("the server ends", Duration::from_secs(60), || !runs(pid)).unwrap();
}

#[test]
fn killed_server_comes_back_with_what_it_answered() {
    let Some(mut redis) = need(Redis::start_with(&durable())) else { return };
    redis.command(&["SET", "zone", "100"]).unwrap();
    let port = redis.port();
    redis.kill();
    assert!(redis.command(&["PING"]).is_err());
    redis.restart().unwrap();
    assert_eq!(redis.port(), port);
    assert_eq!(redis.command(&["GET", "zone"]).unwrap(), "100");
}

#[test]
fn server_in_memory_comes_back_empty() {
    let Some(mut redis) = need(Redis::start()) else { return };
    redis.command(&["SET", "zone", "100"]).unwrap();
    redis.kill();
    redis.restart().unwrap();
    assert_eq!(redis.command(&["EXISTS", "zone"]).unwrap(), "0");
}

#[test]
fn paused_server_answers_when_it_is_resumed() {
    let Some(mut redis) = need(Redis::start()) else { return };
    redis.pause();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", redis.pid())).unwrap();
    assert!(stat.contains(") T "), "it is stopped: {stat}");
    redis.resume();
    assert_eq!(redis.command(&["PING"]).unwrap(), "PONG");
}

#[test]
fn server_that_refuses_its_config_says_why() {
    let config = vec!["no-such-setting yes".to_owned()];
    match Redis::start_with(&RedisOptions { config, ..RedisOptions::default() }) {
        Err(onrush_testkit::NotStarted::Failed(why)) => assert!(why.contains("no-such-setting")),
        other => {
            need(other.map(|_| panic!("it started")));
        }
    }
}

#[test]
fn replica_follows_and_can_be_promoted() {
    let Some(mut pair) = need(RedisPair::start(&RedisOptions::default())) else { return };
    pair.primary.command(&["SET", "zone", "100"]).unwrap();
    pair.wait_for_replica().unwrap();
    assert!(pair.replica.command(&["SET", "zone", "99"]).is_err());
    pair.primary.kill();
    pair.promote().unwrap();
    assert_eq!(pair.replica.command(&["DECR", "zone"]).unwrap(), "99");
}

#[test]
fn cluster_fails_over_and_is_whole_again() {
    let Some(mut cluster) = need(RedisCluster::start()) else { return };
    let pids: Vec<_> = cluster.nodes().iter().map(Redis::pid).collect();
    let key = "zone:{tour-1}";
    let primary = cluster.primary_of(key).unwrap();
    assert_eq!(cluster.nodes()[primary].command(&["SET", key, "100"]).unwrap(), "OK");
    cluster.wait_until_whole().unwrap();

    assert_eq!(cluster.kill_primary_of(key).unwrap(), primary);
    let heir = cluster.wait_for_failover(key).unwrap();
    assert_ne!(heir, primary);
    assert_eq!(cluster.nodes()[heir].command(&["GET", key]).unwrap(), "100");

    cluster.nodes_mut()[primary].restart().unwrap();
    cluster.wait_until_whole().unwrap();
    assert_eq!(cluster.primary_of(key).unwrap(), heir);
    let pids: Vec<_> = pids.into_iter().chain([cluster.nodes()[primary].pid()]).collect();
    drop(cluster);
    let gone = || !pids.iter().any(|&pid| runs(pid));
    wait_until("all nodes end", Duration::from_secs(60), gone).unwrap();
}

//! PostgreSQL.

use onrush_testkit::{Postgres, PostgresOptions, Shared, need};
use std::path::Path;

static POSTGRES: Shared<Postgres> = Shared::new();

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn databases_of_one_server_do_not_see_each_other() {
    let Some(postgres) = need(POSTGRES.get(Postgres::start)) else { return };
    let (one, other) = (postgres.database().unwrap(), postgres.database().unwrap());
    assert_ne!(one, other);
    postgres.sql(&one, "CREATE TABLE bookings (id int); INSERT INTO bookings VALUES (7)").unwrap();
    assert_eq!(postgres.sql(&one, "SELECT id FROM bookings").unwrap(), "7");
    assert!(postgres.sql(&other, "SELECT id FROM bookings").is_err());
}

#[test]
fn tests_that_run_at_once_share_a_server() {
    let Some(postgres) = need(POSTGRES.get(Postgres::start)) else { return };
    let again = POSTGRES.get(|| panic!("it runs already")).unwrap();
    assert_eq!(postgres.pid(), again.pid());
}

#[test]
fn killed_server_comes_back_with_what_was_committed_and_leaves_nothing_behind() {
    let Some(mut postgres) = need(Postgres::start()) else { return };
    let url = postgres.database().unwrap();
    postgres.sql(&url, "CREATE TABLE bookings (id int); INSERT INTO bookings VALUES (7)").unwrap();
    let backend =
        postgres.sql(&url, "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
    let backend: u32 = backend.unwrap().parse().unwrap();
    assert!(runs(backend));

    postgres.kill();
    assert!(!runs(backend), "its processes are gone with it");
    assert!(postgres.sql(&url, "SELECT 1").is_err());
    postgres.restart().unwrap();
    assert_eq!(postgres.sql(&url, "SELECT id FROM bookings").unwrap(), "7");
    postgres.restart().unwrap();
    assert_eq!(postgres.sql(&url, "SELECT id FROM bookings").unwrap(), "7");

    postgres.kill();
    let (pid, folder) = (postgres.pid(), postgres.folder().to_owned());
    let segment = shared_memory(&folder);
    assert!(Path::new("/proc/sysvipc/shm").exists() && segments().contains(&segment));
    drop(postgres);
    assert!(!runs(pid));
    assert!(!folder.exists());
    assert!(!segments().contains(&segment), "its shared memory is freed");
}

#[test]
fn server_is_as_durable_as_it_is_told_to_be() {
    let config = vec!["max_connections = 17".to_owned()];
    let options = PostgresOptions { durable: true, config, ..PostgresOptions::default() };
    let Some(postgres) = need(Postgres::start_with(&options)) else { return };
    let show = |name: &str| postgres.sql(&postgres.url(), &format!("SHOW {name}")).unwrap();
    assert_eq!((show("fsync"), show("max_connections")), ("on".to_owned(), "17".to_owned()));
}

/// The identifier of the segment that a killed server leaves, as its own file has it.
fn shared_memory(folder: &Path) -> String {
    let text = std::fs::read_to_string(folder.join("data/postmaster.pid")).unwrap();
    text.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

fn segments() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    table.lines().skip(1).filter_map(|l| Some(l.split_whitespace().nth(1)?.to_owned())).collect()
}

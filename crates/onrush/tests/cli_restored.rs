//! The first start on a restored backup: what its number accepts, and what it does not.

#[expect(dead_code, reason = "the tests of backups use the rest")]
mod backup_shop;
mod cli_support;

use backup_shop::{Shop, names_in, restored_start, sandboxed};
use cli_support::run_json;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

/// Takes a backup; the flag that accepts it.
#[track_caller]
fn backed_up(data: &Path, to: &Path) -> String {
    let (code, done) = run_json(&["backup", "--json", "--data", text(data), "--to", text(to)]);
    assert_eq!(code, Some(0), "{done}");
    format!("--accept-restored={}", done["decision"])
}

#[track_caller]
fn put_back(from: &Path, to: &Path) {
    let (code, done) = run_json(&["restore", "--json", "--from", text(from), "--to", text(to)]);
    assert_eq!(code, Some(0), "{done}");
}

/// The start ends with code 4, says this, and adds no file.
#[track_caller]
fn refused(data: &Path, flag: &str, words: [&str; 2]) {
    let before = names_in(data);
    let (code, said) = restored_start(data, &[flag]);
    assert_eq!(code, Some(4), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not said: {said}");
    }
    // SQLite leaves files without content beside what it reads.
    let by_readers = |name: &String| name.ends_with("-shm") || name.ends_with("-wal");
    let added: Vec<_> = names_in(data).difference(&before).cloned().collect();
    assert!(added.iter().all(by_readers), "{added:?}");
}

#[test]
fn the_number_of_a_backup_accepts_nothing_that_is_missing_or_of_another_moment() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let [data, older, backup] = ["data", "older", "backup"].map(at);
    let shop = Shop::open(&data);
    shop.buy(1);
    let of_older = backed_up(&data, &older);
    shop.buy(1);
    shop.stop();
    let of_backup = backed_up(&data, &backup);

    for name in ["keys", "ledger.db", "engine.db"] {
        let restored = at(&format!("without-{name}"));
        put_back(&backup, &restored);
        let part = restored.join(name);
        let removed =
            if part.is_dir() { fs::remove_dir_all(&part) } else { fs::remove_file(&part) };
        removed.expect("it was there");
        refused(&restored, &of_backup, [name, "is missing"]);
        assert!(!part.exists(), "{name} is not made anew");
    }
    let with_others = |from: &Path, other: &Path, name: &str| {
        let restored = at(name);
        put_back(from, &restored);
        fs::copy(other.join("engine.db"), restored.join("engine.db")).expect("copied");
        restored
    };
    let restored = with_others(&backup, &older, "with-older");
    refused(&restored, &of_backup, ["engine.db", "Nothing was changed"]);
    // One that goes on for longer contradicts neither the ledger nor the witness.
    let restored = with_others(&older, &backup, "with-newer");
    refused(&restored, &of_older, ["engine.db", "not all of the backup is here"]);

    // A key that was retired since the moment is retired again before the start.
    let restored = at("retired");
    put_back(&backup, &restored);
    let keys = restored.join("keys");
    let rotates =
        |name: &String| ["pass-", "ticket-", "link-"].iter().any(|it| name.starts_with(it));
    let key = names_in(&keys).into_iter().find(rotates).expect("there is one");
    fs::rename(keys.join(&key), keys.join(format!("{key}.retired"))).expect("renamed");
    let (code, said) = restored_start(&restored, &[&of_backup]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_start_on_a_backup_that_ends_before_the_pausing_is_gone_on_with_under_its_number() {
    let scratch = tempfile::tempdir().expect("a directory");
    let at = |name: &str| scratch.path().join(name);
    let [data, backup, restored, settings] = ["data", "backup", "restored", "s.toml"].map(at);
    let shop = Shop::open(&data);
    shop.buy(1);
    shop.import_a_seat();
    shop.stop();
    let flag = backed_up(&data, &backup);
    put_back(&backup, &restored);

    // The sandbox is opened after journal and ledger, and somebody else has its port.
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = |address: &str| {
        fs::write(&settings, format!("[sandbox]\nlisten = \"{address}\"\n")).expect("written");
    };
    let address = taken.local_addr().expect("an address").to_string();
    listen(&address);
    let flags = ["--config", text(&settings), flag.as_str()];
    let (code, said) = restored_start(&restored, &flags);
    assert!(code.is_some_and(|code| code != 0) && said.contains(&address), "{code:?} {said}");
    let under_way = ["accepted.json", "backup.json"];
    let there = names_in(&restored);
    assert!(under_way.iter().all(|name| there.contains(*name)), "{there:?}");

    // By now files may be longer than the manifest says.
    let plan = OpenOptions::new().append(true).open(restored.join("plans/plan-paid.json"));
    plan.and_then(|mut plan| plan.write_all(b"\n")).expect("written");
    listen("127.0.0.1:0");
    let served = sandboxed(&restored, &flags);
    assert_eq!(served.ask("GET", "/api/v1/events/paid", "", "")["phase"], "paused");
    assert_eq!(served.stop(), Some(0));
    let there = names_in(&restored);
    assert!(under_way.iter().all(|name| !there.contains(*name)), "{there:?}");
}

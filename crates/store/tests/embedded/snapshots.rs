//! Snapshots are made beside the sale, and lead to the same state as the whole journal.

use crate::sale::{
    Sale, assert_audit_is_clean, availability, booking, confirm, hold, release, seat, units, until,
};
use onrush_core::hold::HoldState;
use onrush_core::view::AvailabilityView;
use onrush_store::Engine;
use onrush_store::embedded::{Embedded, Options, audit};
use std::fs;
use std::path::{Path, PathBuf};

fn snapshots(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    files.sort_by_key(|path| path.to_string_lossy().len());
    files
}

/// A sale with some history and at least two snapshots, closed; and what was available in the end.
async fn sale_with_snapshots() -> (Sale, AvailabilityView) {
    let sale = Sale::new();
    let options = Options { snapshot_every: 20, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    crate::sale::open_flash_sale(&engine).await;
    for round in 0..2 {
        for n in 0..10 {
            let name = format!("b{round}-{n}");
            hold(&engine, &name, seat(round * 10 + n)).await.expect("held");
            match n % 3 {
                0 => drop(release(&engine, &name).await.expect("released")),
                1 => drop(confirm(&engine, &name).await.expect("confirmed")),
                _ => {}
            }
        }
        let dir = sale.path().to_owned();
        let mut more = 0;
        while snapshots(&dir).len() <= round {
            // A request is taken only when the thread is idle, so each decision asks again.
            more += 1;
            hold(&engine, &format!("more{round}-{more}"), units(1)).await.expect("held");
            release(&engine, &format!("more{round}-{more}")).await.expect("released");
        }
    }
    let view = availability(&engine).await;
    engine.close();
    (sale, view)
}

#[tokio::test]
async fn snapshot_and_tail_equal_the_whole_journal() {
    let (sale, view) = sale_with_snapshots().await;
    assert_eq!(snapshots(sale.path()).len(), 2, "two are kept");
    assert_audit_is_clean(sale.path());
    assert_eq!(audit(sale.path()).expect("readable").snapshots, 2);

    let bare = sale.copy();
    snapshots(bare.path()).iter().for_each(|path| fs::remove_file(path).expect("removed"));
    for copy in [&sale, &bare] {
        let engine = copy.open();
        assert_eq!(availability(&engine).await, view);
        assert!(matches!(booking(&engine, "b0-0").await, Ok(HoldState::Released { .. })));
        assert!(matches!(booking(&engine, "b1-1").await, Ok(HoldState::Confirmed { .. })));
        assert!(matches!(booking(&engine, "b1-2").await, Ok(HoldState::Held { .. })));
        engine.close();
        assert_audit_is_clean(copy.path());
    }
}

#[tokio::test]
async fn damaged_snapshot_is_skipped_for_an_older_one_or_the_journal() {
    let (sale, view) = sale_with_snapshots().await;
    let files = snapshots(sale.path());
    let spoil = |path: &Path, how: usize| {
        let mut bytes = fs::read(path).expect("the file");
        let middle = bytes.len() / 2;
        match how {
            0 => bytes.truncate(middle),
            1 => bytes[middle] ^= 1,
            2 => bytes.clear(),
            _ => bytes = b"{\"onrush_snapshot\":99,\"seq\":1,\"at\":0,\"events\":[]}\n".to_vec(),
        }
        fs::write(path, bytes).expect("written");
    };
    for how in 0..4 {
        for victims in [&files[1..], &files[..]] {
            let copy = sale.copy();
            for victim in victims {
                spoil(&copy.path().join(victim.file_name().expect("a name")), how);
            }
            let engine = copy.open();
            assert_eq!(availability(&engine).await, view);
        }
    }
}

#[tokio::test]
async fn snapshot_from_elsewhere_is_noticed_by_the_audit() {
    let (sale, _) = sale_with_snapshots().await;
    let file = snapshots(sale.path()).pop().expect("a snapshot");
    // The state says that a seat is blocked, and the journal does not; the checksum fits.
    let text = fs::read_to_string(&file).expect("the file");
    let (body, _) = text.rsplit_once("{\"end\"").expect("a trailer");
    let body = body.replacen("\"capacity\":100", "\"capacity\":101", 1);
    let rows = body.lines().filter(|line| line.starts_with("{\"row\"")).count();
    let crc32 = crc32fast::hash(body.as_bytes());
    fs::write(&file, format!("{body}{{\"end\":{{\"rows\":{rows},\"crc32\":{crc32}}}}}\n"))
        .expect("written");
    let report = audit(sale.path()).expect("readable");
    assert_eq!(report.violation_count, 1, "{:?}", report.violations);
    assert!(report.violations[0].contains("not as the journal has it"), "{:?}", report.violations);
}

#[tokio::test]
async fn snapshot_is_made_while_the_sale_goes_on() {
    let sale = Sale::new();
    let options = Options { snapshot_every: 10, ..sale.options() };
    let engine = Embedded::open(sale.path(), options).expect("opened");
    crate::sale::open_flash_sale(&engine).await;
    for n in 0..30 {
        hold(&engine, &format!("b{n}"), units(1)).await.expect("held");
    }
    let dir = sale.path().to_owned();
    until("a snapshot", || !snapshots(&dir).is_empty()).await;
    assert_audit_is_clean(sale.path());
    assert_eq!(engine.committed().0, 34);
}

#[tokio::test]
async fn snapshot_that_was_never_finished_is_removed_at_the_start() {
    let sale = Sale::new();
    let draft = sale.path().join("snapshot.new");
    fs::write(&draft, "{").expect("it is written");
    sale.open().close();
    assert!(!draft.exists());
}

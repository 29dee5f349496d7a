//! Writes the parts of the corpora that follow from the rules' own formats, to be run when one of
//! those has changed: `cargo run -p onrush-fuzz --example seeds`.

use onrush_core::snapshot::SnapshotRow;
use onrush_fuzz::sale::Sale;
use onrush_fuzz::targets::snapshots::SEQ;
use onrush_store::redis::fuzzing::keys_of;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let sale = Sale::new();
    for (file, text) in [
        ("journal/accepted-sale", journal(&sale)),
        ("snapshots/accepted-sale", snapshot(&sale)),
        ("redis_records/accepted-sale", records(&sale)),
    ] {
        std::fs::write(corpus.join(file), text)?;
    }
    Ok(())
}

fn journal(sale: &Sale) -> String {
    let mut text = String::new();
    for (at, changes) in &sale.decisions {
        writeln!(text, "{at} {}", json!(changes)).expect("a String takes every text");
    }
    text
}

fn snapshot(sale: &Sale) -> String {
    let at = sale.decisions.last().map_or(0, |(at, _)| at.0);
    let id = sale.event.id();
    let header = json!({"onrush_snapshot": 1, "seq": SEQ.0, "at": at, "events": [id]});
    let mut text = format!("{header}\n{}\n", json!({"event": id}));
    for row in sale.rows() {
        writeln!(text, "{}", json!({"row": row})).expect("a String takes every text");
    }
    text
}

fn records(sale: &Sale) -> String {
    let mut text = String::new();
    for (key, fields) in keys_of(&sale.event) {
        for (field, value) in fields {
            writeln!(text, "{key}\t{field}\t{value}").expect("a String takes every text");
        }
    }
    for row in sale.rows() {
        if let SnapshotRow::Seat(row) = row {
            let (seat, category) = (row.spec.seat, row.spec.category);
            writeln!(text, "specs\t{seat}\t{category}").expect("a String takes every text");
        }
    }
    text
}

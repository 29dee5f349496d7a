//! History that moves into files from a PostgreSQL beside others: who is waited for, who is refused,
//! and what an end in between leaves.

use onrush_core::change::{SaleChange, SetupChange};
use onrush_core::ids::EventId;
use onrush_core::settings::Settings;
use onrush_core::spec::Reason;
use onrush_core::{Change, Time};
use onrush_ledger::postgres::{Hold, PgLedger, PgOptions, RowToArchive};
use onrush_server::cluster::history::{move_into_files, open_files};
use onrush_server::moved::{Moved, Waiting};
use onrush_store::archive_file::{ArchiveStep, FileReader};
use onrush_testkit::{Postgres, Shared, need};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

static SERVER: Shared<Postgres> = Shared::new();
/// Decisions of each event.
const DECISIONS: u64 = 2_500;

fn id(text: &str) -> EventId {
    text.parse().expect("an id")
}

/// A ledger to move history out of.
pub(crate) struct Archive {
    ledger: Arc<PgLedger>,
    url: String,
    scratch: tempfile::TempDir,
    // Stopped last.
    server: Arc<Postgres>,
}

impl Archive {
    /// One in which nothing was decided yet, and whose ledger has followed whatever will be.
    pub(crate) async fn empty(server: Arc<Postgres>) -> Self {
        let url = server.database().expect("a database");
        let ledger = PgLedger::open(&url, PgOptions::default()).await.expect("opened");
        let scratch = tempfile::tempdir().expect("a directory");
        let archive = Self { ledger: Arc::new(ledger), url, scratch, server };
        archive.sql("UPDATE feed_cursor SET seq = 1000000000");
        archive
    }

    /// One with two events that are archived, `gala` and `fair`, and one on sale, `next`.
    async fn new() -> Option<Self> {
        let archive = Self::empty(need(SERVER.get(Postgres::start))?).await;
        for event in ["gala", "fair", "next"] {
            archive.append(event, &[(1, created())]).await;
        }
        for seqs in [2..=1_200, 1_201..=DECISIONS - 1] {
            for event in ["gala", "fair", "next"] {
                let body = |seq| format!(r#"[{{"hold_forgotten":{{"booking":"{event}.{seq}"}}}}]"#);
                let rows: Vec<_> = seqs.clone().map(|seq| (seq, body(seq))).collect();
                archive.append(event, &rows).await;
            }
        }
        for event in ["gala", "fair"] {
            archive.append(event, &[(DECISIONS, archived())]).await;
        }
        Some(archive)
    }

    pub(crate) async fn append(&self, event: &str, rows: &[(u64, String)]) {
        let row = |(seq, changes): &(u64, String)| RowToArchive {
            seq: *seq,
            at: Time(1_000 + seq.cast_signed()),
            changes: changes.clone(),
            mark: Some(*seq),
        };
        let rows = rows.iter().map(row).collect();
        self.ledger.append(id(event), 0, None, rows).await.expect("archived");
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        self.server.sql(&self.url, sql).expect("it answers")
    }

    /// How many rows each event has.
    fn rows(&self) -> String {
        self.sql("SELECT event, count(*) FROM feed GROUP BY event ORDER BY event")
    }

    fn dir(&self) -> PathBuf {
        self.scratch.path().join("archive")
    }

    fn file(&self, event: &str) -> PathBuf {
        self.dir().join(format!("{event}.jsonl.gz"))
    }

    async fn moved_for(&self, publishers: &[&str]) -> Result<Moved, String> {
        let publishers: Vec<_> = publishers.iter().map(|name| (*name).to_owned()).collect();
        move_into_files(&self.ledger, &publishers, &self.dir(), &mut |_| {}).await
    }

    async fn moved_while(&self, mut on: impl FnMut(ArchiveStep) + Send) -> Result<Moved, String> {
        move_into_files(&self.ledger, &[], &self.dir(), &mut on).await
    }

    pub(crate) async fn moved(&self) -> Result<Moved, String> {
        self.moved_for(&[]).await
    }

    /// How many files there are that are as the archive remembers them; nothing else may be there.
    async fn whole_files(&self) -> usize {
        let mut found = Vec::new();
        let files = open_files(&self.ledger, &self.dir(), &mut found).await.expect("read");
        assert_eq!(found, Vec::<String>::new());
        files.count()
    }
}

fn created() -> String {
    let settings = Box::new(Settings::new("Gala", "EUR".parse().expect("a currency")));
    serde_json::to_string(&[Change::Setup(SetupChange::EventCreated { settings })]).expect("JSON")
}

fn archived() -> String {
    let reason = Reason { by: "office".into(), why: "it is over".into() };
    serde_json::to_string(&[Change::Sale(SaleChange::EventArchived { reason })]).expect("JSON")
}

fn names(moved: &Moved) -> Vec<&str> {
    moved.archived.iter().map(|archived| archived.event.as_str()).collect()
}

fn files_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

const ALL: &str = "fair|2500\ngala|2500\nnext|2499";
const BOTH_GONE: &str = "fair|2\ngala|2\nnext|2499";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_archived_events_go_into_files_and_the_others_stay() {
    let Some(archive) = Archive::new().await else { return };
    let moved = archive.moved().await.expect("moved");
    assert_eq!(names(&moved), ["gala", "fair"]);
    assert!(moved.archived.iter().all(|archived| archived.decisions == DECISIONS), "{moved:?}");
    assert_eq!((archive.rows().as_str(), archive.whole_files().await), (BOTH_GONE, 2));
    assert_eq!(files_in(&archive.dir()), ["fair.jsonl.gz", "gala.jsonl.gz"]);
    // What only the archive knew of a decision is in the file as well.
    let mut file = FileReader::open(&archive.file("gala")).expect("a file");
    let own = r#""own":{"seq":1,"epoch":0,"mark":"0000000000000001"}"#;
    let first = format!("{{\"seq\":1,\"at\":1001,{own},\"changes\":{}}}\n", created());
    assert_eq!(file.next_line(), Ok(Some(first.as_str())));
    let again = archive.moved().await.expect("nothing is to be done");
    assert_eq!((names(&again).len(), again.before, again.waiting.len()), (0, 2, 0));
    // What is decided from now on is numbered on.
    archive.append("next", &[(DECISIONS, archived())]).await;
    assert_eq!(names(&archive.moved().await.expect("moved")), ["next"]);
    assert_eq!(archive.whole_files().await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_has_not_read_an_event_to_its_end_keeps_it() {
    let Some(archive) = Archive::new().await else { return };
    let end = |event: &str| -> u64 {
        let sql = format!("SELECT max(number) FROM feed WHERE event = '{event}'");
        archive.sql(&sql).parse().expect("a number")
    };
    let (of_gala, of_fair) = (end("gala"), end("fair"));
    assert!(of_gala < of_fair);
    let waits = |event: &str, reader: &str, reached, last| {
        let (event, reader) = (id(event), reader.to_owned());
        let is_ledger = reader == "ledger";
        Waiting { event, reader, is_ledger, reached, last }
    };
    // One that is to publish and never said how far it is has read nothing.
    let moved = archive.moved_for(&["kafka"]).await.expect("nothing goes");
    let both = [waits("gala", "kafka", 0, of_gala), waits("fair", "kafka", 0, of_fair)];
    assert_eq!((moved.waiting.as_slice(), names(&moved).len()), (both.as_slice(), 0));
    // Nor does it count that it is in these settings no more.
    archive.sql(&format!("INSERT INTO cursors VALUES ('kafka', 1, {})", of_gala - 1));
    let moved = archive.moved().await.expect("nothing goes");
    assert_eq!(moved.waiting[0], waits("gala", "kafka", of_gala - 1, of_gala));
    archive.sql(&format!("UPDATE cursors SET value = {of_fair}"));
    archive.sql(&format!("UPDATE feed_cursor SET seq = {}", of_gala - 1));
    let moved = archive.moved_for(&["kafka"]).await.expect("nothing goes");
    assert_eq!(moved.waiting[0], waits("gala", "ledger", of_gala - 1, of_gala));
    assert_eq!((archive.rows().as_str(), files_in(&archive.dir()).len()), (ALL, 0));
    // Each goes as soon as all have read it.
    archive.sql(&format!("UPDATE feed_cursor SET seq = {of_gala}"));
    let moved = archive.moved_for(&["kafka"]).await.expect("moved");
    assert_eq!(names(&moved), ["gala"]);
    assert_eq!(moved.waiting, [waits("fair", "ledger", of_gala, of_fair)]);
    archive.sql(&format!("UPDATE feed_cursor SET seq = {of_fair}"));
    assert_eq!(names(&archive.moved_for(&["kafka"]).await.expect("moved")), ["fair"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_at_any_step_leaves_each_event_whole_and_the_next_time_finishes_it() {
    let steps = [
        (ArchiveStep::Drafted(id("gala")), ALL, 0),
        (ArchiveStep::Written(id("gala")), ALL, 0),
        (ArchiveStep::Removing(id("gala")), ALL, 0),
        (ArchiveStep::Removed(id("gala")), "fair|2500\ngala|2\nnext|2499", 1),
        (ArchiveStep::Drafted(id("fair")), "fair|2500\ngala|2\nnext|2499", 1),
        (ArchiveStep::Removing(id("fair")), "fair|2500\ngala|2\nnext|2499", 1),
        (ArchiveStep::Removed(id("fair")), BOTH_GONE, 2),
        (ArchiveStep::Shrunk, BOTH_GONE, 2),
    ];
    for (last, rows, files) in steps {
        let Some(archive) = Archive::new().await else { return };
        let (ledger, dir) = (archive.ledger.clone(), archive.dir());
        let told = last.clone();
        let ended = tokio::spawn(async move {
            move_into_files(&ledger, &[], &dir, &mut |step| assert_ne!(step, told, "it ends here"))
                .await
        });
        assert!(ended.await.expect_err("it ended").is_panic(), "{last:?}");
        // PostgreSQL takes a moment to see that the connection is gone.
        let moved = loop {
            match archive.moved().await {
                Err(why) if why.contains("is at it") => tokio::task::yield_now().await,
                moved => {
                    assert_eq!(moved.as_ref().map(|moved| moved.before), Ok(files), "{last:?}");
                    break moved.expect("it finishes");
                }
            }
        };
        let gone = rows.matches("|2\n").count();
        assert_eq!((moved.archived.len(), gone), (2 - files, files), "{last:?}");
        assert_eq!((archive.rows().as_str(), archive.whole_files().await), (BOTH_GONE, 2));
        assert_eq!(files_in(&archive.dir()), ["fair.jsonl.gz", "gala.jsonl.gz"], "{last:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_moves_while_another_is_at_it_or_an_audit_reads() {
    let Some(archive) = Archive::new().await else { return };
    for why in [Hold::Moving, Hold::Reading] {
        let held = archive.ledger.hold_history(why).await.expect("asked").expect("it is free");
        let refused = archive.moved().await.expect_err("somebody holds it");
        assert!(refused.contains("another `onrush archive` is at it, or an audit"), "{refused}");
        assert_eq!(archive.rows(), ALL);
        held.end().await;
    }
    assert_eq!(names(&archive.moved().await.expect("moved")), ["gala", "fair"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_whole_or_is_somebodys_ends_it_before_anything_leaves_the_archive() {
    let Some(archive) = Archive::new().await else { return };
    // Somebody's file is not replaced.
    fs::create_dir(archive.dir()).expect("made");
    fs::write(archive.file("gala"), "notes").expect("written");
    let refused = archive.moved().await.expect_err("it is somebody's");
    assert!(refused.contains("gala.jsonl.gz") && refused.contains("move it away"), "{refused}");
    assert_eq!(fs::read(archive.file("gala")).expect("there"), b"notes");
    fs::remove_file(archive.file("gala")).expect("removed");
    // A file that reads back otherwise.
    let draft = archive.dir().join("gala.jsonl.gz.new");
    let spoiling = archive.moved_while(|step| {
        assert_eq!(step, ArchiveStep::Drafted(id("gala")));
        fs::write(&draft, "").expect("written");
    });
    let refused = spoiling.await.expect_err("it is not what was written");
    assert!(refused.contains("gala.jsonl.gz"), "{refused}");
    assert!(!archive.file("gala").exists());
    assert_eq!(archive.rows(), ALL);
    // A decision that is missing, in the middle or at its beginning.
    for seq in [1_200, 1] {
        archive.sql(&format!("UPDATE feed SET lost = TRUE WHERE event = 'gala' AND seq = {seq}"));
        let refused = archive.moved().await.expect_err("one is missing");
        assert!(refused.contains(&format!("no decision {seq}; run")), "{refused}");
        assert_eq!(archive.rows(), ALL);
        archive.sql("UPDATE feed SET lost = FALSE");
    }
    // A row that changes between the file and its removal.
    let changing = archive.moved_while(|step| {
        if step == ArchiveStep::Written(id("gala")) {
            archive.sql("DELETE FROM feed WHERE event = 'gala' AND seq = 7");
        }
    });
    let refused = changing.await.expect_err("one went");
    assert!(refused.contains("the archive has changed since it was read"), "{refused}");
    assert_eq!(archive.sql("SELECT count(*) FROM feed WHERE event = 'gala'"), "2499");
}

//! Files that all nodes have alike, and the organiser's inventory.

use super::books::{Books, open};
use crate::rows::event;
use onrush_ledger::postgres::InventoryRow;

#[tokio::test]
async fn file_that_is_kept_twice_is_the_first() {
    let Some(books) = Books::new().await else { return };
    let other = open(&books.url).await;
    let pg = books.pg();
    assert_eq!(pg.file_content("key".into()).await, Ok(None));
    assert_eq!(pg.keep_file("key".into(), vec![0, 1]).await, Ok(vec![0, 1]));
    assert_eq!(other.keep_file("key".into(), vec![2]).await, Ok(vec![0, 1]));
    assert_eq!(other.file_content("key".into()).await, Ok(Some(vec![0, 1])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_keep_a_file_at_once_have_the_same() {
    let Some(books) = Books::new().await else { return };
    let other = open(&books.url).await;
    let pending: Vec<_> = (0..20)
        .map(|n| {
            let node = if n % 2 == 0 { books.pg() } else { &other };
            tokio::spawn(node.keep_file("key".into(), vec![n]))
        })
        .collect();
    let mut kept = Vec::new();
    for bytes in pending {
        kept.push(bytes.await.expect("no panic").expect("kept"));
    }
    kept.dedup();
    assert_eq!(kept.len(), 1, "{kept:?}");
}

#[tokio::test]
async fn file_is_replaced_only_by_who_knows_what_it_was() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    let replace = |before: Option<&[u8]>, bytes: &[u8]| {
        pg.replace_file("map".into(), before.map(<[u8]>::to_vec), bytes.to_vec())
    };
    assert_eq!(replace(Some(b"a"), b"b").await, Ok(false));
    assert_eq!(replace(None, b"a").await, Ok(true));
    assert_eq!(replace(None, b"b").await, Ok(false));
    assert_eq!(replace(Some(b"a"), b"b").await, Ok(true));
    assert_eq!(replace(Some(b"a"), b"c").await, Ok(false));
    assert_eq!(pg.file_content("map".into()).await, Ok(Some(b"b".to_vec())));
}

#[tokio::test]
async fn files_are_listed_by_the_beginning_of_their_names() {
    let Some(books) = Books::new().await else { return };
    let pg = books.pg();
    for name in ["maps/b", "maps/a", "mapsicle", "keys/a", "maps%"] {
        pg.keep_file(name.into(), name.into()).await.expect("kept");
    }
    let names = async |prefix: &str| {
        let files = pg.files(prefix.into()).await.expect("read");
        assert!(files.iter().all(|(name, content)| name.as_bytes() == content));
        files.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names("maps/").await, ["maps/a", "maps/b"]);
    assert_eq!(names("maps%").await, ["maps%"]);
    assert_eq!(names("none").await, [""; 0]);
    assert_eq!(names("").await.len(), 5);
    let gone = ["maps/a", "maps%", "none"].map(str::to_owned).to_vec();
    assert_eq!(pg.forget_files(gone).await, Ok(()));
    assert_eq!(names("").await, ["keys/a", "maps/b", "mapsicle"]);
}

#[tokio::test]
async fn inventory_is_read_as_the_organiser_wrote_it() {
    let Some(books) = Books::new().await else { return };
    assert_eq!(books.pg().inventory(None).await, Ok(vec![]));
    books.sql(
        "INSERT INTO inventory (event_id, pool_id, capacity, price_minor) \
         VALUES ('gala', 'vip', 20, 9900), ('gala', 'ga', 500, 0), ('fair', 'day', 7, 100)",
    );
    let row = |of: &str, pool: &str, capacity, price_minor| InventoryRow {
        event: event(of),
        pool: pool.parse().expect("an id"),
        capacity,
        price_minor,
    };
    let (day, ga, vip) =
        (row("fair", "day", 7, 100), row("gala", "ga", 500, 0), row("gala", "vip", 20, 9_900));
    assert_eq!(books.pg().inventory(None).await, Ok(vec![day, ga.clone(), vip.clone()]));
    assert_eq!(books.pg().inventory(Some(event("gala"))).await, Ok(vec![ga, vip]));
    assert_eq!(books.pg().inventory(Some(event("none"))).await, Ok(vec![]));
}

use super::books::Books;
use crate::rows::{message, page, saga, to};
use onrush_core::Time;
use onrush_ledger::backlog::{Backlog, WaitingDeliveries};
use onrush_ledger::delivery::{Delivered, Message, REPLAYED_AT_ONCE};
use onrush_ledger::projection::Projection;
use onrush_ledger::saga::{Saga, Transition};

const SHOP: &str = "webhook:shop/1";

async fn tell(books: &Books, cursor: u64, messages: Vec<Message>) {
    let page = Projection { messages, ..page(cursor, vec![]) };
    books.project(page).await.expect("written");
}

async fn due(books: &Books, channel: &str, at: i64) -> Vec<(String, u32, Time)> {
    let deliveries = books.deliveries(channel, Time(at), 99).await.expect("read");
    let short = |delivery: onrush_ledger::delivery::Delivery| {
        (delivery.message.id, delivery.attempts, delivery.since)
    };
    deliveries.into_iter().map(short).collect()
}

async fn outcome(books: &Books, channel: &str, message: &str, outcome: Delivered) {
    books.delivered(channel, vec![(message.into(), outcome)]).await.expect("written");
}

fn again(at: i64) -> Delivered {
    Delivered::Again { at: Time(at), error: "timed out".into() }
}

fn dead(at: i64) -> Delivered {
    Delivered::Dead { at: Time(at), error: "gone".into() }
}

#[tokio::test]
async fn message_is_due_at_once_over_each_of_its_channels() {
    let Some(mut books) = Books::new().await else { return };
    assert_eq!(books.next_delivery("mail").await, Ok(None));
    tell(&books, 1, vec![message("b", 7, &["mail", SHOP]), message("a", 8, &["mail"])]).await;
    books.reopen().await;
    assert_eq!(due(&books, "mail", 6).await, []);
    let (a, b) = (("a".to_owned(), 0, Time(8)), ("b".to_owned(), 0, Time(7)));
    assert_eq!(due(&books, "mail", 7).await, std::slice::from_ref(&b));
    assert_eq!(due(&books, "mail", 8).await, [b.clone(), a]);
    assert_eq!(due(&books, SHOP, 8).await, [b]);
    assert_eq!(due(&books, "webhook:shop", 8).await, []);
    assert_eq!(books.next_delivery("mail").await, Ok(Some(Time(7))));
    assert_eq!(books.deliveries("mail", Time(8), 1).await.expect("read").len(), 1);
    let told = books.deliveries(SHOP, Time(8), 1).await.expect("read").remove(0).message;
    assert_eq!(told, message("b", 7, &[]));
}

#[tokio::test]
async fn message_whose_id_is_known_is_dropped_whole() {
    let Some(books) = Books::new().await else { return };
    tell(&books, 1, vec![message("a", 7, &["mail"])]).await;
    outcome(&books, "mail", "a", Delivered::Done).await;
    tell(&books, 2, vec![message("a", 8, &["mail", SHOP])]).await;
    let advance =
        Transition { messages: vec![message("a", 9, &["mail", SHOP])], ..to(saga("gala.1", 5)) };
    books.advance(advance).await.expect("written");
    assert_eq!(due(&books, "mail", 99).await, []);
    assert_eq!(due(&books, SHOP, 99).await, []);
}

#[tokio::test]
async fn message_that_is_told_by_itself_is_due_once() {
    let Some(mut books) = Books::new().await else { return };
    books.tell(message("a", 7, &["mail"])).await.expect("written");
    books.reopen().await;
    assert_eq!(due(&books, "mail", 6).await, []);
    assert_eq!(due(&books, "mail", 7).await, [("a".to_owned(), 0, Time(7))]);
    outcome(&books, "mail", "a", Delivered::Done).await;
    books.tell(message("a", 8, &["mail", SHOP])).await.expect("dropped");
    assert_eq!(due(&books, "mail", 99).await, []);
    assert_eq!(due(&books, SHOP, 99).await, []);
}

#[tokio::test]
async fn delivery_is_tried_until_it_is_done() {
    let Some(books) = Books::new().await else { return };
    tell(&books, 1, vec![message("a", 7, &["mail", SHOP])]).await;
    outcome(&books, "mail", "a", again(20)).await;
    assert_eq!(due(&books, "mail", 19).await, []);
    assert_eq!(due(&books, "mail", 20).await, [("a".to_owned(), 1, Time(7))]);
    assert_eq!(books.next_delivery("mail").await, Ok(Some(Time(20))));
    outcome(&books, "mail", "a", Delivered::Done).await;
    assert_eq!(due(&books, "mail", 99).await, []);
    assert_eq!(books.next_delivery("mail").await, Ok(None));
    assert_eq!(due(&books, SHOP, 99).await.len(), 1);
    // What is told of a delivery that is over, or never was, is of no effect.
    outcome(&books, "mail", "a", again(30)).await;
    outcome(&books, "mail", "z", again(30)).await;
    assert_eq!(due(&books, "mail", 99).await, []);
}

#[tokio::test]
async fn delivery_that_waits_for_something_else_was_not_tried() {
    let Some(books) = Books::new().await else { return };
    tell(&books, 1, vec![message("a", 7, &["mail"])]).await;
    let waits = |at| Delivered::Waits { at: Time(at), error: "not known yet".into() };
    outcome(&books, "mail", "a", waits(20)).await;
    assert_eq!(due(&books, "mail", 19).await, []);
    assert_eq!(due(&books, "mail", 20).await, [("a".to_owned(), 0, Time(7))]);
    outcome(&books, "mail", "a", again(30)).await;
    outcome(&books, "mail", "a", waits(40)).await;
    assert_eq!(due(&books, "mail", 40).await, [("a".to_owned(), 1, Time(7))]);
}

#[tokio::test]
async fn outcomes_of_many_deliveries_are_written_together() {
    let Some(books) = Books::new().await else { return };
    tell(&books, 1, ["a", "b", "c"].map(|id| message(id, 7, &["mail"])).into()).await;
    let outcomes =
        vec![("a".into(), Delivered::Done), ("b".into(), again(20)), ("c".into(), dead(8))];
    books.delivered("mail", outcomes).await.expect("written");
    assert_eq!(due(&books, "mail", 99).await, [("b".to_owned(), 1, Time(7))]);
}

#[tokio::test]
async fn delivery_that_was_given_up_is_listed_and_not_due() {
    let Some(books) = Books::new().await else { return };
    let messages = vec![
        message("a", 7, &["mail", SHOP]),
        message("b/3", 7, &["mail"]),
        message("c", 7, &["mail"]),
    ];
    tell(&books, 1, messages).await;
    outcome(&books, "mail", "a", again(9)).await;
    for (channel, id, at) in [("mail", "a", 20), (SHOP, "a", 20), ("mail", "b/3", 30)] {
        outcome(&books, channel, id, dead(at)).await;
    }
    assert_eq!(due(&books, "mail", 99).await, [("c".to_owned(), 0, Time(7))]);

    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = books.dead_letters(None, after, 1).await.expect("read");
        assert_eq!(page.rows.len(), 1);
        all.extend(page.rows);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let short: Vec<_> = all
        .iter()
        .map(|dead| {
            (dead.message.id.as_str(), dead.channel.as_str(), dead.attempts, dead.died_at.0)
        })
        .collect();
    assert_eq!(short, [("b/3", "mail", 1, 30), ("a", SHOP, 1, 20), ("a", "mail", 2, 20)]);
    assert_eq!(all[0].error, "gone");
    assert_eq!(all[1].message, message("a", 7, &[]));

    let of_shop = books.dead_letters(Some(SHOP.into()), None, 9).await.expect("read");
    assert_eq!((of_shop.rows.len(), of_shop.next), (1, None));
    for odd in ["", "x", "30/", "30/9/b", "30/x/b", "30/1/é"] {
        let page = books.dead_letters(None, Some(odd.into()), 9).await.expect("read");
        assert_eq!((page.rows.len(), page.next), (0, None), "{odd}");
    }
}

#[tokio::test]
async fn replayed_delivery_begins_anew() {
    let Some(books) = Books::new().await else { return };
    let messages = ["a", "b", "c"].map(|id| message(id, 7, &["mail", SHOP]));
    tell(&books, 1, messages.into()).await;
    for id in ["a", "b"] {
        outcome(&books, "mail", id, dead(20)).await;
        outcome(&books, SHOP, id, dead(20)).await;
    }
    assert_eq!(books.replay("mail", Some("a".into()), Time(50)).await, Ok(1));
    assert_eq!(books.replay("mail", Some("a".into()), Time(50)).await, Ok(0));
    assert_eq!(books.replay("mail", Some("c".into()), Time(50)).await, Ok(0));
    let (a, c) = (("a".to_owned(), 0, Time(50)), ("c".to_owned(), 0, Time(7)));
    assert_eq!(due(&books, "mail", 50).await, [c.clone(), a]);
    assert_eq!(due(&books, SHOP, 50).await, [c]);
    assert_eq!(books.replay(SHOP, None, Time(60)).await, Ok(2));
    assert_eq!(due(&books, SHOP, 60).await.len(), 3);
    let dead = books.dead_letters(None, None, 9).await.expect("read").rows;
    assert_eq!(dead.len(), 1);
    assert_eq!((dead[0].message.id.as_str(), dead[0].channel.as_str()), ("b", "mail"));
}

#[tokio::test]
async fn all_that_a_channel_gave_up_begins_anew_however_much_that_is() {
    let Some(books) = Books::new().await else { return };
    let ids: Vec<String> = (0..=2 * REPLAYED_AT_ONCE).map(|n| format!("m{n}")).collect();
    tell(&books, 1, ids.iter().map(|id| message(id, 7, &["mail", SHOP])).collect()).await;
    for channel in ["mail", SHOP] {
        let given_up = (20..).zip(&ids).map(|(at, id)| (id.clone(), dead(at))).collect();
        books.delivered(channel, given_up).await.expect("written");
    }
    let count = ids.len() as u64;
    assert_eq!(books.replay("mail", None, Time(9_000)).await, Ok(count));
    assert_eq!(books.replay("mail", None, Time(9_001)).await, Ok(0));
    let due = books.deliveries("mail", Time(9_000), 9_999).await.expect("read");
    assert!(due.iter().all(|due| (due.attempts, due.since) == (0, Time(9_000))));
    assert_eq!(due.len() as u64, count);
    let left = books.dead_letters(None, None, 9_999).await.expect("read").rows;
    assert!(left.iter().all(|dead| dead.channel == SHOP));
    assert_eq!(left.len() as u64, count);
}

#[tokio::test]
async fn backlog_counts_what_waits_and_what_was_given_up() {
    let Some(books) = Books::new().await else { return };
    assert_eq!(books.backlog().await, Ok(Backlog::default()));
    tell(&books, 1, vec![message("a", 7, &["mail", SHOP]), message("b", 8, &["mail"])]).await;
    tell(&books, 2, vec![message("c", 9, &[SHOP]), message("d", 9, &["mail"])]).await;
    outcome(&books, SHOP, "a", dead(10)).await;
    outcome(&books, "mail", "a", again(20)).await;
    outcome(&books, "mail", "d", Delivered::Done).await;
    let stuck = Saga { stuck: Some("another amount".into()), ..saga("gala.1", 5) };
    let open = Saga { next_at: Some(Time(40)), ..saga("gala.2", 5) };
    let over = Saga { next_at: None, ..saga("gala.3", 5) };
    for saga in [stuck, open, over] {
        books.advance(to(saga)).await.expect("written");
    }
    let waiting = |channel: &str, count, next_at, since| WaitingDeliveries {
        channel: channel.into(),
        count,
        next_at: Time(next_at),
        since: Time(since),
    };
    let expected = Backlog {
        // What was tried in vain is still the oldest, although another one comes first.
        waiting: vec![waiting("mail", 2, 8, 7), waiting(SHOP, 1, 9, 9)],
        dead: vec![(SHOP.into(), 1)],
        stuck_sagas: 1,
        open_sagas: 1,
        next_saga_at: Some(Time(40)),
    };
    assert_eq!(books.backlog().await, Ok(expected));
    // What begins anew is as old as its replay.
    assert_eq!(books.replay(SHOP, None, Time(60)).await, Ok(1));
    outcome(&books, SHOP, "c", Delivered::Done).await;
    let waits = books.backlog().await.expect("read").waiting;
    assert_eq!(waits, [waiting("mail", 2, 8, 7), waiting(SHOP, 1, 60, 60)]);
}

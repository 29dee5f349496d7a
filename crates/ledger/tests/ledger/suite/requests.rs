use super::books::Books;
use onrush_core::Time;
use onrush_ledger::request::{Begun, KEPT_MS, RequestKey, StoredAnswer};

const THIS_RUN: u64 = u64::MAX - 1;
const NEXT_RUN: u64 = 7;
const BODY: [u8; 32] = [1; 32];
const OTHER_BODY: [u8; 32] = [2; 32];

fn key(key: &str) -> RequestKey {
    RequestKey { scope: "ann pays gala.1".into(), key: key.into() }
}

fn answer(body: &str) -> StoredAnswer {
    StoredAnswer { status: 201, content_type: "application/json".into(), body: body.into() }
}

async fn begin(books: &Books, body: [u8; 32], owner: u64, at: i64) -> Begun {
    books.begin(key("k"), body, owner, Time(at)).await.expect("an answer")
}

#[tokio::test]
async fn request_begins_once_and_is_answered_alike_for_a_day() {
    let Some(mut books) = Books::new().await else { return };
    assert_eq!(begin(&books, BODY, THIS_RUN, 5).await, Begun::Fresh);
    assert_eq!(begin(&books, BODY, THIS_RUN, 6).await, Begun::InProgress);
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    let first = Begun::Answered(answer("first"));
    assert_eq!(begin(&books, BODY, THIS_RUN, 7).await, first);
    books.reopen().await;
    assert_eq!(begin(&books, BODY, NEXT_RUN, 4 + KEPT_MS).await, first);
    assert_eq!(begin(&books, BODY, NEXT_RUN, 5 + KEPT_MS).await, Begun::Fresh);
    assert_eq!(begin(&books, BODY, NEXT_RUN, 5 + KEPT_MS).await, Begun::InProgress);
}

#[tokio::test]
async fn same_key_with_another_body_is_told_apart_at_any_time() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 5).await;
    assert_eq!(begin(&books, OTHER_BODY, THIS_RUN, 6).await, Begun::OtherBody);
    // What the other run did of it before it ended is not known.
    assert_eq!(begin(&books, OTHER_BODY, NEXT_RUN, 6).await, Begun::OtherBody);
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    assert_eq!(begin(&books, OTHER_BODY, THIS_RUN, 7).await, Begun::OtherBody);
    assert_eq!(begin(&books, OTHER_BODY, THIS_RUN, 5 + KEPT_MS).await, Begun::Fresh);
}

#[tokio::test]
async fn request_that_another_run_left_unfinished_begins_anew() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 5).await;
    assert_eq!(begin(&books, BODY, NEXT_RUN, 6).await, Begun::Fresh);
    assert_eq!(begin(&books, BODY, NEXT_RUN, 7).await, Begun::InProgress);
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    assert_eq!(begin(&books, BODY, THIS_RUN, 8).await, Begun::Answered(answer("first")));
}

#[tokio::test]
async fn request_without_an_answer_to_keep_may_begin_again() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 5).await;
    books.finish(key("k"), None).await.expect("forgotten");
    assert_eq!(begin(&books, OTHER_BODY, THIS_RUN, 6).await, Begun::Fresh);
}

#[tokio::test]
async fn first_answer_stays() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 5).await;
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    books.finish(key("k"), Some(answer("second"))).await.expect("taken");
    books.finish(key("k"), None).await.expect("taken");
    assert_eq!(begin(&books, BODY, THIS_RUN, 6).await, Begun::Answered(answer("first")));
}

#[tokio::test]
async fn same_key_in_another_scope_is_another_request() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 5).await;
    let elsewhere = RequestKey { scope: "bo pays gala.2".into(), ..key("k") };
    let begun = books.begin(elsewhere, OTHER_BODY, THIS_RUN, Time(6)).await;
    assert_eq!(begun, Ok(Begun::Fresh));
    assert_eq!(begin(&books, BODY, THIS_RUN, 7).await, Begun::InProgress);
}

#[tokio::test]
async fn old_answers_are_forgotten() {
    let Some(books) = Books::new().await else { return };
    for (name, at) in [("old", 5), ("older", 4), ("new", 6)] {
        books.begin(key(name), BODY, THIS_RUN, Time(at)).await.expect("begun");
        books.finish(key(name), Some(answer(name))).await.expect("kept");
    }
    assert_eq!(books.forget_answers(Time(6)).await, Ok(2));
    assert_eq!(books.forget_answers(Time(6)).await, Ok(0));
    let old = books.begin(key("old"), OTHER_BODY, THIS_RUN, Time(7)).await;
    assert_eq!(old, Ok(Begun::Fresh));
    let new = books.begin(key("new"), BODY, THIS_RUN, Time(7)).await;
    assert_eq!(new, Ok(Begun::Answered(answer("new"))));
}

#[tokio::test]
async fn any_number_of_old_answers_is_forgotten_at_once() {
    let Some(books) = Books::new().await else { return };
    let begun: Vec<_> =
        (0..1_500).map(|n| books.begin(key(&format!("k{n}")), BODY, THIS_RUN, Time(n))).collect();
    for begun in begun {
        assert_eq!(begun.await, Ok(Begun::Fresh));
    }
    assert_eq!(books.forget_answers(Time(1_499)).await, Ok(1_499));
    assert_eq!(books.forget_answers(Time(1_500)).await, Ok(1));
}

#[tokio::test]
async fn one_of_many_concurrent_requests_begins() {
    let Some(books) = Books::new().await else { return };
    let pending: Vec<_> =
        (0..100).map(|_| tokio::spawn(books.begin(key("k"), BODY, THIS_RUN, Time(5)))).collect();
    let mut fresh = 0;
    for begun in pending {
        match begun.await.expect("no panic").expect("an answer") {
            Begun::Fresh => fresh += 1,
            other => assert_eq!(other, Begun::InProgress),
        }
    }
    assert_eq!(fresh, 1);
}

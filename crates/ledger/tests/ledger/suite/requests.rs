use super::books::Books;
use onrush_core::Time;
use onrush_ledger::request::{
    Begun, KEPT_MS, KEPT_PER_ASKER, KEPT_PER_SCOPE, RequestKey, StoredAnswer,
};

const THIS_RUN: u64 = u64::MAX - 1;
const NEXT_RUN: u64 = 7;
const BODY: [u8; 32] = [1; 32];
const OTHER_BODY: [u8; 32] = [2; 32];

fn key(key: &str) -> RequestKey {
    RequestKey { scope: "ann pays gala.1".into(), key: key.into(), asker: Some("ann".into()) }
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
    assert_eq!(begin(&books, BODY, NEXT_RUN, 6).await, Begun::Unfinished);
    assert_eq!(begin(&books, BODY, NEXT_RUN, 7).await, Begun::InProgress);
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    assert_eq!(begin(&books, BODY, THIS_RUN, 8).await, Begun::Answered(answer("first")));
}

#[tokio::test]
async fn request_that_is_left_behind_begins_anew_in_any_run() {
    let Some(books) = Books::new().await else { return };
    let leave = async |owner| books.leave_behind(key("k"), owner).await.expect("left");
    for again in [THIS_RUN, NEXT_RUN] {
        begin(&books, BODY, THIS_RUN, 5).await;
        leave(THIS_RUN).await;
        assert_eq!(begin(&books, OTHER_BODY, again, 6).await, Begun::OtherBody);
        assert_eq!(begin(&books, BODY, again, 6).await, Begun::Unfinished);
        assert_eq!(begin(&books, BODY, again, 7).await, Begun::InProgress);
        books.finish(key("k"), None).await.expect("forgotten");
    }
    // What did not begin, did elsewhere, or has an answer, stays as it is.
    leave(THIS_RUN).await;
    assert_eq!(books.known(key("k"), BODY, THIS_RUN, Time(8)).await, Ok(None));
    assert_eq!(begin(&books, BODY, THIS_RUN, 8).await, Begun::Fresh);
    leave(NEXT_RUN).await;
    assert_eq!(begin(&books, BODY, THIS_RUN, 9).await, Begun::InProgress);
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    leave(THIS_RUN).await;
    assert_eq!(begin(&books, BODY, THIS_RUN, 9).await, Begun::Answered(answer("first")));
}

#[tokio::test]
async fn request_that_is_left_behind_while_it_begins_is_so_afterwards() {
    /// As many as one scope may leave behind.
    const MANY: usize = KEPT_PER_SCOPE as usize;
    let Some(books) = Books::new().await else { return };
    let begun: Vec<_> =
        (0..MANY).map(|n| books.begin(key(&format!("k{n}")), BODY, THIS_RUN, Time(5))).collect();
    let left: Vec<_> =
        (0..MANY).map(|n| books.leave_behind(key(&format!("k{n}")), THIS_RUN)).collect();
    for (begun, left) in begun.into_iter().zip(left) {
        assert_eq!((begun.await, left.await), (Ok(Begun::Fresh), Ok(())));
    }
    for n in 0..MANY {
        let begun = books.begin(key(&format!("k{n}")), BODY, THIS_RUN, Time(6)).await;
        assert_eq!(begun, Ok(Begun::Unfinished), "k{n}");
    }
}

#[tokio::test]
async fn request_that_was_left_unfinished_long_ago_is_as_good_as_new() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 5).await;
    assert_eq!(begin(&books, BODY, NEXT_RUN, 5 + KEPT_MS).await, Begun::Fresh);
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

#[tokio::test]
async fn what_is_known_of_a_request_does_not_begin_it() {
    let Some(books) = Books::new().await else { return };
    let known = async |body, at| books.known(key("k"), body, THIS_RUN, Time(at)).await;
    assert_eq!(known(BODY, 5).await, Ok(None));
    begin(&books, BODY, THIS_RUN, 5).await;
    assert_eq!(known(BODY, 6).await, Ok(Some(Begun::InProgress)));
    books.finish(key("k"), Some(answer("first"))).await.expect("kept");
    assert_eq!(known(BODY, 7).await, Ok(Some(Begun::Answered(answer("first")))));
    assert_eq!(known(OTHER_BODY, 7).await, Ok(Some(Begun::OtherBody)));
    assert_eq!(known(BODY, 5 + KEPT_MS).await, Ok(None));
}

/// How many of these requests are answered when they come again.
async fn answered(books: &Books, keys: impl Iterator<Item = RequestKey>) -> Vec<bool> {
    let mut answered = Vec::new();
    for key in keys {
        let known = books.known(key, BODY, THIS_RUN, Time(1_000_000)).await;
        answered.push(matches!(known, Ok(Some(Begun::Answered(_)))));
    }
    answered
}

#[tokio::test]
async fn a_scope_keeps_its_latest_answers_and_what_is_under_way() {
    let Some(books) = Books::new().await else { return };
    begin(&books, BODY, THIS_RUN, 0).await;
    let name = |n: u32| key(&format!("k{n}"));
    let all = KEPT_PER_SCOPE + 5;
    for n in 0..all {
        books.begin(name(n), BODY, THIS_RUN, Time(1 + i64::from(n))).await.expect("begun");
        books.finish(name(n), Some(answer("done"))).await.expect("kept");
    }
    let kept = answered(&books, (0..all).map(name)).await;
    assert_eq!(kept, (0..all).map(|n| n >= 5).collect::<Vec<_>>());
    assert_eq!(begin(&books, BODY, THIS_RUN, 1_000).await, Begun::InProgress);
}

#[tokio::test]
async fn an_asker_keeps_the_latest_answers_of_all_scopes_and_nobody_elses_go() {
    let Some(books) = Books::new().await else { return };
    let of = |asker: &str, n: u32| RequestKey {
        scope: format!("{asker} extends {}", n / 8),
        key: n.to_string(),
        asker: Some(asker.into()),
    };
    let (eager, other) = (|n| of("eager", n), |n| of("other", n));
    let all = KEPT_PER_ASKER + 20;
    for n in 0..3 {
        books.begin(other(n), BODY, THIS_RUN, Time(0)).await.expect("begun");
        books.finish(other(n), Some(answer("done"))).await.expect("kept");
    }
    for n in 0..all {
        books.begin(eager(n), BODY, THIS_RUN, Time(1 + i64::from(n))).await.expect("begun");
        books.finish(eager(n), Some(answer("done"))).await.expect("kept");
    }
    let kept = answered(&books, (0..all).map(eager)).await;
    assert_eq!(kept, (0..all).map(|n| n >= 20).collect::<Vec<_>>());
    assert_eq!(answered(&books, (0..3).map(other)).await, [true; 3]);
}

#[tokio::test]
async fn of_requests_without_an_asker_every_answer_is_kept() {
    let Some(books) = Books::new().await else { return };
    let of = |n: u32| RequestKey { scope: "allot gala".into(), key: n.to_string(), asker: None };
    let all = KEPT_PER_ASKER + 20;
    for n in 0..all {
        books.begin(of(n), BODY, THIS_RUN, Time(1 + i64::from(n))).await.expect("begun");
        books.finish(of(n), Some(answer("done"))).await.expect("kept");
    }
    assert!(answered(&books, (0..all).map(of)).await.iter().all(|is_kept| *is_kept));
}

/// Of these requests, which count as left unfinished. All of them have begun when it is known.
async fn unfinished(books: &Books, keys: impl Iterator<Item = RequestKey>) -> Vec<bool> {
    let mut unfinished = Vec::new();
    for key in keys {
        let begun = books.begin(key, BODY, NEXT_RUN, Time(1_000_000)).await;
        unfinished.push(begun.expect("an answer") == Begun::Unfinished);
    }
    unfinished
}

#[tokio::test]
async fn a_scope_keeps_what_was_left_unfinished_last_beside_its_answers_and_what_is_under_way() {
    let Some(books) = Books::new().await else { return };
    let name = |n: u32| key(&format!("k{n}"));
    let done = |n: u32| key(&format!("done{n}"));
    for n in 0..KEPT_PER_SCOPE {
        books.begin(done(n), BODY, THIS_RUN, Time(0)).await.expect("begun");
        books.finish(done(n), Some(answer("done"))).await.expect("kept");
    }
    begin(&books, BODY, THIS_RUN, 0).await;
    let all = KEPT_PER_SCOPE + 5;
    for n in 0..all {
        books.begin(name(n), BODY, THIS_RUN, Time(1 + i64::from(n))).await.expect("begun");
        // Whoever was in doubt about it does not say who asked.
        let left = RequestKey { asker: key("k").asker.filter(|_| n % 2 == 0), ..name(n) };
        books.leave_behind(left, THIS_RUN).await.expect("left");
    }
    assert_eq!(begin(&books, BODY, THIS_RUN, 1_000).await, Begun::InProgress);
    let are_kept = answered(&books, (0..KEPT_PER_SCOPE).map(done)).await;
    assert!(are_kept.iter().all(|is_kept| *is_kept));
    let kept = unfinished(&books, (0..all).map(name)).await;
    assert_eq!(kept, (0..all).map(|n| n >= 5).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_asker_keeps_what_was_left_unfinished_last_in_all_scopes_and_organisers_keep_all() {
    let Some(books) = Books::new().await else { return };
    let of = |asker: Option<&str>, n: u32| RequestKey {
        scope: format!("{asker:?} extends {}", n / 8),
        key: n.to_string(),
        asker: asker.map(str::to_owned),
    };
    let all = KEPT_PER_ASKER + 20;
    for (asker, count) in [(Some("other"), 3), (Some("eager"), all), (None, all)] {
        for n in 0..count {
            let at = Time(1 + i64::from(n));
            books.begin(of(asker, n), BODY, THIS_RUN, at).await.expect("begun");
            books.leave_behind(of(asker, n), THIS_RUN).await.expect("left");
        }
    }
    let kept = unfinished(&books, (0..all).map(|n| of(Some("eager"), n))).await;
    assert_eq!(kept, (0..all).map(|n| n >= 20).collect::<Vec<_>>());
    assert_eq!(unfinished(&books, (0..3).map(|n| of(Some("other"), n))).await, [true; 3]);
    let organiser = unfinished(&books, (0..all).map(|n| of(None, n))).await;
    assert!(organiser.iter().all(|is_kept| *is_kept));
}

use super::books::Books;
use crate::rows::event;
use onrush_core::Time;
use onrush_ledger::action::{Action, ActionFilter};
use onrush_ledger::session::{BrowserSession, MAX_PER_KEY, SEEN_EVERY_MS, SessionsOf};

const IDLE_MS: i64 = 10 * SEEN_EVERY_MS;

fn action(request: &str, name: Option<&str>, at: i64) -> Action {
    Action {
        request: request.into(),
        at: Time(at),
        name: name.map(str::to_owned),
        address: "203.0.113.9".into(),
        method: "POST".into(),
        path: "/api/v1/admin/events/gala/open".into(),
        event: Some(event("gala")),
        status: 200,
        code: None,
    }
}

async fn requests(books: &Books, filter: ActionFilter) -> Vec<String> {
    let page = books.actions(filter, 99).await.expect("read");
    page.rows.into_iter().map(|action| action.request).collect()
}

#[tokio::test]
async fn what_was_done_is_kept_as_it_was() {
    let Some(mut books) = Books::new().await else { return };
    let done = action("a", Some("ann"), 5);
    let refused = Action {
        event: None,
        status: 401,
        code: Some("TOKEN_INVALID".into()),
        ..action("b", None, 6)
    };
    for action in [&done, &refused, &done] {
        books.note_action(action.clone()).await.expect("written");
    }
    books.reopen().await;
    let page = books.actions(ActionFilter::default(), 9).await.expect("read");
    assert_eq!((page.rows, page.next), (vec![refused, done], None));
}

#[tokio::test]
async fn actions_are_listed_by_name_event_and_page() {
    let Some(books) = Books::new().await else { return };
    for (request, name, at) in [("a", "ann", 1), ("b", "bo", 2), ("c", "ann", 2), ("d", "ann", 3)] {
        books.note_action(action(request, Some(name), at)).await.expect("written");
    }
    let elsewhere = Action { event: Some(event("tour")), ..action("e", Some("bo"), 4) };
    books.note_action(elsewhere).await.expect("written");
    let all = ActionFilter::default;
    assert_eq!(requests(&books, all()).await, ["e", "d", "c", "b", "a"]);
    let of_bo = ActionFilter { name: Some("bo".into()), ..all() };
    assert_eq!(requests(&books, of_bo.clone()).await, ["e", "b"]);
    let of_gala = ActionFilter { event: Some(event("gala")), ..of_bo };
    assert_eq!(requests(&books, of_gala).await, ["b"]);
    let first = books.actions(all(), 2).await.expect("read");
    let second = books.actions(ActionFilter { after: first.next, ..all() }, 2).await.expect("read");
    let ids: Vec<_> = second.rows.iter().map(|action| action.request.as_str()).collect();
    assert_eq!(ids, ["c", "b"]);
    let wrong = ActionFilter { after: Some("no key".into()), ..all() };
    assert_eq!(requests(&books, wrong).await, [""; 0]);
}

#[tokio::test]
async fn old_actions_are_forgotten() {
    let Some(books) = Books::new().await else { return };
    for n in 0..1_200 {
        books.note_action(action(&n.to_string(), None, n)).await.expect("written");
    }
    assert_eq!(books.forget_actions(Time(1_199)).await, Ok(1_199));
    assert_eq!(books.forget_actions(Time(1_199)).await, Ok(0));
    assert_eq!(requests(&books, ActionFilter::default()).await, ["1199"]);
}

fn session(id: &str, name: &str, at: i64) -> BrowserSession {
    BrowserSession {
        id: id.into(),
        name: name.into(),
        address: "203.0.113.9".into(),
        begun_at: Time(at),
        seen_at: Time(at),
        ends_at: Time(at + 3 * IDLE_MS),
    }
}

async fn live(books: &Books, at: i64) -> Vec<String> {
    let live = books.live_sessions(Time(at), IDLE_MS).await.expect("read");
    live.into_iter().map(|session| session.id).collect()
}

#[tokio::test]
async fn a_session_lives_while_it_is_used_and_not_beyond_its_end() {
    let Some(mut books) = Books::new().await else { return };
    let ann = session("a", "ann", 0);
    books.begin_session(ann.clone(), IDLE_MS).await.expect("written");
    books.reopen().await;
    assert_eq!(books.use_session("b", Time(1), IDLE_MS).await, Ok(None));
    assert_eq!(books.use_session("a", Time(IDLE_MS - 1), IDLE_MS).await, Ok(Some(ann)));
    assert_eq!(live(&books, IDLE_MS).await, ["a"]);
    let (mut at, mut step) = (IDLE_MS - 1, IDLE_MS - 1);
    while at + step < 3 * IDLE_MS {
        at += step;
        assert!(books.use_session("a", Time(at), IDLE_MS).await.expect("read").is_some(), "{at}");
        step = IDLE_MS - SEEN_EVERY_MS;
    }
    assert_eq!(books.use_session("a", Time(3 * IDLE_MS), IDLE_MS).await, Ok(None));
    // And one that nobody uses ends before.
    books.begin_session(session("b", "ann", 0), IDLE_MS).await.expect("written");
    assert_eq!(books.use_session("b", Time(IDLE_MS), IDLE_MS).await, Ok(None));
    assert_eq!(live(&books, IDLE_MS).await, ["a"]);
}

#[tokio::test]
async fn sessions_are_ended_one_by_one_by_key_and_all_at_once() {
    let Some(books) = Books::new().await else { return };
    for (id, name, at) in [("a", "ann", 1), ("b", "bo", 2), ("c", "ann", 3), ("d", "cy", 4)] {
        books.begin_session(session(id, name, at), IDLE_MS).await.expect("written");
    }
    assert_eq!(live(&books, 5).await, ["d", "c", "b", "a"]);
    assert_eq!(books.end_sessions(SessionsOf::Id("b".into())).await, Ok(1));
    assert_eq!(books.end_sessions(SessionsOf::Id("b".into())).await, Ok(0));
    assert_eq!(books.end_sessions(SessionsOf::Key("ann".into())).await, Ok(2));
    assert_eq!(live(&books, 5).await, ["d"]);
    assert_eq!(books.use_session("a", Time(5), IDLE_MS).await, Ok(None));
    assert_eq!(books.end_sessions(SessionsOf::Everybody).await, Ok(1));
    assert_eq!(live(&books, 5).await, [""; 0]);
}

#[tokio::test]
async fn sessions_that_are_over_and_those_above_a_keys_share_take_no_room() {
    let Some(books) = Books::new().await else { return };
    books.begin_session(session("old", "ann", 0), IDLE_MS).await.expect("written");
    for n in 0..i64::from(MAX_PER_KEY) + 2 {
        let id = format!("s{n}");
        books.begin_session(session(&id, "ann", IDLE_MS + n), IDLE_MS).await.expect("written");
    }
    let left = live(&books, IDLE_MS + 200).await;
    assert_eq!(left.len(), MAX_PER_KEY as usize);
    assert!(!left.iter().any(|id| ["old", "s0", "s1"].contains(&id.as_str())), "{left:?}");
}

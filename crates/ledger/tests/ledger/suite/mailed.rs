use super::books::Books;
use onrush_core::Time;
use onrush_core::ids::EventId;

const DAY_MS: i64 = 24 * 3_600_000;

fn event(id: &str) -> EventId {
    id.parse().expect("an id")
}

#[tokio::test]
async fn address_gets_one_message_a_day_about_an_event() {
    let Some(mut books) = Books::new().await else { return };
    let (ann, bo, gala) = ([1; 32], [2; 32], event("gala"));
    assert_eq!(books.may_mail(ann, &gala, "m1", Time(1_000)).await, Ok(true));
    // The same message may be tried again, another one not.
    assert_eq!(books.may_mail(ann, &gala, "m1", Time(2_000)).await, Ok(true));
    assert_eq!(books.may_mail(ann, &gala, "m2", Time(2_000)).await, Ok(false));
    assert_eq!(books.may_mail(bo, &gala, "m3", Time(2_000)).await, Ok(true));
    assert_eq!(books.may_mail(ann, &event("fest"), "m4", Time(2_000)).await, Ok(true));
    books.reopen().await;
    assert_eq!(books.may_mail(ann, &gala, "m5", Time(DAY_MS + 999)).await, Ok(false));
    // A day after the first, whatever was turned away meanwhile.
    assert_eq!(books.may_mail(ann, &gala, "m6", Time(DAY_MS + 1_000)).await, Ok(true));
    assert_eq!(books.may_mail(ann, &gala, "m1", Time(DAY_MS + 1_001)).await, Ok(false));
}

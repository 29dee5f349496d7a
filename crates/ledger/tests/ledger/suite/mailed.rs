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

#[tokio::test]
async fn addresses_are_forgotten_in_time_also_if_no_mail_is_sent_any_more() {
    const MANY: u64 = 600;
    let Some(mut books) = Books::new().await else { return };
    for n in 0..MANY {
        let mut address = [0; 32];
        address[..8].copy_from_slice(&n.to_be_bytes());
        assert_eq!(books.may_mail(address, &event("gala"), "m", Time(1_000)).await, Ok(true));
    }
    assert_eq!(books.may_mail([7; 32], &event("gala"), "m", Time(2_000)).await, Ok(true));
    books.reopen().await;
    assert_eq!(books.forget_mailed(Time(999)).await, Ok(0));
    assert_eq!(books.forget_mailed(Time(1_000)).await, Ok(MANY), "more than go at once");
    assert_eq!(books.forget_mailed(Time(1_000)).await, Ok(0));
    // The last one is still there.
    assert_eq!(books.may_mail([7; 32], &event("gala"), "other", Time(2_001)).await, Ok(false));
    assert_eq!(books.forget_mailed(Time(2_000)).await, Ok(1));
}

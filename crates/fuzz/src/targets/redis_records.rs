//! What Redis keeps of an event: on each line a key, a field and a text, with tabs between them.
//! A line `specs` has a seat's category, which Redis does not keep.

use crate::quiet::guarded;
use crate::verdict::{Verdict, assert_sentence};
use onrush_core::Event;
use onrush_core::spec::{Access, SeatSpec};
use onrush_store::redis::SeatSpecs;
use onrush_store::redis::fuzzing::{keys_of, rows};

/// Reads the lines as the rows of a state.
///
/// # Panics
/// If a state that holds together does not come back from what Redis would keep of it.
pub fn target(bytes: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(bytes);
    let fields: Vec<_> = text.lines().filter_map(field).collect();
    let specs: SeatSpecs = fields.iter().filter_map(spec).collect();
    let read = rows(fields.iter().copied(), &specs);
    let state = read.and_then(|rows| {
        guarded(|| Event::restore("e".parse().expect("it is an id"), rows)).and_then(|it| it)
    });
    match &state {
        Ok(event) if event.check().is_ok() => check(event, &specs),
        Ok(_) => {}
        Err(why) => assert_sentence(why),
    }
    Verdict::on(&state)
}

fn field(line: &str) -> Option<(&str, &str, &str)> {
    let mut parts = line.splitn(3, '\t');
    Some((parts.next()?, parts.next()?, parts.next()?))
}

fn spec(
    &(key, seat, category): &(&str, &str, &str),
) -> Option<(onrush_core::ids::SeatId, SeatSpec)> {
    let seat: onrush_core::ids::SeatId = seat.parse().ok().filter(|_| key == "specs")?;
    let none = || Box::<str>::default();
    let category = category.into();
    let spec = SeatSpec {
        seat: seat.clone(),
        section: none(),
        row: none(),
        number: none(),
        category,
        rank: 0,
        aisle: false,
        access: Access::Anyone,
    };
    Some((seat, spec))
}

fn check(event: &Event, specs: &SeatSpecs) {
    let keys = keys_of(event);
    let fields = keys.iter().flat_map(|(key, texts)| {
        texts.iter().map(move |(field, text)| (*key, field.as_str(), text.as_str()))
    });
    let again = rows(fields, specs).expect("what Redis keeps of a state is read");
    assert!(event.snapshot().eq(again), "it is another state");
}

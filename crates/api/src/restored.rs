//! Sales after a start on files that are older than what was sold.

use crate::draw::{Draws, is_left_to_the_organiser};
use onrush_core::ids::EventId;
use onrush_core::question::EventNow;
use onrush_core::settings::Settings;
use onrush_core::view::EventView;
use onrush_core::{Command, Phase, Time};
use onrush_store::{Ask, Engine, Failure};
use std::time::Duration;

/// How often a sale is looked at that should have opened by now, and for how long in between.
const LOOKS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(10);

/// Why a sale is not paused.
#[derive(Debug, thiserror::Error)]
enum NotPaused {
    #[error(transparent)]
    Engine(#[from] Failure),
    #[error("it should have opened by now and does not, so that it cannot be paused")]
    NeverOpens,
}

/// Pauses every sale that is open, or should be by now: units that were sold since are free, until
/// somebody has blocked them. Of draws it names those whose seed may be known. To be called before
/// anybody is served.
///
/// Returns the events that should have opened by now and do not: those are held back.
///
/// # Errors
/// [`Failure`], at the first sale that the engine does not change.
pub async fn pause_open_sales(engine: &dyn Engine, draws: &Draws) -> Result<Vec<EventId>, Failure> {
    let mut held_back = Vec::new();
    for event in engine.events().await?.value {
        match pause(engine, draws, &event).await {
            Ok(()) => {}
            Err(NotPaused::Engine(failure)) => return Err(failure),
            Err(why @ NotPaused::NeverOpens) => {
                hold_back(engine, &event).await?;
                tracing::error!(
                    %event,
                    "{why}, as is said above: it stays closed, and its opens_at is taken away, so that \
                     nobody but the organiser opens it. What was sold since is not known: put back what \
                     is missing, block those units, and then open it"
                );
                held_back.push(event);
            }
        }
    }
    Ok(held_back)
}

/// Leaves the opening of a sale to the organiser. Whatever keeps it closed now, such as a lost seed of
/// its draw, may be put back at any time: then it would open by itself and sell again what was sold.
async fn hold_back(engine: &dyn Engine, event: &EventId) -> Result<(), Failure> {
    let settings = engine.ask(event.clone(), EventNow).await?.value.settings;
    let settings = Box::new(Settings { opens_at: None, ..settings });
    engine.execute(event.clone(), Command::ChangeSettings { settings }).await?;
    // It may have opened in between.
    if engine.ask(event.clone(), EventNow).await?.value.phase == Phase::Open {
        engine.execute(event.clone(), Command::Pause).await?;
    }
    Ok(())
}

async fn pause(engine: &dyn Engine, draws: &Draws, event: &EventId) -> Result<(), NotPaused> {
    for _ in 0..LOOKS {
        let now = engine.ask(event.clone(), EventNow).await?;
        let warn_of_seed = || {
            if seed_may_be_known(now.at, &now.value) {
                tracing::warn!(
                    %event,
                    "its draw may have been revealed: if its sale was opened since, its seed is known, \
                     and whoever joins can choose their lot. Then close its prequeue, or make another \
                     event, before people come"
                );
            }
        };
        let opens_at = now.value.settings.opens_at;
        match now.value.phase {
            Phase::Open => {
                engine.execute(event.clone(), Command::Pause).await?;
                tracing::warn!(%event, "paused: what was sold since is not known");
                return Ok(());
            }
            // Nothing but the organiser opens it, and what they open by hand is not paused either.
            Phase::Scheduled | Phase::Prequeue if is_left_to_the_organiser(&now.value) => {
                warn_of_seed();
                return Ok(());
            }
            // It may have opened and sold since the backup: it opens now, and is paused.
            Phase::Scheduled | Phase::Prequeue if opens_at.is_some_and(|at| at <= now.at) => {
                draws.open_due().await;
                tokio::time::sleep(PAUSE).await;
            }
            Phase::Scheduled | Phase::Prequeue | Phase::Paused | Phase::Closed => {
                warn_of_seed();
                return Ok(());
            }
        }
    }
    Err(NotPaused::NeverOpens)
}

/// Whether people can still take part in a draw that the organiser may have opened since, by hand, so
/// that everybody knows its seed.
///
/// Only they know whether they did. So the list is not fixed here: nobody could open it again, and of
/// a draw that was not opened those who are still to join would have no lot.
fn seed_may_be_known(at: Time, view: &EventView) -> bool {
    let is_ahead = matches!(view.phase, Phase::Scheduled | Phase::Prequeue);
    // At its time the rules fix the list by themselves.
    let is_due = view.settings.opens_at.is_some_and(|opens_at| opens_at <= at);
    let has_open_list = view.draw.as_ref().is_some_and(|draw| draw.entrants_hash.is_none());
    is_ahead && !is_due && has_open_list
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::samples::tests::view;
    use onrush_base::auth::keys::KeyDir;
    use onrush_core::settings::{Digest, Order, RoomSettings};
    use onrush_core::view::DrawView;
    use onrush_store::embedded::{Clock, Embedded, ManualClock, Options};
    use sha2::{Digest as _, Sha256};
    use std::sync::Arc;

    const BEFORE: Time = Time(1_790_000_000_000);

    #[tokio::test(start_paused = true)]
    async fn a_draw_that_lost_its_seed_stays_closed_and_keeps_no_other_sale_from_being_paused() {
        let [files, keys] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let clock = ManualClock::new(BEFORE);
        let options = Options { clock: Clock::Manual(clock.clone()), ..Options::default() };
        let engine = Arc::new(Embedded::open(files.path(), options).unwrap());
        let [lost, open]: [EventId; 2] = ["lost", "open"].map(|event| event.parse().unwrap());
        let seed = [7; 32];
        let order = Order::Draw { seed_hash: Digest(Sha256::digest(seed).into()) };
        let plain = Settings::new("Gala", "EUR".parse().unwrap());
        let drawn = Settings {
            room: Some(RoomSettings { order, ..RoomSettings::default() }),
            opens_at: Some(Time(BEFORE.0 + 1_000)),
            ..plain.clone()
        };
        for (event, command) in [
            (&lost, Command::CreateEvent { settings: Box::new(drawn) }),
            (&lost, Command::OpenPrequeue),
            (&open, Command::CreateEvent { settings: Box::new(plain) }),
            (&open, Command::OpenSale { seed: None, public_value: None }),
        ] {
            engine.execute(event.clone(), command).await.unwrap();
        }
        clock.advance_ms(2_000);
        let keys = KeyDir::open(keys.path()).unwrap();
        let draws = Draws::open(files.path(), engine.clone(), keys.clone(), None).unwrap();

        let held_back = pause_open_sales(&*engine, &draws).await.unwrap();
        assert_eq!(held_back, std::slice::from_ref(&lost));
        let now = async |event: &EventId| engine.ask(event.clone(), EventNow).await.unwrap().value;
        assert_eq!(now(&open).await.phase, Phase::Paused);
        assert_eq!(now(&lost).await.settings.opens_at, None);

        // Put back later, it does not have the sale open by itself.
        keys.store_new("seed-lost", &seed).unwrap();
        draws.open_due().await;
        assert_eq!(now(&lost).await.phase, Phase::Prequeue);
        draws.open_sale(&lost, None).await.unwrap();
        assert_eq!(now(&lost).await.phase, Phase::Open);
    }

    #[test]
    fn a_seed_may_be_known_of_a_draw_that_people_can_still_take_part_in() {
        let mut event = view("show");
        event.phase = Phase::Prequeue;
        assert!(!seed_may_be_known(Time(5), &event), "there is no draw");
        let open = DrawView {
            seed_hash: Digest([1; 32]),
            entrants: None,
            entrants_hash: None,
            list_fixed_at: None,
            seed: None,
            public_value: None,
        };
        event.draw = Some(open.clone());
        for (phase, may_be) in [
            (Phase::Scheduled, true),
            (Phase::Prequeue, true),
            (Phase::Open, false),
            (Phase::Paused, false),
            (Phase::Closed, false),
        ] {
            event.phase = phase;
            assert_eq!(seed_may_be_known(Time(5), &event), may_be, "{phase:?}");
        }
        event.phase = Phase::Prequeue;
        for (opens_at, may_be) in [(6, true), (5, false)] {
            event.settings.opens_at = Some(Time(opens_at));
            assert_eq!(seed_may_be_known(Time(5), &event), may_be, "{opens_at}");
        }
        event.settings.opens_at = None;
        event.draw = Some(DrawView { entrants_hash: Some(Digest([2; 32])), ..open });
        assert!(!seed_may_be_known(Time(5), &event), "the list is fixed");
    }
}

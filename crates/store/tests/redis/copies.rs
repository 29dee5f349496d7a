//! Nodes' own copies of events: what they may tell, to whom, and when they are gone.

use crate::stage;
use crate::world::{NOON, Node, World, event, key, place, settings, until, user};
use onrush_core::ids::UserId;
use onrush_core::question::PlaceOf;
use onrush_core::settings::RoomSettings;
use onrush_core::spec::PoolSpec;
use onrush_core::view::{PlaceState, PlaceView};
use onrush_core::{Command, Refusal};
use onrush_store::{Answer, AsOf, Ask, CopyFigures, Engine, Failure, Seq};

/// A copy as old as that is as good as one that is never looked at again.
const NEVER_MS: u32 = 24 * 3_600_000;
/// One that is looked at all the time.
const SOON_MS: u32 = 40;

/// What somebody was told who was told of nothing that this event has decided.
const LONG_AGO: AsOf = AsOf { epoch: 0, seq: Seq(0) };

/// A node whose copies may be that old.
async fn node(world: &World, age_ms: u32) -> Node {
    world.node_with(|options| options.copy_age_ms = age_ms).await
}

fn figures(node: &Node) -> CopyFigures {
    node.engine.figures().copies.expect("nodes of a cluster have copies")
}

/// Where somebody's first place is, as is told to who knows that much.
async fn look(node: &Node, user: &UserId, as_of: AsOf) -> Result<Answer<PlaceView>, Failure> {
    let question = PlaceOf { user: user.clone(), place: None };
    node.engine.ask_since(event(), question, Some(as_of)).await
}

/// The same, and whether the node's copy told it.
async fn look_here(
    node: &Node,
    user: &UserId,
    as_of: AsOf,
) -> (Result<Answer<PlaceView>, Failure>, bool) {
    let before = figures(node);
    let answer = look(node, user, as_of).await;
    let after = figures(node);
    let is_here = after.answered > before.answered;
    assert!(is_here != (after.passed_on > before.passed_on), "one of them answers");
    (answer, is_here)
}

/// The present state, as Redis tells it.
async fn present(node: &Node, user: &UserId) -> Result<Answer<PlaceView>, Failure> {
    node.engine.ask(event(), PlaceOf { user: user.clone(), place: None }).await
}

fn position(answer: &Answer<PlaceView>) -> Option<u32> {
    match answer.value.state {
        PlaceState::Queued { position, .. } => position,
        PlaceState::Active { .. } | PlaceState::Ended { .. } => None,
    }
}

/// Asks until the copy tells it.
async fn from_copy(node: &Node, user: &UserId, as_of: AsOf) -> Answer<PlaceView> {
    stage::until("an answer from the copy", || async {
        let (answer, is_here) = look_here(node, user, as_of).await;
        answer.ok().filter(|_| is_here)
    })
    .await
}

/// Somebody's place on a node whose copy never hears of anything again, and what it is of.
async fn stale(world: &World, of: &UserId) -> (Node, Answer<PlaceView>) {
    let behind = node(world, NEVER_MS).await;
    let told = from_copy(&behind, of, LONG_AGO).await;
    (behind, told)
}

async fn join(node: &Node, number: usize) {
    node.join(place(number), user(number)).await.expect("there is room");
}

/// A sale in which four wait: nobody is let in.
async fn line(world: &World) -> Node {
    let ahead = world.node().await;
    ahead.prequeue(RoomSettings::default()).await;
    for number in 0..4 {
        join(&ahead, number).await;
    }
    ahead
}

async fn leave(node: &Node, number: usize) {
    node.done(Command::Leave { place: place(number), user: user(number) }).await;
}

/// Numbers that look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// A sale with joins, departures, admissions, holds, signs of life and people who lapse: after
/// each step everybody who waits is told the same from the copy as by Redis, to the last field.
#[tokio::test]
async fn copy_says_what_redis_says_at_the_same_decision() {
    const PEOPLE: usize = 12;
    let Some(world) = World::start() else { return };
    let (asked, copied) = (world.node().await, node(&world, SOON_MS).await);
    let room = RoomSettings { capacity: 2, places_per_user: 2, ..RoomSettings::default() };
    asked.create(settings(room)).await;
    let mut now = NOON;
    world.set_clock(now);
    let spec = PoolSpec { pool: "ga".parse().expect("an id"), capacity: 100, price_minor: 100 };
    asked.done(Command::AddPool { spec }).await;
    asked.done(Command::OpenPrequeue).await;
    let mut chance = Chance(7);
    let (mut told_here, mut dues, mut places) = (0, 0, 0);
    for step in 0..60 {
        if step == 15 {
            asked.open_sale().await;
        }
        let number = chance.below(PEOPLE as u64) as usize;
        let (who, which) = (user(number), present(&asked, &user(number)).await);
        let which = which.map(|answer| answer.value.place);
        let command = match (chance.below(6), which) {
            (0 | 1, _) | (_, Err(_)) => {
                places += 1;
                Command::Join { place: place(1_000 + places), user: who }
            }
            (2, Ok(place)) => Command::Leave { place, user: who },
            (3, Ok(place)) => Command::Arrive { place, user: who },
            (4, Ok(place)) => Command::See { place, user: who },
            (_, Ok(_)) => Command::Tick,
        };
        // The rules may say no to some of it.
        drop(asked.run(command).await);
        now = now.plus_ms(if chance.below(8) == 0 { 400_000 } else { 1_000 });
        world.set_clock(now);
        asked.tick(&world, 4).await;
        for number in 0..PEOPLE {
            let who = user(number);
            match present(&asked, &who).await {
                Ok(by_redis) if position(&by_redis).is_some() => {
                    let as_of = by_redis.as_of.expect("nodes of a cluster say it");
                    // The clock may have moved since the copy was looked at; it is looked at again.
                    until("the same from the copy", || async {
                        from_copy(&copied, &who, as_of).await == by_redis
                    })
                    .await;
                    told_here += 1;
                    if by_redis.value.state.see_due() {
                        dues += 1;
                    }
                }
                by_redis => {
                    let as_of = by_redis.as_ref().map_or(LONG_AGO, |answer| {
                        answer.as_of.expect("nodes of a cluster say it")
                    });
                    // Whose place lapses may be told for as long as a copy is old that it waits.
                    until("the same, and not from the copy", || async {
                        look_here(&copied, &who, as_of).await == (by_redis.clone(), false)
                    })
                    .await;
                }
            }
        }
    }
    assert!(told_here > 100 && dues > 3, "{told_here} answers, {dues} signs of life that are due");
}

#[tokio::test]
async fn who_was_told_more_than_a_copy_knows_is_told_by_redis() {
    let Some(world) = World::start() else { return };
    let ahead = line(&world).await;
    let (behind, old) = stale(&world, &user(3)).await;
    assert_eq!(position(&old), Some(4));

    leave(&ahead, 0).await;
    let told = present(&ahead, &user(3)).await.expect("they wait");
    assert_eq!(position(&told), Some(3));
    let (again, is_here) = look_here(&behind, &user(3), told.as_of.expect("it is said")).await;
    let again = again.expect("they wait");
    assert_eq!((again.as_of, again.value, is_here), (told.as_of, told.value.clone(), false));
    // The copy has not moved; who was told nothing newer may be told by it.
    let (other, is_here) = look_here(&behind, &user(3), old.as_of.expect("it is said")).await;
    assert_eq!((other.expect("they wait"), is_here), (old, true));
    // Who was told nothing at all is told of the present.
    assert_eq!(present(&behind, &user(3)).await.map(|answer| answer.value), Ok(told.value));
}

/// Who passes back what they were told last, to nodes whose copies are of any age, sees themselves
/// come forward only.
#[tokio::test]
async fn position_never_moves_backwards_between_nodes() {
    const PEOPLE: usize = 30;
    let Some(world) = World::start() else { return };
    let ahead = world.node().await;
    ahead.prequeue(RoomSettings::default()).await;
    for number in 0..PEOPLE {
        join(&ahead, number).await;
    }
    let me = user(PEOPLE - 1);
    let mut nodes = vec![node(&world, SOON_MS).await];
    let (mut as_of, mut last, mut chance) = (LONG_AGO, u32::MAX, Chance(3));
    for number in 0..PEOPLE - 1 {
        if number % 10 == 0 {
            // From here on this one is told of nothing new.
            nodes.push(stale(&world, &me).await.0);
        }
        leave(&ahead, number).await;
        for _ in 0..4 {
            let which = chance.below(nodes.len() as u64) as usize;
            let answer = look(&nodes[which], &me, as_of).await.expect("they wait");
            let now = position(&answer).expect("it means something");
            assert!(now <= last, "{now} after {last}");
            (last, as_of) = (now, answer.as_of.expect("it is said"));
        }
    }
}

#[tokio::test]
async fn place_that_was_taken_elsewhere_a_moment_ago_is_found() {
    let Some(world) = World::start() else { return };
    let ahead = line(&world).await;
    let (behind, old) = stale(&world, &user(3)).await;
    join(&ahead, 4).await;
    let (found, is_here) = look_here(&behind, &user(4), old.as_of.expect("it is said")).await;
    assert_eq!((position(&found.expect("it is there")), is_here), (Some(5), false));
    let (nobody, is_here) = look_here(&behind, &user(5), LONG_AGO).await;
    assert_eq!((nobody, is_here), (Err(Failure::Refused(Refusal::PlaceNotFound)), false));
}

/// An answer that waits for Redis is none of the copy's.
#[tokio::test]
async fn node_that_cannot_reach_redis_soon_tells_no_position_any_more() {
    let Some(mut world) = World::start() else { return };
    drop(line(&world).await);
    let cut_off =
        world.node_with(|options| (options.copy_age_ms, options.timeout_ms) = (SOON_MS, 200)).await;
    from_copy(&cut_off, &user(3), LONG_AGO).await;
    // Asked now and waited for later, as for many streams at once: an answer does not lie about meanwhile.
    let question = PlaceOf { user: user(3), place: None };
    let waited_for_later = cut_off.engine.ask_since(event(), question, Some(LONG_AGO));
    world.redis.pause();
    until("the end of what it knew", || async {
        look(&cut_off, &user(3), LONG_AGO).await == Err(Failure::Unreachable)
    })
    .await;
    let (answer, is_here) = look_here(&cut_off, &user(3), LONG_AGO).await;
    assert_eq!((answer, is_here), (Err(Failure::Unreachable), false));
    assert_eq!(waited_for_later.await, Err(Failure::Unreachable));
    world.redis.resume();
    from_copy(&cut_off, &user(3), LONG_AGO).await;
}

/// A replica that lagged behind took over: what the copy knew beyond it never was.
#[tokio::test]
async fn copy_of_decisions_that_redis_lost_is_made_anew() {
    let Some(world) = World::start() else { return };
    let ahead = line(&world).await;
    let copied = node(&world, SOON_MS).await;
    let before = from_copy(&copied, &user(3), LONG_AGO).await;
    assert_eq!(position(&before), Some(4));
    world.decisions().await;
    world.archive.set_away(true);
    for key in world.ask(&["KEYS", &key("*")]).lines() {
        world.ask(&["COPY", key, &format!("replica:{key}"), "REPLACE"]);
    }
    leave(&ahead, 0).await;
    let lost = present(&ahead, &user(3)).await.expect("they wait").as_of.expect("it is said");
    assert_eq!(position(&from_copy(&copied, &user(3), lost).await), Some(3));

    for key in world.ask(&["KEYS", &key("*")]).lines() {
        world.ask(&["UNLINK", key]);
    }
    for replica in world.ask(&["KEYS", "replica:*"]).lines() {
        world.ask(&["RENAME", replica, replica.trim_start_matches("replica:")]);
    }
    world.archive.set_away(false);
    // Both know of it, and either has the event rebuilt.
    until("the event as it was", || async {
        let answer = look(&copied, &user(3), LONG_AGO).await;
        answer.is_ok_and(|answer| answer.as_of.is_some_and(|as_of| as_of.epoch == 1))
    })
    .await;
    // All that Redis knows is of the new epoch. A node that had read the lost decision just before
    // may have archived it since: then it was not lost.
    let there = position(&present(&ahead, &user(3)).await.expect("they wait"));
    let rebuilt = AsOf { epoch: 1, seq: Seq(0) };
    assert_eq!(position(&from_copy(&copied, &user(3), rebuilt).await), there);
    // What was told of the epoch before is behind.
    assert_eq!(position(&from_copy(&copied, &user(3), lost).await), there);
}

#[tokio::test]
async fn copy_goes_when_the_sale_is_closed() {
    let Some(world) = World::start() else { return };
    let ahead = line(&world).await;
    let copied = node(&world, SOON_MS).await;
    from_copy(&copied, &user(3), LONG_AGO).await;
    assert_eq!(figures(&copied).held, 1);
    assert!(figures(&copied).records >= 8, "four users and their places: {:?}", figures(&copied));
    ahead.done(Command::Close).await;
    until("the end of the copy", || async { figures(&copied).held == 0 }).await;
    // Whoever waits still is told by Redis, and nothing is copied for it.
    let (answer, is_here) = look_here(&copied, &user(3), LONG_AGO).await;
    assert_eq!((answer.map(|answer| answer.value.place), is_here), (Ok(place(3)), false));
    assert_eq!(figures(&copied).held, 0);
}

#[tokio::test]
async fn copy_that_nobody_asks_goes() {
    let Some(world) = World::start() else { return };
    drop(line(&world).await);
    let copied = node(&world, 2).await;
    until("a copy", || async {
        drop(look(&copied, &user(3), LONG_AGO).await);
        figures(&copied).held == 1
    })
    .await;
    until("its end", || async { figures(&copied).held == 0 }).await;
}

#[tokio::test]
async fn node_keeps_no_more_copies_than_it_may() {
    let Some(world) = World::start() else { return };
    drop(line(&world).await);
    let none = world.node_with(|options| options.copies = 0).await;
    let small = world.node_with(|options| options.copied_records = 3).await;
    for _ in 0..3 {
        let (answer, is_here) = look_here(&none, &user(3), LONG_AGO).await;
        assert_eq!((position(&answer.expect("they wait")), is_here), (Some(4), false));
    }
    assert_eq!(figures(&none).held, 0);
    // Four places are more than it may have: it finds out, and then does not try again.
    look(&small, &user(3), LONG_AGO).await.expect("they wait");
    until("the end of what is too large", || async { figures(&small).held == 0 }).await;
    let (answer, is_here) = look_here(&small, &user(3), LONG_AGO).await;
    assert_eq!((position(&answer.expect("they wait")), is_here), (Some(4), false));
    assert_eq!(figures(&small).held, 0);
}

/// The stream has lost its beginning by then, as it does in a long sale.
#[tokio::test]
async fn copy_is_made_of_the_archive_where_the_stream_is_trimmed() {
    let Some(world) = World::start() else { return };
    let ahead = line(&world).await;
    world.decisions().await;
    world.ask(&["XTRIM", &key("feed"), "MAXLEN", "0"]);
    let copied = node(&world, SOON_MS).await;
    assert_eq!(position(&from_copy(&copied, &user(3), LONG_AGO).await), Some(4));
    leave(&ahead, 1).await;
    let told = present(&ahead, &user(3)).await.expect("they wait").as_of.expect("it is said");
    assert_eq!(position(&from_copy(&copied, &user(3), told).await), Some(3));
}

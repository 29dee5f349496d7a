//! The judge of draws: the order in which people come in is what docs/design/waiting-room.md makes of
//! the entrants, the seed and the public value, and one that was promised is mixed in.

use super::super::client::{Asking, Client};
use super::super::server::Server;
use super::super::world::World;
use crate::chance::Chance;
use onrush_base::auth::hex;
use onrush_core::change::{QueueChange, SaleChange, SetupChange};
use onrush_core::ids::{EventId, PlaceId};
use onrush_core::settings::{Digest, Order, Settings};
use onrush_core::{Change, Time};
use onrush_store::FeedEntry;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Where whoever looks at a draw sits.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 4);

/// What the journal says of one draw.
#[derive(Default)]
struct Drawn {
    seed_hash: Option<Digest>,
    /// Which public value was promised.
    source: Option<String>,
    /// Places that are neither gone nor in, in the order taken.
    waiting: Vec<PlaceId>,
    entrants: Option<Vec<PlaceId>>,
    list_fixed_at: Option<Time>,
    seed: Option<Digest>,
    public_value: Option<String>,
    /// Entrants who still wait, in the order in which they are to come in.
    order: Vec<PlaceId>,
}

pub(super) async fn judge(
    server: &Arc<Server>,
    world: &World,
    entries: &[Arc<FeedEntry>],
    violations: &mut Vec<String>,
) {
    if !world.is_drawn {
        return;
    }
    for event in &world.events {
        let drawn = Drawn::of(event, entries, violations);
        let asked = world.public_value(event);
        if drawn.seed.is_some() && drawn.public_value != asked {
            let value = &drawn.public_value;
            violations.push(format!("{event} was drawn with {value:?}, and asked was {asked:?}"));
        }
        if drawn.seed_hash.is_some() && drawn.source.as_deref() != world.promised() {
            let (source, promised) = (&drawn.source, world.promised());
            violations.push(format!("{event} was promised {promised:?}, and has {source:?}"));
        }
        told(server, event, &drawn, violations).await;
    }
}

/// What everybody can read about a draw is what the journal says.
async fn told(server: &Arc<Server>, event: &EventId, drawn: &Drawn, violations: &mut Vec<String>) {
    let device = Chance::of(0, "draw", 0);
    let mut client = Client::new(server.net().clone(), ADDRESS.into(), device);
    let told = client.insist(&Asking::get(format!("/events/{event}/draw"))).await.body;
    let digits = |digest: Option<Digest>| digest.map(|digest| hex(&digest.0));
    let list = drawn.entrants.as_deref();
    let is_right = told["seed_hash"].as_str() == digits(drawn.seed_hash).as_deref()
        && told["seed"].as_str() == digits(drawn.seed).as_deref()
        && told["public_value"].as_str() == drawn.public_value.as_deref()
        && told["public_value_source"].as_str() == drawn.source.as_deref()
        && told["list_fixed_at"].as_i64() == drawn.list_fixed_at.map(|at| at.0)
        && told["entrants"].as_u64() == list.map(|list| list.len() as u64)
        && told["entrants_hash"].as_str() == list.map(hash_of).as_deref();
    if !is_right {
        violations.push(format!(
            "the draw of {event} is told as {told}, and the journal has {:?}, {:?}, {:?} of {:?} and \
             {:?} entrants with {:?}, fixed at {:?}",
            drawn.seed_hash,
            drawn.seed,
            drawn.public_value,
            drawn.source,
            list.map(<[_]>::len),
            list.map(hash_of),
            drawn.list_fixed_at
        ));
    }
}

impl Drawn {
    fn of(event: &EventId, entries: &[Arc<FeedEntry>], violations: &mut Vec<String>) -> Self {
        let mut drawn = Self::default();
        let entries = entries.iter().filter(|entry| entry.event == *event);
        for (at, change) in entries.flat_map(|it| it.changes.iter().map(|change| (it.at, change))) {
            if let Err(why) = drawn.add(at, change) {
                violations.push(format!("the draw of {event}: {why}"));
            }
        }
        drawn
    }

    fn add(&mut self, at: Time, change: &Change) -> Result<(), String> {
        match change {
            Change::Setup(SetupChange::EventCreated { settings }) => {
                let order = settings.room.as_ref().map(|room| &room.order);
                if let Some(Order::Draw { seed_hash }) = order {
                    self.seed_hash = Some(*seed_hash);
                }
                self.promise(settings)
            }
            Change::Setup(SetupChange::SettingsChanged { settings }) => self.promise(settings),
            Change::Queue(change) => self.queue(at, change),
            Change::Sale(SaleChange::SaleOpened { seed, public_value }) => {
                self.open(*seed, public_value.as_deref())
            }
            Change::Setup(_)
            | Change::Sale(_)
            | Change::Visitor(_)
            | Change::Hold(_)
            | Change::Booking(_)
            | Change::Claim(_) => Ok(()),
        }
    }

    /// Nothing else is promised once the list is fixed.
    fn promise(&mut self, settings: &Settings) -> Result<(), String> {
        let room = settings.room.as_ref();
        let source = room.and_then(|room| room.public_value_source.as_deref()).map(str::to_owned);
        let before = std::mem::replace(&mut self.source, source);
        if self.entrants.is_some() && before != self.source {
            return Err(format!("{:?} is promised, and {before:?} was", self.source));
        }
        Ok(())
    }

    fn queue(&mut self, at: Time, change: &QueueChange) -> Result<(), String> {
        match change {
            QueueChange::PlaceTaken { place, .. } => self.waiting.push(*place),
            QueueChange::PlaceSeen { .. } => {}
            QueueChange::PlaceLeft { place, .. } => self.forget(*place),
            QueueChange::PrequeueClosed { entrants, entrants_hash } => {
                let list = self.waiting.clone();
                let right = (*entrants as usize, hex(&entrants_hash.0));
                if right != (list.len(), hash_of(&list)) {
                    return Err(format!("{right:?} are said to take part, not {list:?}"));
                }
                (self.entrants, self.list_fixed_at) = (Some(list), Some(at));
            }
            QueueChange::Admitted { place, .. } => {
                let first = self.order.first().copied();
                self.forget(*place);
                // Who joined after the list was fixed comes after everybody on it.
                if first.is_some_and(|first| first != *place) {
                    return Err(format!("{place} comes in, and it is {first:?}'s turn"));
                }
            }
        }
        Ok(())
    }

    fn forget(&mut self, place: PlaceId) {
        self.waiting.retain(|other| *other != place);
        self.order.retain(|other| *other != place);
    }

    fn open(&mut self, seed: Option<Digest>, public_value: Option<&str>) -> Result<(), String> {
        (self.seed, self.public_value) = (seed, public_value.map(Into::into));
        let Some(seed) = seed else { return Err("it opened without a seed".into()) };
        if self.seed_hash != Some(Digest(Sha256::digest(seed.0).into())) {
            return Err("the seed is not the one that was promised".into());
        }
        if self.source.is_some() && public_value.is_none() {
            return Err("it opened without the public value that was promised".into());
        }
        let entrants: BTreeSet<_> = self.entrants.iter().flatten().copied().collect();
        let left = self.waiting.iter().filter(|place| entrants.contains(place));
        self.order = in_order(left.copied().collect(), &seed.0, public_value);
        Ok(())
    }
}

/// SHA-256 of the places, 32 digits and a newline each.
fn hash_of(places: &[PlaceId]) -> String {
    let text: String = places.iter().map(|place| format!("{place}\n")).collect();
    hex(&Sha256::digest(text))
}

/// Places by the first 52 bits of SHA-256(key ‖ place), then by their ids. The key is the seed, or
/// SHA-256(seed ‖ public value).
fn in_order(mut places: Vec<PlaceId>, seed: &[u8], public_value: Option<&str>) -> Vec<PlaceId> {
    let key = match public_value {
        Some(value) => Sha256::digest([seed, value.as_bytes()].concat()).to_vec(),
        None => seed.to_vec(),
    };
    places.sort_by_key(|place| {
        let digits = place.to_string();
        let hash = Sha256::digest([&key[..], digits.as_bytes()].concat());
        // 13 hexadecimal digits are 52 bits.
        (hex(&hash)[..13].to_owned(), digits)
    });
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::ids::UserId;

    const AT: Time = Time(1);

    fn place(number: u32) -> PlaceId {
        format!("{number:032x}").parse().expect("a place")
    }

    fn user() -> UserId {
        "ann".parse().expect("a user")
    }

    fn taken(number: u32) -> Change {
        QueueChange::PlaceTaken { place: place(number), user: user(), number }.into()
    }

    fn admitted(place: PlaceId) -> Change {
        QueueChange::Admitted { place, user: user(), until: Time(2), arrive_by: AT }.into()
    }

    /// A draw among four, who are known to come in in this order, and one who came later.
    fn opened() -> (Drawn, Vec<PlaceId>) {
        let seed = Digest([7; 32]);
        let mut drawn =
            Drawn { seed_hash: Some(Digest(Sha256::digest(seed.0).into())), ..Drawn::default() };
        for number in 1..=4 {
            drawn.add(AT, &taken(number)).expect("anybody may come");
        }
        let list: Vec<_> = (1..=4).map(place).collect();
        let hash = Sha256::digest(list.iter().map(|p| format!("{p}\n")).collect::<String>());
        let closed =
            QueueChange::PrequeueClosed { entrants: 4, entrants_hash: Digest(hash.into()) };
        drawn.add(AT, &closed.into()).expect("these are the four");
        drawn.add(AT, &taken(5)).expect("anybody may come later");
        let seed = Some(seed);
        let opened = SaleChange::SaleOpened { seed, public_value: Some("beacon".into()) };
        drawn.add(AT, &opened.into()).expect("this seed was promised");
        let order = drawn.order.clone();
        (drawn, order)
    }

    #[test]
    fn whoever_comes_in_out_of_turn_is_noticed() {
        let (mut drawn, order) = opened();
        assert_eq!(order.len(), 4);
        for place in &order {
            drawn.add(AT, &admitted(*place)).expect("it is their turn");
        }
        drawn.add(AT, &admitted(place(5))).expect("nobody else is left");
        let (mut drawn, order) = opened();
        assert!(drawn.add(AT, &admitted(order[1])).is_err());
        let (mut drawn, _) = opened();
        assert!(drawn.add(AT, &admitted(place(5))).is_err());
    }

    #[test]
    fn other_seeds_values_and_entrants_are_noticed() {
        let (drawn, order) = opened();
        assert_ne!(in_order(order.clone(), &[7; 32], Some("another")), order);
        let promised = Some("the beacon".to_owned());
        let mut promising =
            Drawn { seed_hash: drawn.seed_hash, source: promised, ..Drawn::default() };
        assert!(promising.open(Some(Digest([7; 32])), None).is_err());
        promising.open(Some(Digest([7; 32])), Some("4 8 15")).expect("a value was promised");
        let mut drawn = Drawn { seed_hash: drawn.seed_hash, ..Drawn::default() };
        assert!(drawn.open(Some(Digest([8; 32])), None).is_err());
        assert!(drawn.open(None, None).is_err());
        let closed = QueueChange::PrequeueClosed { entrants: 1, entrants_hash: Digest([0; 32]) };
        assert!(drawn.add(AT, &closed.into()).is_err());
    }
}

//! Questions: which script answers them, and the views made of what it answers.

use super::ladders;
use super::records::{CategoryText, PoolText, SeatText};
use super::rows::{ban_view, channel_views, gaps};
use super::scripts;
use super::types;
use super::wire::{Call, read_json};
use onrush_core::Time;
use onrush_core::ids::{BookingId, ChannelId, EventId, PoolId};
use onrush_core::prices::Priced;
use onrush_core::question::{BansAfter, BookingOf, BookingsOf, ClaimOf, PlaceOf};
use onrush_core::settings::Settings;
use onrush_core::view::{
    AdmissionState, AvailabilityView, CategoryView, DrawView, EventView, PoolView, SeatStatus,
    SeatView, Units,
};
use onrush_core::{Query, Reply, View};
use redis::Value;
use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;
use std::sync::Arc;

/// The script that answers a question, and its arguments.
pub(super) fn call(query: &Query) -> Call {
    let text_or_empty = |id: Option<&str>| id.unwrap_or_default().to_owned();
    match query {
        Query::Event(_) => Call::new(&scripts::QUERY_EVENT, Vec::new()),
        Query::Availability(_) => Call::new(&scripts::QUERY_AVAILABILITY, Vec::new()),
        Query::Seats(_) => Call { is_long: true, ..Call::new(&scripts::QUERY_SEATS, Vec::new()) },
        Query::Channels(_) => Call::new(&scripts::QUERY_CHANNELS, Vec::new()),
        Query::Place(PlaceOf { user, place }) => {
            let place = place.map(|place| place.to_string()).unwrap_or_default();
            Call::new(&scripts::QUERY_PLACE, vec![user.to_string(), place])
        }
        Query::Booking(BookingOf { booking, user }) => {
            let user = text_or_empty(user.as_ref().map(|user| user.as_str()));
            Call::new(&scripts::QUERY_BOOKING, vec![booking.to_string(), user])
        }
        Query::Bookings(BookingsOf { user, after, limit }) => {
            let after = text_or_empty(after.as_ref().map(|booking| booking.as_str()));
            let arguments = vec![user.to_string(), after, limit.to_string()];
            Call::new(&scripts::QUERY_BOOKINGS, arguments)
        }
        Query::Claim(ClaimOf { claim, user }) => {
            let user = text_or_empty(user.as_ref().map(|user| user.as_str()));
            Call::new(&scripts::QUERY_CLAIM, vec![claim.to_string(), user])
        }
        Query::Bans(_) => Call::new(&scripts::QUERY_BANS, Vec::new()),
    }
}

/// What a script answered to a question.
pub(super) fn view(
    event: &EventId,
    query: &Query,
    reply: &str,
    more: Vec<Value>,
) -> Result<View, String> {
    let mut more = More(more.into_iter());
    match query {
        Query::Event(_) => view_event(event, &mut more).map(|view| View::Event(Box::new(view))),
        Query::Availability(_) => {
            let (pool_texts, blocked) = (more.texts()?, more.texts()?);
            let mut pools = pools(&pool_texts, &blocked)?;
            let mut categories = categories(&more.texts()?, &blocked)?;
            let ladders = more.texts()?;
            let (lists, step_minor) = (more.texts()?, more.next()?);
            let lists = lists.iter().map(|(field, text)| (field.as_str(), text.as_str()));
            let mut lists = types::lists(lists)?;
            let mut types = |of: &Priced, base_minor| match lists.remove(of) {
                Some(list) => types::views(&list, base_minor, step_minor),
                None => Ok(Vec::new()),
            };
            let ladders = ladders.iter().map(|(field, text)| (field.as_str(), text.as_str()));
            let mut ladders = ladders::ladders(ladders)?;
            let mut ladder = |of| {
                let found = ladders.remove(&of);
                found.map_or((None, Vec::new()), |it| (Some(it.first_minor), it.later))
            };
            for pool in &mut pools {
                let of = Priced::Pool(pool.pool.clone());
                pool.types = types(&of, pool.price_minor)?;
                (pool.first_minor, pool.later) = ladder(of);
            }
            for category in &mut categories {
                let of = Priced::Category(category.name.clone());
                category.types = types(&of, category.price_minor)?;
                (category.first_minor, category.later) = ladder(of);
            }
            Ok(View::Availability(Box::new(AvailabilityView { pools, categories })))
        }
        Query::Seats(_) => seats(more.texts()?, &more.texts()?).map(View::Seats),
        Query::Channels(_) => {
            let texts = more.texts()?;
            channel_views(texts.iter().map(|(id, text)| (id, text))).map(View::Channels)
        }
        Query::Place(_) => read_json(reply).map(View::Place),
        Query::Booking(_) => only(read_json(reply)?).map(View::Booking),
        Query::Bookings(_) => {
            let holds: Vec<Reply> = read_json(reply)?;
            holds.into_iter().map(only).collect::<Result<_, _>>().map(View::Bookings)
        }
        Query::Claim(_) => only(read_json(reply)?).map(View::Claim),
        Query::Bans(BansAfter { after, at_most }) => {
            // All of them come, in no order; only those of the page are read.
            let mut texts = more.texts()?;
            texts.retain(|(user, _)| {
                after.as_ref().is_none_or(|after| user.as_str() > after.as_str())
            });
            texts.sort_unstable();
            texts.truncate(*at_most as usize);
            let bans = texts.iter().map(|(user, text)| ban_view(user, text));
            bans.collect::<Result<_, _>>().map(View::Bans)
        }
    }
}

/// What a reply carries.
fn only<T: TryFrom<Reply, Error = Reply>>(reply: Reply) -> Result<T, String> {
    reply.try_into().map_err(|reply| format!("a script answered {reply:?} to a question"))
}

/// What stands beside a reply.
struct More(std::vec::IntoIter<Value>);

impl More {
    fn next<T: redis::FromRedisValue>(&mut self) -> Result<T, String> {
        let part = self.0.next().ok_or("a script's answer is too short")?;
        redis::from_redis_value(part).map_err(|error| format!("a script's answer: {error}"))
    }

    /// A hash: field, text, field, text…
    fn texts(&mut self) -> Result<Vec<(String, String)>, String> {
        let mut flat = self.next::<Vec<String>>()?.into_iter();
        let mut pairs = Vec::with_capacity(flat.len() / 2);
        while let (Some(field), Some(text)) = (flat.next(), flat.next()) {
            pairs.push((field, text));
        }
        Ok(pairs)
    }
}

fn read<T: FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{what}: {text:?} cannot be read"))
}

fn pools(
    texts: &[(String, String)],
    blocked: &[(String, String)],
) -> Result<Vec<PoolView>, String> {
    let mut reasons: HashMap<&str, BTreeMap<&str, u32>> = HashMap::new();
    let mut allotted = allotted(blocked)?;
    for (key, units) in blocked.iter().filter(|(key, _)| channel_of(key).is_none()) {
        let (pool, why) = key.split_once(':').ok_or_else(|| format!("{key} names no reason"))?;
        reasons.entry(pool).or_default().insert(why, read(units, key)?);
    }
    let mut pools = Vec::with_capacity(texts.len());
    for (id, text) in texts {
        let text = PoolText::read(text, id)?;
        let capacity: u32 = read(text.capacity, id)?;
        let (held, sold, blocked): (u32, u32, u32) =
            (read(text.held, id)?, read(text.sold, id)?, read(text.blocked, id)?);
        let taken = u64::from(held) + u64::from(sold) + u64::from(blocked);
        let free = u64::from(capacity).checked_sub(taken).and_then(|free| free.try_into().ok());
        let free = free.ok_or_else(|| format!("{id}: {taken} of {capacity} units are taken"))?;
        let units = Units { free, held, sold, blocked };
        let blocked_why = reasons.remove(id.as_str()).unwrap_or_default();
        pools.push((
            read::<u32>(text.index, id)?,
            PoolView {
                pool: read::<PoolId>(id, "a pool")?,
                price_minor: read(text.price, id)?,
                first_minor: None,
                later: Vec::new(),
                types: Vec::new(),
                capacity,
                units,
                claimed: read(text.claimed, id)?,
                claimed_by_services: read(text.claimed_by_services, id)?,
                blocked_why: blocked_why.into_iter().map(|(why, n)| (why.into(), n)).collect(),
                allotted: allotted.remove(id.as_str()).unwrap_or_default(),
            },
        ));
    }
    pools.sort_unstable_by_key(|(index, _)| *index);
    Ok(pools.into_iter().map(|(_, view)| view).collect())
}

/// Of what a field of blocked units is, if it is of units that are free in a channel: a pool, or
/// `@` and a category's index; and the channel.
fn channel_of(key: &str) -> Option<(&str, &str)> {
    let (of, channel) = key.rsplit_once('@')?;
    (!of.contains(':')).then_some((of, channel))
}

/// Units that are free in channels, by what they are units of: a pool, or `@` and a category's index.
type Allotted<'a> = HashMap<&'a str, Vec<(ChannelId, u32)>>;

fn allotted(blocked: &[(String, String)]) -> Result<Allotted<'_>, String> {
    let mut allotted = Allotted::new();
    for (key, units) in blocked {
        if let Some((of, channel)) = channel_of(key) {
            allotted.entry(of).or_default().push((read(channel, key)?, read(units, key)?));
        }
    }
    allotted.values_mut().for_each(|units| units.sort_unstable());
    Ok(allotted)
}

fn categories(
    texts: &[(String, String)],
    blocked: &[(String, String)],
) -> Result<Vec<CategoryView>, String> {
    let mut allotted = allotted(blocked)?;
    let mut categories = Vec::with_capacity(texts.len());
    for (name, text) in texts {
        let text = CategoryText::read(text, name)?;
        let units = Units {
            free: read(text.free, name)?,
            held: read(text.held, name)?,
            sold: read(text.sold, name)?,
            blocked: read(text.blocked, name)?,
        };
        let (index, price_minor) = (read::<u32>(text.index, name)?, read(text.price, name)?);
        let allotted = allotted.remove(format!("@{index}").as_str()).unwrap_or_default();
        let view = CategoryView {
            name: name.as_str().into(),
            price_minor,
            first_minor: None,
            later: Vec::new(),
            types: Vec::new(),
            units,
            allotted,
        };
        categories.push((index, view));
    }
    categories.sort_unstable_by_key(|(index, _)| *index);
    Ok(categories.into_iter().map(|(_, view)| view).collect())
}

fn seats(
    texts: Vec<(String, String)>,
    categories_texts: &[(String, String)],
) -> Result<Vec<SeatView>, String> {
    let names: Vec<Arc<str>> = categories(categories_texts, &[])?
        .into_iter()
        .map(|category| Arc::from(category.name.as_ref()))
        .collect();
    let mut seats = Vec::with_capacity(texts.len());
    for (id, text) in texts {
        let SeatText { index, category, state, of } = SeatText::read(&text, &id)?;
        let category: usize = read(category, &id)?;
        let name = names.get(category).ok_or_else(|| format!("{id}: no category {category}"))?;
        let booking = || read::<BookingId>(of, &id).map(Some);
        let (status, booking, why, channel) = match state {
            "F" => (SeatStatus::Free, None, None, None),
            "H" => (SeatStatus::Held, booking()?, None, None),
            "S" => (SeatStatus::Sold, booking()?, None, None),
            "B" => (SeatStatus::Blocked, None, Some(of.into()), None),
            "A" => (SeatStatus::Blocked, None, None, Some(read(of, &id)?)),
            _ => return Err(format!("{id}: {text:?} is no state of a seat")),
        };
        let view = SeatView {
            seat: read(&id, "a seat")?,
            category: Arc::clone(name),
            status,
            booking,
            why,
            channel,
        };
        seats.push((read::<u32>(index, &id)?, view));
    }
    seats.sort_unstable_by_key(|(index, _)| *index);
    Ok(seats.into_iter().map(|(_, view)| view).collect())
}

fn view_event(event: &EventId, more: &mut More) -> Result<EventView, String> {
    let meta: HashMap<String, String> = more.texts()?.into_iter().collect();
    let field = |name: &str| meta.get(name).map(String::as_str);
    let required = |name: &str| field(name).ok_or_else(|| format!("meta has no {name}"));
    fn optional<T: FromStr>(text: Option<&str>, what: &str) -> Result<Option<T>, String> {
        text.map(|text| read(text, what)).transpose()
    }
    let (waiting, active) = (more.next()?, more.next()?);
    let pools = pools(&more.texts()?, &[])?;
    let categories = categories(&more.texts()?, &[])?;
    let (choosing, queued) = (more.next()?, more.next::<u64>()?);
    let settings: Settings = read_json(required("settings")?)?;
    let all = pools.iter().map(|pool| pool.units);
    let mut units = Units::default();
    for part in all.chain(categories.iter().map(|category| category.units)) {
        units.free = units.free.saturating_add(part.free);
        units.held = units.held.saturating_add(part.held);
        units.sold = units.sold.saturating_add(part.sold);
        units.blocked = units.blocked.saturating_add(part.blocked);
    }
    let has_stock = !(pools.is_empty() && categories.is_empty());
    let admission =
        settings.room.as_ref().filter(|_| has_stock).map_or(AdmissionState::GoesOn, |room| {
            AdmissionState::of(
                u64::from(units.free) + queued,
                u64::from(units.held),
                choosing,
                room,
            )
        });
    let draw = match settings.seed_hash() {
        None => None,
        Some(seed_hash) => Some(DrawView {
            seed_hash,
            entrants: optional(field("entrants"), "entrants")?,
            entrants_hash: optional(field("entrants_hash"), "entrants_hash")?,
            list_fixed_at: optional(field("entrants_at"), "entrants_at")?.map(Time),
            seed: optional(field("seed"), "seed")?,
            public_value: field("public_value").map(Into::into),
        }),
    };
    Ok(EventView {
        event: event.clone(),
        phase: serde_json::from_value(required("phase")?.into())
            .map_err(|error| format!("phase: {error}"))?,
        waiting,
        active,
        places_taken: read(required("taken")?, "taken")?,
        units,
        admission,
        draw,
        gaps: gaps(field("gaps").unwrap_or_default())?,
        settings,
    })
}

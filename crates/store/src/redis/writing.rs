//! The commands that write an event's state as Redis keeps it.

use super::head::Head;
use super::keys::{self, EventKeys};
use super::ladders;
use super::layout::{Layout, Texts};
use super::records::UserText;
use super::types;
use onrush_core::Time;
use onrush_core::ids::{EventId, UserId};

/// Fields or members in one command: scripts of others wait that long at most.
const AT_ONCE: usize = 500;

/// A command to Redis, word by word.
pub(super) type Words = Vec<String>;

impl Layout {
    /// The commands that write all of it but what `meta_command` does, which comes last and lets the
    /// scripts in.
    pub(super) fn commands(&self, event: &EventId, keys: &EventKeys) -> Vec<Words> {
        let mut commands = Vec::new();
        let of_parts = self.meta.iter().filter(|(field, _)| is_of_part(field));
        let of_parts: Texts = of_parts.map(|(field, text)| (field.clone(), text.clone())).collect();
        let hashes = [
            (keys.meta(), &of_parts),
            (keys.pools(), &self.pools),
            (keys.blocked(), &self.blocked),
            (keys.seats(), &self.seats),
            (keys.categories(), &self.categories),
            (keys.holds(), &self.holds),
            (keys.users(), &self.users),
            (keys.sessions(), &self.sessions),
            (keys.claims(), &self.claims),
            (keys.bans(), &self.bans),
            (keys.segments_free(), &self.segments_free),
            (keys.access(), &self.access),
            (keys.channels(), &self.channels),
            (keys.payers(), &self.payers),
            (keys.extended(), &self.extended),
        ];
        for (key, texts) in hashes {
            let pairs: Vec<_> = texts.iter().map(|(field, text)| [field, text]).collect();
            write_pairs("HSET", key, &pairs, &mut commands);
        }
        let scored = |line: &[(String, i64)]| -> Texts {
            line.iter().map(|(member, score)| (member.clone(), score.to_string())).collect()
        };
        let sets = [
            (keys.queue(), &scored(&self.queue)),
            (keys.parked(), &scored(&self.parked)),
            (keys.lapses(), &self.lapses),
            (keys.deadlines(), &self.deadlines),
            (keys.gone(), &self.gone),
            (keys.segments(), &self.segments),
            (keys.segments_open(), &self.segments_open),
        ];
        for (key, members) in sets {
            let pairs: Vec<_> = members.iter().map(|(member, score)| [score, member]).collect();
            write_pairs("ZADD", key, &pairs, &mut commands);
        }
        self.write_streams(event, &mut commands);
        commands
    }

    /// Writes the streams of users' places, in events that have them.
    fn write_streams(&self, event: &EventId, commands: &mut Vec<Words>) {
        if !self.meta.contains_key("streams") {
            return;
        }
        // Streams carry whole seconds, as those who read them expect.
        let at_ms: i64 = self.meta.get("at").and_then(|at| at.parse().ok()).unwrap_or_default();
        let at_s = at_ms.div_euclid(1_000).to_string();
        for (user, text) in &self.users {
            let Ok(id) = user.parse::<UserId>() else { continue };
            let stream = keys::places_of(event, &id);
            let Ok(text) = UserText::read(text, user) else { continue };
            let places = text.places.split(',').filter_map(|place| place.split_once(':'));
            for (nth, (token, number)) in places.enumerate() {
                if nth == 0 {
                    commands.push(words(&["DEL", &stream]));
                }
                commands.push(words(&[
                    "XADD",
                    &stream,
                    &format!("{number}-0"),
                    "token",
                    token,
                    "event_id",
                    event.as_str(),
                    "user_id",
                    user,
                    "timestamp",
                    &at_s,
                ]));
            }
        }
    }

    /// The command that writes the rest of the meta hash: from then on the scripts go on after `head`.
    pub(super) fn meta_command(&self, keys: &EventKeys, head: Head, alive: Time) -> Words {
        let mut command = words(&["HSET", keys.meta()]);
        for (field, text) in self.meta.iter().filter(|(field, _)| !is_of_part(field)) {
            command.extend([field.clone(), text.clone()]);
        }
        let seq = head.seq.0.to_string();
        if let Some(mark) = head.mark {
            command.extend(words(&["mark", &mark.to_string()]));
        }
        if self.is_archived() {
            command.extend(words(&["seq", &seq, "epoch", &head.epoch.to_string()]));
            return command;
        }
        // Nobody's list of entrants is of this line.
        let line_version = (head.epoch * 1_000_000_000 + head.seq.0).to_string();
        command.extend(words(&["seq", &seq, "epoch", &head.epoch.to_string()]));
        command.extend(words(&["line_version", &line_version, "alive", &alive.to_string()]));
        command
    }
}

/// Whether a field of the meta hash is about one pool or category: an event may have twenty thousand of
/// them, and Lua takes no more than about 8,000 words at a time.
fn is_of_part(field: &str) -> bool {
    ladders::is_field(field) || types::is_field(field)
}

fn words(words: &[&str]) -> Words {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn write_pairs(name: &str, key: &str, pairs: &[[&String; 2]], commands: &mut Vec<Words>) {
    for chunk in pairs.chunks(AT_ONCE) {
        let mut command = words(&[name, key]);
        command.extend(chunk.iter().flatten().map(|word| (*word).clone()));
        commands.push(command);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_core::Event;
    use onrush_core::change::SetupChange;
    use onrush_core::ids::PoolId;
    use onrush_core::prices::Priced;
    use onrush_core::settings::Settings;
    use onrush_core::spec::{PoolSpec, Reason};
    use onrush_core::types::{TicketType, TypePrice};

    /// Lua's stack takes some 8,000 words at a time.
    const MOST_WORDS: usize = 7_900;

    #[test]
    fn no_command_is_too_long_for_lua_however_many_prices_and_types_there_are() {
        const PARTS: usize = 10_000;
        let id: EventId = "hotel".parse().expect("an id");
        let mut event = Event::new(id.clone());
        let mut evolve = |change: SetupChange| event.evolve(Time(1), &change.into());
        let settings = Box::new(Settings::new("A hotel", "EUR".parse().expect("a currency")));
        evolve(SetupChange::EventCreated { settings });
        let adult = TicketType {
            id: "adult".parse().expect("an id"),
            name: "Adult".into(),
            price: TypePrice::PriceMinor(150),
            min: 0,
            max: None,
            proof: false,
        };
        for night in 0..PARTS {
            let pool: PoolId = format!("night-{night}").parse().expect("an id");
            let spec = PoolSpec { pool: pool.clone(), capacity: 1, price_minor: 100 };
            evolve(SetupChange::PoolAdded { spec });
            let (of, reason) =
                (Priced::Pool(pool), Reason { by: "ann".into(), why: "summer".into() });
            let (before_minor, price_minor) = (100, 200);
            evolve(SetupChange::PriceChanged {
                of: of.clone(),
                before_minor,
                price_minor,
                later: Vec::new(),
                reason: Some(reason.clone()),
            });
            evolve(SetupChange::TypesSet { of, types: vec![adult.clone()], reason });
        }
        let (layout, keys) = (Layout::of(&event), EventKeys::new(&id));
        let mut commands = layout.commands(&id, &keys);
        commands.push(layout.meta_command(&keys, Head::default(), Time(1)));
        let most = commands.iter().map(Vec::len).max();
        assert!(most <= Some(MOST_WORDS), "{most:?} words");
        let of_meta = commands.iter().filter(|command| command[1] == keys.meta());
        let written: Texts = of_meta
            .flat_map(|command| command[2..].chunks(2))
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .collect();
        let is_written = |(field, text): (&String, &String)| written.get(field) == Some(text);
        assert!(layout.meta.len() > 2 * PARTS && layout.meta.iter().all(is_written));
        // Scripts are let in by the last.
        let opens = |command: &Words| command.iter().any(|word| word == "epoch");
        assert_eq!(commands.iter().position(opens), Some(commands.len() - 1));
    }
}

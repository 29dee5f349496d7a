//! Seats side by side, as Redis keeps them: `lua/include/segments.lua` from the other side.

use super::layout::Texts;
use super::records::{AccessText, SegmentText};
use onrush_core::ids::{ChannelId, SeatId};
use onrush_core::limits::{MAX_BEST_QUANTITY, MAX_SEAT_RANK};
use onrush_core::segments::SegmentView;
use onrush_core::spec::{Access, SeatSpec};
use onrush_core::view::{SeatStatus, SeatView};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Digits of a position in a member, so that members sort by it.
pub(super) const POSITION_DIGITS: usize = 7;

/// A free text without blanks and commas: what is no letter and no digit is `%` and two hexadecimal
/// digits a byte.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("memory can be written to");
        }
    }
    encoded
}

/// The text that was encoded so, if one was.
pub(super) fn decoded(encoded: &str) -> Option<String> {
    let mut parts = encoded.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// What Redis is told of a seat when it is added: `rank aisle section row access category`.
pub(super) fn told(seat: &SeatSpec) -> String {
    let (section, row) = (encoded(&seat.section), encoded(&seat.row));
    let access = match &seat.access {
        Access::Anyone => "-".to_owned(),
        Access::Wheelchair => "W".to_owned(),
        Access::CompanionOf(place) => format!("C{place}"),
    };
    format!("{} {} {section} {row} {access} {}", seat.rank, aisle(seat), seat.category)
}

/// What Redis keeps of whom a seat is kept for.
fn access(seat: &SeatSpec) -> Option<AccessText<String>> {
    let (kind, of) = match &seat.access {
        Access::Anyone => return None,
        Access::Wheelchair => ("W", encoded(&seat.section)),
        Access::CompanionOf(place) => ("C", place.to_string()),
    };
    Some(AccessText { kind: kind.to_owned(), rank: seat.rank.to_string(), of })
}

fn aisle(seat: &SeatSpec) -> &'static str {
    if seat.aisle { "Y" } else { "N" }
}

/// The sign of a seat that is free in a channel: A in the first, B in the second …
fn letter(seat: &SeatView, channels: &[ChannelId]) -> Option<char> {
    let channel = seat.channel.as_ref()?;
    let number = channels.iter().position(|known| known == channel)?;
    ('A'..='Z').nth(number)
}

/// Who may take a seat, as `segments_free` has it; these are the seats that are sold.
fn sign(
    seat: &SeatSpec,
    view: &SeatView,
    sold: &BTreeSet<&SeatId>,
    channels: &[ChannelId],
) -> char {
    let is_kept = match &seat.access {
        Access::Anyone => false,
        Access::Wheelchair => true,
        Access::CompanionOf(place) => !sold.contains(place),
    };
    if is_kept {
        return 'x';
    }
    match view.status {
        SeatStatus::Free => '1',
        SeatStatus::Held | SeatStatus::Sold | SeatStatus::Blocked => {
            letter(view, channels).unwrap_or('0')
        }
    }
}

/// What the keys about segments have in them.
#[derive(Default)]
pub(super) struct SegmentTexts {
    pub(super) segments: Texts,
    pub(super) free: Texts,
    pub(super) open: Texts,
    pub(super) access: Texts,
    /// The names of all sections, encoded, with commas between them.
    pub(super) sections: String,
}

impl SegmentTexts {
    /// How Redis keeps these segments of these seats.
    pub(super) fn of(
        segments: impl Iterator<Item = SegmentView>,
        specs: &[&SeatSpec],
        views: &[SeatView],
        channels: &[ChannelId],
    ) -> Self {
        let mut texts = Self::default();
        let is_sold = |(_, view): &(&&SeatSpec, &SeatView)| view.status == SeatStatus::Sold;
        let sold = specs.iter().zip(views).filter(is_sold).map(|(spec, _)| &spec.seat);
        let sold: BTreeSet<&SeatId> = sold.collect();
        for segment in segments {
            let (specs, views) = (&specs[segment.seats.clone()], &views[segment.seats.clone()]);
            let seats = specs.iter().zip(views);
            let free = seats.map(|(spec, view)| sign(spec, view, &sold, channels)).collect();
            texts.put(&segment, specs, free);
        }
        let mut sections: Vec<String> = Vec::new();
        for spec in specs {
            if let Some(access) = access(spec) {
                texts.access.insert(spec.seat.to_string(), access.text());
            }
            let section = encoded(&spec.section);
            if !sections.contains(&section) {
                sections.push(section);
            }
        }
        texts.sections = sections.join(",");
        texts
    }

    fn put(&mut self, segment: &SegmentView, specs: &[&SeatSpec], free: String) {
        let (first, last) = (specs[0], specs[specs.len() - 1]);
        let ranks: Vec<String> = if specs.iter().all(|spec| spec.rank == first.rank) {
            vec![first.rank.to_string()]
        } else {
            specs.iter().map(|spec| spec.rank.to_string()).collect()
        };
        let ids: Vec<&str> = specs.iter().map(|spec| spec.seat.as_str()).collect();
        let position = segment.seats.start.to_string();
        let text = SegmentText {
            first: position.clone(),
            row: segment.row.to_string(),
            category: segment.category.to_string(),
            rank: segment.rank.to_string(),
            aisle: aisle(last).to_owned(),
            section: encoded(&first.section),
            name: encoded(&first.row),
            ranks: ranks.join(","),
            ids: ids.join(","),
        };
        self.segments.insert(text.text(), position.clone());
        self.free.insert(position, free);
        if segment.longest > 0 {
            let class = u64::from(segment.longest.min(MAX_BEST_QUANTITY));
            let score = class * u64::from(MAX_SEAT_RANK + 1) + u64::from(segment.rank);
            let member = format!("{:0POSITION_DIGITS$}", segment.seats.start);
            self.open.insert(member, score.to_string());
        }
    }
}

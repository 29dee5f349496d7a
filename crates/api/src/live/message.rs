//! What is sent over streams: one JSON text, framed once for SSE and usable as it is for WebSocket.

use super::place::PlaceBody;
use bytes::Bytes;
use onrush_core::change::{LeftHow, SessionEnd};
use onrush_core::ids::{BookingId, PlaceId};
use onrush_core::view::AdmissionState;
use onrush_core::{Phase, Time};
use serde::Serialize;

/// A message, ready to be written. Cloning it copies no text.
#[derive(Clone, Debug)]
pub struct Message {
    kind: Kind,
    /// A chunk of an HTTP body: its length in hexadecimal digits, a line break, the event, a line break.
    chunk: Bytes,
    /// Where the event `event: <type>\ndata: <JSON>\n\n` begins.
    event_from: usize,
    /// Where the JSON text begins.
    json_from: usize,
}

/// How a message is dealt with on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A later one makes an unsent earlier one superfluous.
    Position,
    /// Each one counts.
    News,
    /// Only keeps the connection alive.
    KeepAlive,
    /// The last one.
    Bye,
}

/// The contents of a message.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content<'a> {
    /// Where the visitor stands in the queue.
    Position {
        /// The place.
        place: PlaceId,
        /// Its number in the order taken.
        number: u32,
        /// 1 is served next; missing before a draw.
        #[serde(skip_serializing_if = "Option::is_none")]
        position: Option<u32>,
        /// People waiting.
        total: u32,
    },
    /// The visitor may shop.
    YourTurn {
        /// The place.
        place: PlaceId,
        /// When the session ends.
        until: Time,
        /// Until when to show up; missing once that is done.
        #[serde(skip_serializing_if = "Option::is_none")]
        arrive_by: Option<Time>,
        /// The signed pass.
        #[serde(skip_serializing_if = "Option::is_none")]
        pass: Option<String>,
    },
    /// The place is gone.
    Left {
        /// The place.
        place: PlaceId,
        /// How.
        how: LeftHow,
    },
    /// The session is over.
    SessionEnded {
        /// The place.
        place: PlaceId,
        /// How.
        how: SessionEnd,
    },
    /// The session is over, and what the visitor holds keeps the slot.
    SlotKept {
        /// The place.
        place: PlaceId,
        /// When the last hold runs out, and the slot with it.
        until: Time,
    },
    /// One of the visitor's bookings changed.
    Hold {
        /// The booking.
        booking: &'a BookingId,
        /// Its status.
        status: &'static str,
        /// When it runs out, if it is live.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<Time>,
    },
    /// A hold runs out soon.
    HoldExpiring {
        /// The booking.
        booking: &'a BookingId,
        /// When.
        until: Time,
    },
    /// Seats changed.
    Seats {
        /// The engine's time.
        at: Time,
        /// Seats and their status.
        changed: &'a serde_json::Map<String, serde_json::Value>,
    },
    /// Where the sale stands.
    Phase {
        /// The phase.
        phase: Phase,
    },
    /// Whether those who wait can be let in to anything.
    Admission {
        /// How it goes.
        admission: AdmissionState,
    },
    /// The visitor has no place.
    NotInQueue,
    /// The server closes the stream.
    Bye,
}

impl Content<'_> {
    fn kind_and_type(&self) -> (Kind, &'static str) {
        match self {
            Self::Position { .. } => (Kind::Position, "position"),
            Self::YourTurn { .. } => (Kind::News, "your_turn"),
            Self::Left { .. } => (Kind::News, "left"),
            Self::SessionEnded { .. } => (Kind::News, "session_ended"),
            Self::SlotKept { .. } => (Kind::News, "slot_kept"),
            Self::Hold { .. } => (Kind::News, "hold"),
            Self::HoldExpiring { .. } => (Kind::News, "hold_expiring"),
            Self::Seats { .. } => (Kind::News, "seats"),
            Self::Phase { .. } => (Kind::News, "phase"),
            Self::Admission { .. } => (Kind::News, "admission"),
            Self::NotInQueue => (Kind::News, "not_in_queue"),
            Self::Bye => (Kind::Bye, "bye"),
        }
    }
}

impl From<PlaceBody> for Content<'_> {
    fn from(place: PlaceBody) -> Self {
        match place {
            PlaceBody::Queued { place, number, position, total, lapses_at: _, as_of: _ } => {
                Self::Position { place, number, position, total }
            }
            PlaceBody::Active { place, number: _, until, arrive_by, pass } => {
                Self::YourTurn { place, until, arrive_by, pass }
            }
            PlaceBody::Ended { place, number: _, until } => Self::SlotKept { place, until },
            PlaceBody::NotFound => Self::NotInQueue,
        }
    }
}

impl Message {
    /// Writes a message.
    #[must_use]
    pub fn new(content: &Content<'_>) -> Self {
        let (kind, name) = content.kind_and_type();
        let mut event = Vec::with_capacity(192);
        event.extend_from_slice(b"event: ");
        event.extend_from_slice(name.as_bytes());
        event.extend_from_slice(b"\ndata: ");
        let json_from = event.len();
        // JSON text has no line breaks of its own, so it is one line of SSE data.
        serde_json::to_writer(&mut event, content).expect("a message is JSON");
        event.extend_from_slice(b"\n\n");
        let head = format!("{:x}\r\n", event.len());
        let chunk = [head.as_bytes(), &event, b"\r\n"].concat().into();
        Self { kind, chunk, event_from: head.len(), json_from: head.len() + json_from }
    }

    /// A sign of life: a comment in SSE, a ping over WebSocket.
    #[must_use]
    pub const fn keep_alive() -> Self {
        let chunk = Bytes::from_static(b"3\r\n:\n\n\r\n");
        Self { kind: Kind::KeepAlive, chunk, event_from: 3, json_from: 3 }
    }

    /// How it is dealt with.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// As SSE writes it.
    #[must_use]
    pub fn sse(&self) -> Bytes {
        self.chunk.slice(self.event_from..self.chunk.len() - 2)
    }

    /// The same as a chunk of a body whose length nobody knows.
    #[must_use]
    pub fn chunk(self) -> Bytes {
        self.chunk
    }

    /// As WebSocket sends it.
    #[must_use]
    pub fn json(&self) -> Bytes {
        self.chunk.slice(self.json_from..self.chunk.len() - 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_is_chunk_event_and_json() {
        let message = Message::new(&Content::Phase { phase: Phase::Open });
        assert_eq!(&message.json()[..], br#"{"type":"phase","phase":"open"}"#);
        let event = "event: phase\ndata: {\"type\":\"phase\",\"phase\":\"open\"}\n\n";
        assert_eq!(&message.sse()[..], event.as_bytes());
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        assert_eq!(&message.chunk()[..], chunk.as_bytes());
        assert_eq!(&Message::keep_alive().sse()[..], b":\n\n");
    }
}

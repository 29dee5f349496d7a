//! One open stream, as the hub sees it: whose it is, and what is still to be written to it.

use crate::live::message::{Kind, Message};
use onrush_core::Time;
use onrush_core::ids::{EventId, PlaceId, UserId};
use onrush_store::AsOf;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Messages that may wait for a slow reader before the stream is closed.
const MAX_WAITING: usize = 64;

/// What the visitor at a stream is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Neither waiting nor shopping.
    Nothing,
    /// Waiting near the head.
    WaitingNear,
    /// Waiting elsewhere.
    WaitingFar,
    /// Shopping.
    Shopping,
}

/// One open stream. Kept small: there are tens of thousands.
#[derive(Debug)]
pub struct Conn {
    /// The event it is about.
    pub event: EventId,
    /// Whose it is.
    pub user: UserId,
    /// The place it is about; `None` is the one that [`onrush_core::question::PlaceOf`] picks.
    pub place: Option<PlaceId>,
    doing: AtomicU8,
    /// The event's count of moves when the position was last looked up.
    pub seen_moves: AtomicU64,
    /// The tick of the last message.
    pub last_sent_tick: AtomicU32,
    /// How far the event had come when the visitor was last told where they stand.
    as_of: Mutex<Option<AsOf>>,
    mailbox: Mutex<Mailbox>,
}

#[derive(Debug, Default)]
struct Mailbox {
    /// With when it was decided what they tell, if the feed tells it.
    waiting: VecDeque<(Option<Time>, Message)>,
    /// When the visitor stood where the first messages said. The feed of a cluster comes later than
    /// its present state: what was decided before is in that, and may be over by then.
    began: Option<Time>,
    reader: Option<Waker>,
    closed: bool,
}

impl Conn {
    /// A stream of `user` about `event`.
    #[must_use]
    pub fn new(event: EventId, user: UserId, place: Option<PlaceId>) -> Self {
        Self {
            event,
            user,
            place,
            doing: AtomicU8::new(0),
            seen_moves: AtomicU64::new(0),
            last_sent_tick: AtomicU32::new(0),
            as_of: Mutex::default(),
            mailbox: Mutex::default(),
        }
    }

    /// What the visitor is doing.
    #[must_use]
    pub fn doing(&self) -> Doing {
        match self.doing.load(Ordering::Relaxed) {
            1 => Doing::WaitingNear,
            2 => Doing::WaitingFar,
            3 => Doing::Shopping,
            _ => Doing::Nothing,
        }
    }

    /// Notes what the visitor is doing.
    pub fn set_doing(&self, doing: Doing) {
        let number = match doing {
            Doing::Nothing => 0,
            Doing::WaitingNear => 1,
            Doing::WaitingFar => 2,
            Doing::Shopping => 3,
        };
        self.doing.store(number, Ordering::Relaxed);
    }

    /// How far the event had come when the visitor was last told where they stand.
    pub fn as_of(&self) -> Option<AsOf> {
        *self.as_of.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how far it has come.
    pub fn set_as_of(&self, as_of: Option<AsOf>) {
        *self.as_of.lock().unwrap_or_else(PoisonError::into_inner) = as_of;
    }

    /// Whether what was decided then is news here.
    pub fn is_news(&self, at: Time) -> bool {
        self.mailbox().began.is_none_or(|began| at >= began)
    }

    /// Leaves a message for the reader. A reader who lets too many wait is told goodbye instead.
    pub fn send(&self, message: Message) {
        self.put(None, message);
    }

    /// The same of what the feed tells, decided `at` that time, if it is news.
    pub fn tell(&self, at: Time, message: Message) {
        self.put(Some(at), message);
    }

    fn put(&self, at: Option<Time>, message: Message) {
        let mut mailbox = self.mailbox();
        let is_old = at.zip(mailbox.began).is_some_and(|(at, began)| at < began);
        if mailbox.closed || is_old {
            return;
        }
        let kind = message.kind();
        if kind == Kind::Position
            && let Some((_, last)) =
                mailbox.waiting.iter_mut().find(|(_, old)| old.kind() == Kind::Position)
        {
            *last = message;
            return;
        }
        if kind == Kind::KeepAlive && !mailbox.waiting.is_empty() {
            return;
        }
        if mailbox.waiting.len() >= MAX_WAITING {
            mailbox.waiting.clear();
            let bye = Message::new(&super::message::Content::Bye);
            mailbox.waiting.push_back((None, bye));
            mailbox.closed = true;
        } else {
            mailbox.waiting.push_back((at, message));
            mailbox.closed = kind == Kind::Bye;
        }
        let reader = mailbox.reader.take();
        drop(mailbox);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// Puts the messages that say where everything stood at `at` before those that came meanwhile,
    /// and leaves out what had been decided before.
    pub fn send_first(&self, first: Vec<Message>, at: Time, doing: Doing) {
        let mut mailbox = self.mailbox();
        let came = mailbox.waiting.len();
        mailbox.began = Some(at);
        mailbox.waiting.retain(|(decided_at, _)| decided_at.is_none_or(|decided| decided >= at));
        let was_old = mailbox.waiting.len() < came;
        for message in first.into_iter().rev() {
            mailbox.waiting.push_front((None, message));
        }
        drop(mailbox);
        // What the feed said meanwhile is newer, but for what was left out.
        if was_old || self.doing() == Doing::Nothing {
            self.set_doing(doing);
        }
    }

    /// The next message; `None` after the last one.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Message>> {
        let mut mailbox = self.mailbox();
        match mailbox.waiting.pop_front() {
            Some((_, message)) => {
                if mailbox.waiting.is_empty() {
                    mailbox.waiting = VecDeque::new();
                }
                Poll::Ready(Some(message))
            }
            None if mailbox.closed => Poll::Ready(None),
            None => {
                mailbox.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::message::Content;

    fn conn() -> Conn {
        Conn::new("e".parse().unwrap(), "ann".parse().unwrap(), None)
    }

    fn all(conn: &Conn) -> Vec<Kind> {
        let mut context = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| match conn.poll_next(&mut context) {
            Poll::Ready(message) => message.map(|message| message.kind()),
            Poll::Pending => None,
        })
        .collect()
    }

    fn position(position: u32) -> Message {
        let place = PlaceId::from_u128(1);
        Message::new(&Content::Position { place, number: 9, position: Some(position), total: 9 })
    }

    #[test]
    fn an_unsent_position_is_replaced_by_a_later_one() {
        let conn = conn();
        conn.send(position(3));
        conn.send(Message::new(&Content::NotInQueue));
        conn.send(position(2));
        conn.send(Message::keep_alive());
        assert_eq!(all(&conn), [Kind::Position, Kind::News]);
    }

    /// As the feed of a cluster may: it comes later than the state that a stream begins with.
    #[test]
    fn what_was_decided_before_the_stream_began_is_not_told() {
        let conn = conn();
        let left = || Message::new(&Content::NotInQueue);
        conn.set_doing(Doing::Shopping);
        conn.tell(Time(4), left());
        conn.send_first(vec![position(3)], Time(5), Doing::WaitingNear);
        conn.tell(Time(4), left());
        assert_eq!(all(&conn), [Kind::Position]);
        assert_eq!(conn.doing(), Doing::WaitingNear);
        assert!(!conn.is_news(Time(4)) && conn.is_news(Time(5)));
        conn.tell(Time(5), left());
        assert_eq!(all(&conn), [Kind::News]);
    }

    #[test]
    fn what_came_while_a_stream_began_is_told_after_its_beginning() {
        let conn = conn();
        conn.tell(Time(5), Message::new(&Content::NotInQueue));
        conn.send_first(vec![position(3)], Time(5), Doing::WaitingNear);
        assert_eq!(all(&conn), [Kind::Position, Kind::News]);
    }

    #[test]
    fn a_reader_who_is_too_slow_is_told_goodbye() {
        let conn = conn();
        for _ in 0..=MAX_WAITING {
            conn.send(Message::new(&Content::NotInQueue));
        }
        assert_eq!(all(&conn), [Kind::Bye]);
        conn.send(position(1));
        assert_eq!(all(&conn), []);
    }
}

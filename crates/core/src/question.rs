//! Questions about one event, and what each is answered with. Asking changes nothing.

use crate::channels::ChannelView;
use crate::ids::{BookingId, ClaimId, PlaceId, UserId};
use crate::view::{
    AvailabilityView, BanView, ClaimView, EventView, HoldView, PlaceView, SeatView, alone,
};

/// A question with an answer of its own type.
pub trait Question: Into<Query> {
    /// The one kind of [`View`] that answers it.
    type Answer: TryFrom<View, Error = View>;
}

/// Settings, phase and counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNow;

/// Pools and what is left of them; seats by category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailabilityNow;

/// Every seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatsNow;

/// Every channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelsNow;

/// A user's first place or session, or a particular one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceOf {
    /// Whose.
    pub user: UserId,
    /// Which; `None` is the session if there is one, else the place served first.
    pub place: Option<PlaceId>,
}

/// One booking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingOf {
    /// Which.
    pub booking: BookingId,
    /// Whose; `None` asks for anyone's (operators only).
    pub user: Option<UserId>,
}

/// A page of a user's bookings, oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingsOf {
    /// Whose.
    pub user: UserId,
    /// The last booking of the page before; `None` begins with the oldest.
    pub after: Option<BookingId>,
    /// How many at most.
    pub limit: u32,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimOf {
    /// Which.
    pub claim: ClaimId,
    /// Whose; `None` asks for anyone's (operators only).
    pub user: Option<UserId>,
}

/// Who is banned, by user id (operators only).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BansAfter {
    /// Only users whose id sorts after this one.
    pub after: Option<UserId>,
    /// How many at most.
    pub at_most: u32,
}

/// Makes [`Query`] and [`View`] out of one table: `Question => Name(Answer)`.
macro_rules! questions {
    ($($question:ident => $name:ident($answer:ty)),+ $(,)?) => {
        /// Any question about one event.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Query {
            $(#[doc = concat!("See [`", stringify!($question), "`].")] $name($question),)+
        }

        impl Query {
            /// What the question is called, without whatever it carries.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($question),)+
                }
            }
        }

        /// The answer to a [`Query`], in the same order.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum View {
            $(#[doc = concat!("To [`", stringify!($question), "`].")] $name($answer),)+
        }

        $(
            impl From<$question> for Query {
                fn from(question: $question) -> Self {
                    Self::$name(question)
                }
            }

            impl Question for $question {
                type Answer = $answer;
            }

            alone!(View::$name($answer));
        )+
    };
}

questions! {
    EventNow => Event(Box<EventView>),
    AvailabilityNow => Availability(Box<AvailabilityView>),
    SeatsNow => Seats(Vec<SeatView>),
    ChannelsNow => Channels(Vec<ChannelView>),
    PlaceOf => Place(PlaceView),
    BookingOf => Booking(HoldView),
    BookingsOf => Bookings(Vec<HoldView>),
    ClaimOf => Claim(ClaimView),
    BansAfter => Bans(Vec<BanView>),
}

//! Who may use which channel: by a code, or by what the shop's token says.

use crate::http::problem::{Code, Problem};
use crate::http::state::{Callers, Sale};
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use onrush_base::auth::shop::ShopVisitor;
use onrush_core::channels::ChannelView;
use onrush_core::ids::{ChannelId, EventId, UserId};
use onrush_core::question::ChannelsNow;
use onrush_core::settings::Digest;
use onrush_store::Ask;
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

/// Codes that one request may name.
pub const MAX_CODES: usize = 5;

/// A visitor, and what the shop's token says of the channels they may use.
pub struct Shopper {
    /// Who.
    pub user: UserId,
    granted: Vec<ChannelId>,
    address: IpAddr,
    callers: Arc<Callers>,
}

impl<S: Send + Sync> FromRequestParts<S> for Shopper
where
    Arc<Callers>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let callers = Arc::<Callers>::from_ref(state);
        let (ShopVisitor { user, channels: granted }, address) = callers.admit(parts).await?;
        Ok(Self { user, granted, address, callers })
    }
}

impl Shopper {
    /// Somebody for whom a service holds, with the channels that it may use.
    #[must_use]
    pub fn served(
        user: UserId,
        granted: Vec<ChannelId>,
        address: IpAddr,
        callers: Arc<Callers>,
    ) -> Self {
        Self { user, granted, address, callers }
    }

    /// The channels that this visitor may use in an event: those of the codes first, in their order,
    /// then those of the token that the event has.
    ///
    /// # Errors
    /// `CHANNEL_CODE_NOT_FOUND`, `RATE_LIMITED` for an address with many wrong codes, `INVALID_BODY`
    /// for too many, or the engine's.
    pub async fn channels(
        &self,
        sale: &Sale,
        event: &EventId,
        codes: &[Cow<'_, str>],
    ) -> Result<Vec<ChannelId>, Problem> {
        if codes.is_empty() && self.granted.is_empty() {
            return Ok(Vec::new());
        }
        few_enough(codes)?;
        let known = sale.engine.ask(event.clone(), ChannelsNow).await?.value;
        self.channels_among(&known, sale, event, codes)
    }

    /// The same among those that the event is known to have.
    ///
    /// # Errors
    /// As [`Self::channels`], but for the engine's.
    pub fn channels_among(
        &self,
        known: &[ChannelView],
        sale: &Sale,
        event: &EventId,
        codes: &[Cow<'_, str>],
    ) -> Result<Vec<ChannelId>, Problem> {
        few_enough(codes)?;
        let mut channels = Vec::new();
        for code in codes {
            // Taken before the code is looked at: tries side by side cannot be more than allowed.
            self.callers.limits.try_code(self.address)?;
            let digests = sale.codes.kept_ever(event, code);
            let opened = digests.map(|digests| opened_by(known, digests)).unwrap_or_default();
            if opened.is_empty() {
                let why = "no channel of this event has such a code; check how it is written";
                return Err(Problem::new(Code::ChannelCodeNotFound, why).about("codes"));
            }
            self.callers.limits.right_code(self.address);
            channels.extend(opened);
        }
        let has = |granted: &&ChannelId| known.iter().any(|view| view.spec.channel == **granted);
        channels.extend(self.granted.iter().filter(has).cloned());
        let mut seen = Vec::new();
        channels.retain(|channel| {
            !seen.contains(channel) && {
                seen.push(channel.clone());
                true
            }
        });
        Ok(channels)
    }
}

fn few_enough(codes: &[Cow<'_, str>]) -> Result<(), Problem> {
    if codes.len() > MAX_CODES {
        let why = format!("codes: name at most {MAX_CODES}");
        return Err(Problem::new(Code::InvalidBody, why).about("codes"));
    }
    Ok(())
}

/// All channels that have the code: one of them may have been released long ago.
fn opened_by(known: &[ChannelView], digests: [Digest; 2]) -> Vec<ChannelId> {
    let has = |view: &&ChannelView| digests.iter().any(|digest| view.spec.codes.contains(digest));
    known.iter().filter(has).map(|view| view.spec.channel.clone()).collect()
}

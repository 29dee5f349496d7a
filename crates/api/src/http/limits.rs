//! How often anybody may ask: each visitor, and each address behind the trusted proxies.

use crate::http::problem::{Code, Problem};
use axum::http::header::HeaderName;
use axum::http::{HeaderValue, Method};
use onrush_base::auth::address::Subscriber;
use onrush_base::auth::buckets::{Buckets, Limit, UsedUp};
use onrush_base::auth::keyring::NamedKey;
use onrush_base::auth::link;
use onrush_base::auth::oidc::NotSignedIn;
use onrush_base::config::limits::PerMin;
use onrush_base::config::{Config, Network};
use onrush_core::ids::{BookingId, UserId};
use std::hash::Hash;
use std::mem::{Discriminant, discriminant};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Visitors and addresses that are told apart; of more, those with the most left are forgotten
/// first. 16 bytes each.
const KEYS: usize = 1 << 17;
/// Addresses that try wrong keys, told apart.
const WRONG_KEY_ADDRESSES: usize = 1 << 14;
/// Addresses from which a right key came, remembered.
const KNOWN_ADDRESSES: usize = 1 << 10;
/// How long an address from which a right key came is remembered, in microseconds: a day.
const KNOWN_US: u64 = 24 * 3_600 * 1_000_000;
/// Wrong codes from other devices that one address may try a minute.
const WRONG_CODES_PER_MIN: NonZeroU32 = NonZeroU32::new(10).expect("not 0");
/// Lines in the log a minute about wrong keys, and about each reason why nobody was signed in; and rows
/// in the ledger; whoever tries.
const LOG_LINES_PER_MIN: NonZeroU32 = NonZeroU32::new(60).expect("not 0");

/// The limit that has no setting: nobody types codes faster.
const WRONG_CODES: &str = "wrong_codes";
/// The limit that has the setting of wrong keys, and counts by itself.
const WRONG_SIGN_INS: &str = "wrong_sign_ins";

/// The reason of lines about wrong keys: none why somebody was not signed in by the OpenID provider.
const OF_WRONG_KEYS: Option<Discriminant<NotSignedIn>> = None;

/// Limits on visitors and their addresses.
pub struct Limits {
    user_writes: Option<Limit>,
    user_reads: Option<Limit>,
    address_writes: Option<Limit>,
    address_reads: Option<Limit>,
    address_joins: Option<Limit>,
    guests: Limit,
    wrong_codes: Limit,
    exempt: Vec<Network>,
    /// Of keys of people and services.
    pub wrong_keys: WrongKeys,
}

impl Limits {
    /// As configured.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let settings = &config.limits;
        let limit = |name, per_min: PerMin| per_min.get().map(|n| Limit::new(name, n, KEYS));
        let guests = NonZeroU32::new(config.visitors_per_min).unwrap_or(NonZeroU32::MIN);
        Self {
            user_writes: limit("user_writes", settings.user_writes_per_min),
            user_reads: limit("user_reads", settings.user_reads_per_min),
            address_writes: limit("address_writes", settings.address_writes_per_min),
            address_reads: limit("address_reads", settings.address_reads_per_min),
            address_joins: limit("address_joins", settings.address_joins_per_min),
            guests: Limit::new("visitors", guests, KEYS),
            wrong_codes: Limit::new(WRONG_CODES, WRONG_CODES_PER_MIN, WRONG_KEY_ADDRESSES),
            exempt: settings.exempt_networks.clone(),
            wrong_keys: WrongKeys::new(settings.address_wrong_keys_per_min),
        }
    }

    /// Lets a visitor do what `method` says, or sends them away.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn visit(&self, method: &Method, user: &UserId, address: IpAddr) -> Result<(), Problem> {
        self.admit(method, user, address)
    }

    /// The same for whoever has the link of a booking: each booking is a visitor.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn visit_by_link(
        &self,
        method: &Method,
        booking: &BookingId,
        address: IpAddr,
    ) -> Result<(), Problem> {
        self.admit(method, &(link::PREFIX, booking), address)
    }

    fn admit(&self, method: &Method, user: &impl Hash, address: IpAddr) -> Result<(), Problem> {
        let (of_user, of_address) = match *method {
            Method::GET | Method::HEAD => (&self.user_reads, &self.address_reads),
            _ => (&self.user_writes, &self.address_writes),
        };
        if let Some(limit) = of_user {
            limit.take(user).map_err(|used_up| too_many(limit, used_up))?;
        }
        // Who is over their own limit uses nothing up that others have a share in.
        self.take_of_address(of_address.as_ref(), address).inspect_err(|_| {
            if let Some(limit) = of_user {
                limit.give_back(user);
            }
        })
    }

    /// Lets an address read what takes work and needs no token.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn read(&self, address: IpAddr) -> Result<(), Problem> {
        self.take_of_address(self.address_reads.as_ref(), address)
    }

    /// Lets an address ask for a place in a queue.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn join(&self, address: IpAddr) -> Result<(), Problem> {
        self.take_of_address(self.address_joins.as_ref(), address)
    }

    /// Lets an address ask for a guest token.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn guest(&self, address: IpAddr) -> Result<(), Problem> {
        self.take_of_address(Some(&self.guests), address)
    }

    /// Lets an address try a code of another device. One that is right is given back
    /// ([`Limits::right_code`]): taken before the code is looked at, tries side by side cannot be
    /// more than allowed.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn try_code(&self, address: IpAddr) -> Result<(), Problem> {
        self.take_of_address(Some(&self.wrong_codes), address)
    }

    /// The code that an address tried was right.
    pub fn right_code(&self, address: IpAddr) {
        self.wrong_codes.give_back(&Subscriber::from(address));
    }

    fn take_of_address(&self, limit: Option<&Limit>, address: IpAddr) -> Result<(), Problem> {
        let Some(limit) = limit else { return Ok(()) };
        if self.exempt.iter().any(|network| network.contains(address)) {
            return Ok(());
        }
        limit.take(&Subscriber::from(address)).map_err(|used_up| too_many(limit, used_up))
    }

    /// How many each limit has turned away, by its name.
    pub fn turned_away(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let optional = [
            &self.user_writes,
            &self.user_reads,
            &self.address_writes,
            &self.address_reads,
            &self.address_joins,
            &self.wrong_keys.tries,
            &self.wrong_keys.sign_ins,
        ];
        let all = optional.into_iter().flatten().chain([&self.guests]);
        all.chain([&self.wrong_codes]).map(|limit| (limit.name, limit.turned_away()))
    }
}

/// Limits on wrong keys: so many a minute of one address. An address that has used them up may not
/// try right ones either, or the next guess might be one.
///
/// A key that has worked from the address within a day works on: else whoever shares an address
/// with the organiser or the scanners at the door (a proxy that is not trusted, the venue's
/// network) could lock them out. Only this process knows that it has.
pub struct WrongKeys {
    tries: Option<Limit>,
    /// Of sign-ins with the OpenID provider. They use no tries of keys up, so that there is a way in
    /// for whoever shares an address with somebody who uses these up. No address is exempt for who was
    /// signed in from there: who it is now is known only when the provider was asked, which has limits
    /// of its own that everybody here shares.
    sign_ins: Option<Limit>,
    known: Buckets,
    /// By why nobody was signed in; [`OF_WRONG_KEYS`] for wrong keys.
    lines: Buckets,
    rows: Buckets,
}

impl WrongKeys {
    fn new(per_min: PerMin) -> Self {
        let limit = |name| per_min.get().map(|n| Limit::new(name, n, WRONG_KEY_ADDRESSES));
        Self {
            tries: limit("address_wrong_keys"),
            sign_ins: limit(WRONG_SIGN_INS),
            known: Buckets::one_in(KNOWN_US, KNOWN_ADDRESSES),
            lines: Buckets::new(LOG_LINES_PER_MIN, 1),
            rows: Buckets::new(LOG_LINES_PER_MIN, KNOWN_ADDRESSES),
        }
    }

    /// Whether one more refusal of this key, or of a wrong one, is written down: neither strangers
    /// nor a stolen key shall fill the ledger with what did nothing.
    #[must_use]
    pub fn is_worth_a_row(&self, name: Option<&str>) -> bool {
        self.rows.take(&name).is_ok()
    }

    /// Lets an address try to sign in with the OpenID provider, which is asked then. What is no try
    /// that came to nothing is given back ([`WrongKeys::give_sign_in_back`]): taken before the provider
    /// is asked, tries side by side, and of whoever hangs up before it answers, cannot be more than
    /// allowed.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn try_sign_in(&self, address: IpAddr) -> Result<(), Problem> {
        let Some(tries) = &self.sign_ins else { return Ok(()) };
        tries.take(&Subscriber::from(address)).map_err(|used_up| too_many(tries, used_up))
    }

    /// Somebody was signed in, or nobody, and that was not their fault.
    pub fn give_sign_in_back(&self, address: IpAddr) {
        if let Some(tries) = &self.sign_ins {
            tries.give_back(&Subscriber::from(address));
        }
    }

    /// Whether one more sign-in with the OpenID provider that came to nothing for such a reason is
    /// logged: strangers shall neither fill the log with what they may do without limit, nor keep
    /// others' reasons out of it.
    #[must_use]
    pub fn is_worth_a_line(&self, why: &NotSignedIn) -> bool {
        self.lines.take(&Some(discriminant(why))).is_ok()
    }

    /// Judges a key that came from an address, once it is known whose it is.
    ///
    /// # Errors
    /// `RATE_LIMITED`.
    pub fn judge(
        &self,
        address: IpAddr,
        key: Option<&Arc<NamedKey>>,
    ) -> Result<Option<Arc<NamedKey>>, Problem> {
        let subscriber = Subscriber::from(address);
        let Some(key) = key else {
            if self.lines.take(&OF_WRONG_KEYS).is_ok() {
                tracing::warn!(%address, "a wrong key: nobody has it");
            }
            let Some(tries) = &self.tries else { return Ok(None) };
            return match tries.take(&subscriber) {
                Ok(()) => Ok(None),
                Err(used_up) => Err(too_many(tries, used_up)),
            };
        };
        let known = (subscriber, &key.name);
        if self.known.renew(&known) {
            return Ok(Some(key.clone()));
        }
        if let Some(tries) = &self.tries {
            tries.look(&subscriber).map_err(|used_up| too_many(tries, used_up))?;
        }
        // Two at a time remember the same.
        self.known.take(&known).ok();
        Ok(Some(key.clone()))
    }
}

/// What a caller is told who has used an allowance up. The fields are those of
/// draft-ietf-httpapi-ratelimit-headers.
fn too_many(limit: &Limit, UsedUp { wait_ms }: UsedUp) -> Problem {
    let Limit { name, per_min, .. } = limit;
    let wait_s = wait_ms.div_ceil(1_000).max(1);
    let setting = match *name {
        WRONG_CODES => String::new(),
        "visitors" => ". The operator's setting is visitors_per_min".to_owned(),
        WRONG_SIGN_INS => {
            ". The operator's setting is limits.address_wrong_keys_per_min".to_owned()
        }
        name => format!(". The operator's setting is limits.{name}_per_min"),
    };
    let why = format!(
        "too many of these requests: {per_min} a minute are allowed; come back in {wait_s} s{setting}"
    );
    let field = |text: String| HeaderValue::try_from(text).expect("names and numbers are visible");
    Problem::new(Code::RateLimited, why)
        .after_ms(wait_ms)
        .header(POLICY.clone(), field(format!("\"{name}\";q={per_min};w=60")))
        .header(STATE.clone(), field(format!("\"{name}\";r=0;t={wait_s}")))
}

static POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
static STATE: HeaderName = HeaderName::from_static("ratelimit");

#[cfg(test)]
mod tests {
    use super::*;
    use onrush_base::auth::keyring::{Keyring, hash};
    use onrush_base::config::keys::Scope;
    use std::time::Duration;
    use tokio::time::advance;

    #[tokio::test(start_paused = true)]
    async fn a_key_that_comes_from_an_address_every_day_works_on_whatever_others_there_try() {
        const HOUR: Duration = Duration::from_secs(3_600);
        let limits = WrongKeys::new(PerMin::of(10));
        let keys = Keyring::of([("door", hash("right"), vec![Scope::Door])]);
        let address = IpAddr::from([203, 0, 113, 9]);
        let judge = |key: &str| limits.judge(address, keys.find(key)).map(|found| found.is_some());
        let use_tries_up = || while judge("wrong").is_ok() {};
        assert!(judge("right").unwrap());
        advance(23 * HOUR).await;
        assert!(judge("right").unwrap());
        for _ in 0..2 * 720 {
            use_tries_up();
            advance(Duration::from_secs(5)).await;
        }
        use_tries_up();
        assert!(judge("right").unwrap(), "it worked two hours ago");
        advance(23 * HOUR).await;
        use_tries_up();
        assert!(judge("right").unwrap(), "it worked within a day");
        // A day without it is over, and the address has no tries.
        advance(24 * HOUR).await;
        use_tries_up();
        assert_eq!(judge("right").unwrap_err().code(), "RATE_LIMITED");
    }

    #[tokio::test(start_paused = true)]
    async fn sixty_lines_a_minute_tell_of_each_reason_why_nobody_was_signed_in_and_of_wrong_keys() {
        let limits = WrongKeys::new(PerMin::of(10));
        let away = |n: u32| NotSignedIn::Away(format!("no connection: {n}"));
        let logged = (0..1_000).filter(|n| limits.is_worth_a_line(&away(*n))).count();
        assert_eq!(logged, 60);
        for other in [NotSignedIn::NotBegun, NotSignedIn::Busy, NotSignedIn::Refused("no".into())] {
            assert!(limits.is_worth_a_line(&other), "{other:?}");
        }
        assert!(limits.lines.look(&OF_WRONG_KEYS).is_ok());
        advance(Duration::from_secs(1)).await;
        assert!(limits.is_worth_a_line(&away(0)) && !limits.is_worth_a_line(&away(1)));
    }
}

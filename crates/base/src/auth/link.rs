//! Links of bookings: `b1.<booking>.<generation>.<kid>.<mac>`. Whoever has one may look after that
//! booking, and nothing else.
//!
//! A link has no end of its own: it opens its booking for as long as the booking is known. What is
//! stored is only which generation of a booking's links counts, so that earlier ones can be
//! withdrawn.

use crate::auth::keys::KeyDir;
use crate::auth::{KeyedMac, hex, keyed_mac, unix_now_s};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::Mac;
use onrush_core::ids::BookingId;
use std::io;

/// What every link begins with.
pub const PREFIX: &str = "b1.";
/// What the names of the key files begin with.
const FILE_PREFIX: &str = "link-";

/// A genuine link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookingLink {
    /// What it opens.
    pub booking: BookingId,
    /// It counts as long as this is the booking's generation.
    pub generation: u32,
}

/// The link is not one of ours, or was changed, or its key is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotALink;

/// Makes links with the newest key, and knows those of all keys.
///
/// Each key is a file `link-<since s>.key`. To rotate, put a newer one beside it and start again;
/// `.retired` behind the name of an old one ends the links that it made.
pub struct BookingLinks {
    /// By the file's name, the newest last.
    keys: Vec<LinkKey>,
    /// Where a booking's page is, with `{booking}` and `{link}` where they belong.
    page: Option<String>,
}

struct LinkKey {
    kid: String,
    mac: KeyedMac,
}

impl LinkKey {
    fn new(key: &[u8; 32]) -> Self {
        // A name of the key that tells nothing about it.
        let kid = keyed_mac(key, "booking link key").finalize().into_bytes();
        Self { kid: hex(&kid[..4]), mac: keyed_mac(key, "booking link") }
    }

    fn sign(&self, text: &str) -> KeyedMac {
        let mut mac = self.mac.clone();
        mac.update(text.as_bytes());
        mac
    }
}

impl BookingLinks {
    /// Reads the keys; the first one is drawn if there is none. `page` is where a booking's page is.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(keys: &KeyDir, page: Option<String>) -> io::Result<Self> {
        let mut names = keys.names(FILE_PREFIX)?;
        if names.is_empty() {
            names.push(format!("{FILE_PREFIX}{:012}.key", unix_now_s()));
        }
        let keys = names.iter().map(|name| Ok(LinkKey::new(&keys.load_or_draw(name)?)));
        Ok(Self { keys: keys.collect::<io::Result<_>>()?, page })
    }

    /// The link of a booking. It is the same text each time, until the key or the generation changes.
    ///
    /// # Panics
    /// If there is no key, which [`Self::open`] does not leave so.
    #[must_use]
    pub fn make(&self, booking: &BookingId, generation: u32) -> String {
        let key = self.keys.last().expect("there is a key");
        let mut link = format!("{PREFIX}{booking}.{generation}.{}", key.kid);
        let mac = key.sign(&link).finalize().into_bytes();
        link.push('.');
        BASE64_URL_SAFE_NO_PAD.encode_string(mac, &mut link);
        link
    }

    /// What a link opens. Whether its generation still counts is not checked here.
    ///
    /// # Errors
    /// [`NotALink`] unless it was made under one of the keys.
    pub fn verify(&self, link: &str) -> Result<BookingLink, NotALink> {
        let (signed, mac) = link.rsplit_once('.').ok_or(NotALink)?;
        let (rest, kid) = signed.rsplit_once('.').ok_or(NotALink)?;
        let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).map_err(|_| NotALink)?;
        let key = self.keys.iter().find(|key| key.kid == kid).ok_or(NotALink)?;
        // Compares in constant time.
        key.sign(signed).verify_slice(&mac).map_err(|_| NotALink)?;
        let rest = rest.strip_prefix(PREFIX).ok_or(NotALink)?;
        // A booking's id has dots in it.
        let (booking, generation) = rest.rsplit_once('.').ok_or(NotALink)?;
        Ok(BookingLink {
            booking: booking.parse().map_err(|_| NotALink)?,
            generation: generation.parse().map_err(|_| NotALink)?,
        })
    }

    /// The address of a booking's page, if it is known; with the link in it, where the page takes one.
    #[must_use]
    pub fn address(&self, booking: &BookingId, link: &str) -> Option<String> {
        let page = self.page.as_ref()?;
        Some(page.replace("{booking}", booking.as_str()).replace("{link}", link))
    }

    /// Whether the addresses of pages carry links: such an address is a secret.
    #[must_use]
    pub fn is_in_address(&self) -> bool {
        self.page.as_ref().is_some_and(|page| page.contains("{link}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(keys: &[u8]) -> BookingLinks {
        let keys = keys.iter().map(|key| LinkKey::new(&[*key; 32])).collect();
        BookingLinks { keys, page: Some("https://shop.example/b/{booking}#{link}".into()) }
    }

    fn booking() -> BookingId {
        "tour.2026.00112233445566778899aabbccddeeff".parse().unwrap()
    }

    #[test]
    fn a_link_names_its_booking_and_generation_even_if_the_event_has_dots() {
        let link = links(&[7]).make(&booking(), 3);
        assert_eq!(link, links(&[7]).make(&booking(), 3));
        let expected = BookingLink { booking: booking(), generation: 3 };
        assert_eq!(links(&[7]).verify(&link), Ok(expected));
        let address = links(&[7]).address(&booking(), &link).unwrap();
        assert_eq!(address, format!("https://shop.example/b/{}#{link}", booking()));
    }

    #[test]
    fn any_changed_byte_makes_a_link_worthless() {
        let link = links(&[7]).make(&booking(), 0);
        for i in 0..link.len() {
            let mut bytes = link.clone().into_bytes();
            bytes[i] = if bytes[i] == b'0' { b'1' } else { b'0' };
            let forged = String::from_utf8(bytes).unwrap();
            assert_eq!(links(&[7]).verify(&forged), Err(NotALink), "{forged}");
        }
        for forged in ["", "b1.", "b1....", "g1.a.1.b", "....."] {
            assert_eq!(links(&[7]).verify(forged), Err(NotALink), "{forged}");
        }
    }

    #[test]
    fn links_of_every_key_that_is_there_are_known_and_the_newest_makes_them() {
        let (old, new) = (links(&[7]).make(&booking(), 0), links(&[8]).make(&booking(), 0));
        assert_eq!(links(&[7, 8]).make(&booking(), 0), new);
        assert!(links(&[7, 8]).verify(&old).is_ok() && links(&[7, 8]).verify(&new).is_ok());
        assert_eq!(links(&[8]).verify(&old), Err(NotALink));
    }
}

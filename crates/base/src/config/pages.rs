//! Where people find pages.

use super::Config;
use super::web_address::web_address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Where a browser on this machine finds what listens at an address: nobody can go to all addresses
/// at once, but this machine has one that is always its own.
#[must_use]
pub fn reached_from_here(listens: SocketAddr) -> SocketAddr {
    let mut here = listens;
    match here.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => here.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => here.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    here
}

impl Config {
    /// Whether people's browsers come by https.
    #[must_use]
    pub fn is_https(&self) -> bool {
        let is_public = self.public_url.as_ref().is_some_and(|url| url.starts_with("https://"));
        is_public || self.tls.is_some()
    }

    /// Where people's browsers find the pages, if the server listens at `public`.
    #[must_use]
    pub fn pages_url(&self, public: SocketAddr) -> String {
        self.public_url.clone().unwrap_or_else(|| {
            let here = reached_from_here(public);
            format!("{}://{here}", if self.tls.is_some() { "https" } else { "http" })
        })
    }

    /// The host by which people's browsers reach this machine, if `public_url` says so.
    #[must_use]
    pub fn public_host(&self) -> Option<String> {
        let url = web_address(self.public_url.as_deref()?).ok()?;
        url.host().map(str::to_owned)
    }

    /// Where the page of a booking is, with `{booking}` and `{link}` where they belong; `None`
    /// where nobody could know.
    #[must_use]
    pub fn booking_page(&self) -> Option<String> {
        if let Some(url) = self.mail.as_ref().and_then(|mail| mail.booking_url.clone()) {
            return Some(url);
        }
        // A port that is not chosen yet leads nowhere tomorrow.
        let is_lasting = self.public_url.is_some() || self.listen.port() != 0;
        let here = is_lasting.then(|| self.pages_url(self.listen))?;
        Some(format!("{here}/bookings/{{booking}}#{{link}}"))
    }

    /// Says what is wrong with where people find pages.
    pub(super) fn pages_complaints(&self, wrong: &mut impl FnMut(&str)) {
        if let Some(url) = &self.public_url {
            let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
            let whole =
                host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#']));
            if !whole || web_address(url).is_err() {
                wrong("public_url: use the form https://tickets.example, with no path");
            }
        }
        if self.tls.is_some()
            && self.public_url.as_ref().is_some_and(|url| url.starts_with("http://"))
        {
            wrong("public_url: with [tls] browsers come by https; use an https address");
        }
        // On an address of this machine alone somebody tries it out, and reads the mail there too.
        let leads_nowhere = self.public_url.is_none() && !self.listen.ip().is_loopback();
        if leads_nowhere && self.mail.as_ref().is_some_and(|mail| mail.booking_url.is_none()) {
            wrong(
                "public_url: [mail] needs it: mails link to pages below it. Set it to where browsers reach \
                 this, such as https://tickets.example, or set mail.booking_url to a page of your own",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(settings: &str) -> Option<String> {
        toml::from_str::<Config>(settings).unwrap().booking_page()
    }

    #[test]
    fn bookings_are_found_where_the_shop_says_or_here() {
        let ours = |at: &str| Some(format!("{at}/bookings/{{booking}}#{{link}}"));
        let public = "public_url = \"https://tickets.example\"\n";
        assert_eq!(page(public), ours("https://tickets.example"));
        assert_eq!(page("listen = \"0.0.0.0:80\""), ours("http://127.0.0.1:80"));
        assert_eq!(page("listen = \"127.0.0.1:0\""), None);
        let mail = "[mail]\nsmtp = \"a:1\"\nfrom = \"a@b.example\"\n";
        assert_eq!(page(&format!("{public}{mail}")), ours("https://tickets.example"));
        let theirs = "https://shop.example/{booking}";
        let mail = format!("{public}{mail}booking_url = \"{theirs}\"\n");
        assert_eq!(page(&mail), Some(theirs.into()));
    }

    #[test]
    fn the_host_is_that_of_the_public_url() {
        let host = |url: &str| {
            let url = Some(url.to_owned());
            Config { public_url: url, ..Config::default() }.public_host()
        };
        assert_eq!(host("https://tickets.example").as_deref(), Some("tickets.example"));
        assert_eq!(host("http://192.0.2.7:8080").as_deref(), Some("192.0.2.7"));
        assert_eq!(host("http://[2001:db8::7]:8080").as_deref(), Some("[2001:db8::7]"));
        assert_eq!(Config::default().public_host(), None);
    }

    #[test]
    fn mail_that_would_lead_to_this_machine_is_refused() {
        let mail = "[mail]\nsmtp = \"mx.shop.example:587\"\nfrom = \"a@shop.example\"\n";
        let theirs = format!("{mail}booking_url = \"https://shop.example/{{booking}}\"\n");
        let public = "public_url = \"https://tickets.example\"\n";
        let complaint = |text: String| toml::from_str::<Config>(&text).unwrap().check().err();
        for listen in ["0.0.0.0:8080", "[::]:8080", "192.0.2.7:8080"] {
            let listen = format!("listen = \"{listen}\"\n");
            let why = complaint(format!("{listen}{mail}")).expect(&listen).to_string();
            assert!(why.starts_with("public_url: [mail] needs it"), "{why}");
            assert!(complaint(format!("{listen}{public}{mail}")).is_none(), "{listen}");
            assert!(complaint(format!("{listen}{theirs}")).is_none(), "{listen}");
            assert!(complaint(listen).is_none(), "without mail");
        }
        for listen in ["127.0.0.1:8080", "[::1]:8080"] {
            assert!(complaint(format!("listen = \"{listen}\"\n{mail}")).is_none(), "{listen}");
        }
    }

    #[test]
    fn pages_are_where_it_is_said_or_else_where_the_server_listens() {
        let pages = |public_url: Option<&str>, public: &str| {
            let config = Config { public_url: public_url.map(str::to_owned), ..Config::default() };
            config.pages_url(public.parse().unwrap())
        };
        assert_eq!(pages(Some("https://a.example"), "0.0.0.0:80"), "https://a.example");
        assert_eq!(pages(None, "192.0.2.7:8080"), "http://192.0.2.7:8080");
        assert_eq!(pages(None, "0.0.0.0:8080"), "http://127.0.0.1:8080");
        assert_eq!(pages(None, "[::]:8080"), "http://[::1]:8080");
    }
}

//! Where people find pages.

use super::Config;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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
            let mut here = public;
            // Nobody can go to all addresses at once, but this machine has one that is always its own.
            match here.ip() {
                IpAddr::V4(ip) if ip.is_unspecified() => here.set_ip(Ipv4Addr::LOCALHOST.into()),
                IpAddr::V6(ip) if ip.is_unspecified() => here.set_ip(Ipv6Addr::LOCALHOST.into()),
                IpAddr::V4(_) | IpAddr::V6(_) => {}
            }
            format!("{}://{here}", if self.tls.is_some() { "https" } else { "http" })
        })
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

//! Where people find pages.

use super::Config;

impl Config {
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
}

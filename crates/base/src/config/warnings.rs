//! What is odd about settings that can be used all the same.

use super::Config;
use super::secrets::is_this_machine;
use super::web_address::web_address;

impl Config {
    /// What to look at, as sentences that name the place: the sale goes on with it, and may not as is
    /// meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut found = Vec::new();
        let public = self.public_url.as_deref().and_then(|url| web_address(url).ok());
        let is_https = public.as_ref().is_some_and(|uri| uri.scheme_str() == Some("https"));
        if is_https && self.tls.is_none() && self.trusted_proxies.is_empty() {
            found.push(
                "trusted_proxies: public_url is https and there is no [tls], so a proxy is in front: name \
                 the address that it comes from (127.0.0.1 or ::1 on this machine), or all visitors share \
                 the limits of that one"
                    .to_owned(),
            );
        }
        let is_near = public.as_ref().and_then(|uri| uri.host()).is_none_or(is_this_machine);
        if let Some(what) = self.takes_no_money().filter(|_| !is_near) {
            found.push(format!(
                "{what} takes no real money: buyers get genuine tickets for nothing"
            ));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_names_its_place_and_can_be_used() {
        let url = "public_url = \"https://tickets.example\"\n";
        let (near, plain) =
            (url.replace("tickets.example", "localhost"), url.replace("https", "http"));
        let named = |text: &str| {
            let config = Config::parse(text).unwrap();
            config.check().unwrap();
            let warnings = config.warnings();
            let places = warnings.iter().map(|why| why.split(':').next().unwrap().to_owned());
            places.collect::<Vec<_>>().join(" ")
        };
        let proxy = "trusted_proxies = [\"127.0.0.1\"]\n";
        let tls = "[tls.acme]\ndomains = [\"tickets.example\"]\naccept_terms = true\n";
        let sandbox = "gateway = \"sandbox\"\n";
        let stripe = "gateway = \"stripe\"\n[stripe]\nsecret_key = \"sk_test_0123456789\"\n\
                      webhook_secret = \"whsec_0123456789abcdef\"\n";
        for (text, places) in [
            (String::new(), ""),
            (url.to_owned(), "trusted_proxies"),
            (format!("{url}{proxy}"), ""),
            (format!("{url}{tls}"), ""),
            (plain.clone(), ""),
            (sandbox.to_owned(), ""),
            (format!("{plain}{sandbox}"), "gateway"),
            (format!("{near}{proxy}{sandbox}"), ""),
            (format!("{url}{proxy}{stripe}"), "stripe.secret_key"),
        ] {
            assert_eq!(named(&text), places, "{text}");
        }
    }
}

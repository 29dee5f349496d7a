//! What can be configured about receipts: who sells.

use onrush_core::Time;
use onrush_core::limits::fits_name;
use serde::Deserialize;

const DAY: &str = "2027-01-01";

/// Who sells, as receipts say it. Without it no receipts are made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SellerSettings {
    /// The name of the business.
    pub name: String,
    /// Where it is, line by line.
    pub address: Vec<String>,
    /// What the tax office knows it by.
    #[serde(default)]
    pub tax_id: Option<String>,
    /// What the numbers of receipts begin with; another series counts from 1 again.
    #[serde(default = "first_series")]
    pub series: String,
    /// From when on money that is taken has documents: a day, which begins at 00:00 UTC, or a time as
    /// RFC 3339. Without it, all of it has.
    #[serde(default)]
    pub from: Option<String>,
}

fn first_series() -> String {
    "R".into()
}

impl SellerSettings {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// What is wrong, as a sentence that names the place.
    pub fn check(&self) -> Result<(), String> {
        let Self { name, address, tax_id, series, from: _ } = self;
        if !is_line(name) {
            return Err("seller.name: use 1 to 500 characters on one line".into());
        }
        if !(1..=6).contains(&address.len()) || !address.iter().all(|line| is_line(line)) {
            return Err("seller.address: use 1 to 6 lines of 1 to 500 characters".into());
        }
        if tax_id.as_ref().is_some_and(|tax_id| !is_line(tax_id)) {
            return Err(
                "seller.tax_id: use 1 to 500 characters on one line, or leave it out".into()
            );
        }
        let is_plain = series.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !(1..=12).contains(&series.len()) || !is_plain {
            return Err("seller.series: use 1 to 12 of A-Z, a-z and 0-9, such as R or R2026".into());
        }
        self.starts_at()?;
        Ok(())
    }

    /// From when on money that is taken has documents; `None` if all of it has.
    ///
    /// # Errors
    /// That it is no time, as a sentence that names the place.
    pub fn starts_at(&self) -> Result<Option<Time>, String> {
        let Some(text) = &self.from else { return Ok(None) };
        let is_day = text.len() == DAY.len();
        let text = if is_day { format!("{text}T00:00:00Z") } else { text.clone() };
        let Ok(at) = text.parse::<jiff::Timestamp>() else {
            return Err(format!(
                "seller.from: use a day such as {DAY}, which begins at 00:00 UTC, or a time with its \
                 offset such as {DAY}T00:00:00+01:00, or leave it out"
            ));
        };
        Ok(Some(Time(at.as_millisecond())))
    }
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && fits_name(text) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::SellerSettings;
    use onrush_core::Time;

    fn checked(text: &str) -> Result<(), String> {
        let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
        config.check().map_err(|error| error.to_string())
    }

    #[test]
    fn a_seller_is_checked_before_anything_is_issued() {
        let seller = "[seller]\nname = \"Hall\"\naddress = [\"1 Lane\", \"Town\"]\n";
        checked(seller).unwrap();
        checked(&format!("{seller}tax_id = \"DE1\"\nseries = \"R2026\"\n")).unwrap();
        checked(&format!("{seller}from = \"2027-01-01\"\n")).unwrap();
        for (text, place) in [
            (seller.replace("Hall", " "), "seller.name"),
            (seller.replace("\"1 Lane\", \"Town\"", ""), "seller.address"),
            (seller.replace("1 Lane", "1\\nLane"), "seller.address"),
            (format!("{seller}tax_id = \"\"\n"), "seller.tax_id"),
            (format!("{seller}series = \"R-1\"\n"), "seller.series"),
            (format!("{seller}series = \"\"\n"), "seller.series"),
            (format!("{seller}from = \"2027-02-30\"\n"), "seller.from"),
            (format!("{seller}from = \"2027-01-01T00:00:00\"\n"), "seller.from"),
            (format!("{seller}from = \"\"\n"), "seller.from"),
            (format!("{seller}colour = \"red\"\n"), "colour"),
        ] {
            let why = checked(&text).unwrap_err();
            assert!(why.contains(place), "{place}: {why}");
        }
    }

    #[test]
    fn a_day_begins_at_midnight_utc_and_a_time_says_its_offset() {
        let midnight = Time(1_798_761_600_000);
        for (from, at) in [
            (None, None),
            (Some("2027-01-01"), Some(midnight)),
            (Some("2027-01-01T00:00:00Z"), Some(midnight)),
            (Some("2027-01-01T01:00:00+01:00"), Some(midnight)),
        ] {
            let seller = SellerSettings {
                name: "Hall".into(),
                address: vec!["1 Lane".into()],
                tax_id: None,
                series: "R".into(),
                from: from.map(str::to_owned),
            };
            assert_eq!(seller.starts_at(), Ok(at), "{from:?}");
        }
    }
}

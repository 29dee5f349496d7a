//! What can be configured about receipts: who sells.

use onrush_core::limits::fits_name;
use serde::Deserialize;

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
        let Self { name, address, tax_id, series } = self;
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
        Ok(())
    }
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && fits_name(text) && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::super::Config;

    fn checked(text: &str) -> Result<(), String> {
        let config: Config = toml::from_str(text).map_err(|error| error.to_string())?;
        config.check().map_err(|error| error.to_string())
    }

    #[test]
    fn a_seller_is_checked_before_anything_is_issued() {
        let seller = "[seller]\nname = \"Hall\"\naddress = [\"1 Lane\", \"Town\"]\n";
        checked(seller).unwrap();
        checked(&format!("{seller}tax_id = \"DE1\"\nseries = \"R2026\"\n")).unwrap();
        for (text, place) in [
            (seller.replace("Hall", " "), "seller.name"),
            (seller.replace("\"1 Lane\", \"Town\"", ""), "seller.address"),
            (seller.replace("1 Lane", "1\\nLane"), "seller.address"),
            (format!("{seller}tax_id = \"\"\n"), "seller.tax_id"),
            (format!("{seller}series = \"R-1\"\n"), "seller.series"),
            (format!("{seller}series = \"\"\n"), "seller.series"),
            (format!("{seller}colour = \"red\"\n"), "colour"),
        ] {
            let why = checked(&text).unwrap_err();
            assert!(why.contains(place), "{place}: {why}");
        }
    }
}

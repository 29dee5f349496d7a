//! Mail addresses: which ones a letter can be sent to.

use lettre::Address;

/// The longest mail address, in bytes (RFC 5321, 4.5.3.1.3, without its brackets).
pub const MAX_BYTES: usize = 254;

/// Whether a letter can be addressed to `address`: `ann@example.org`, in ASCII. The letter itself
/// reads it the same way, so that what a buyer is let pay with is never found wrong afterwards.
///
/// Quoted names and numbers in brackets are mail addresses too, and nobody has one who shops.
#[must_use]
pub fn can_be_written_to(address: &str) -> bool {
    address.len() <= MAX_BYTES
        && address.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"[]".contains(&byte))
        && address.parse::<Address>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_people_are_taken() {
        for address in [
            "ann@example.org",
            "a@b",
            "ann.lee+tickets@mail.example.org",
            "o'neill_1@xn--bcher-kva.example",
            "{x}@1.example",
        ] {
            assert!(can_be_written_to(address), "{address}");
        }
        assert!(can_be_written_to(&format!("{}@example.org", "a".repeat(64))));
    }

    #[test]
    fn addresses_that_no_letter_takes_are_refused() {
        for address in [
            "",
            "ann",
            "ann@",
            "@example.org",
            "ann@example.org,",
            "ann@example..org",
            "ann@example.org.",
            "ann@-example.org",
            "ann@exam_ple.org,bob@example.org",
            "<ann@example.org>",
            "ann.@example.org",
            ".ann@example.org",
            "a..b@example.org",
            "ann@bob@example.org",
            "ann lee@example.org",
            "\"ann\"@example.org",
            "ann@[127.0.0.1]",
            "änn@example.org",
            "ann@exämple.org",
            "ann@example.org\r\nBcc: bob@example.org",
        ] {
            assert!(!can_be_written_to(address), "{address}");
        }
        assert!(!can_be_written_to(&format!("{}@example.org", "a".repeat(65))));
        assert!(!can_be_written_to(&format!("ann@{}org", "example.".repeat(40))));
    }
}

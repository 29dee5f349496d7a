//! Codes that carry a visitor to another device: short enough to be typed, good for ten minutes, and once.

use crate::auth::{KeyedMac, keyed_mac, random};
use hmac::Mac;

/// How long a code is good for, in milliseconds.
pub const CODE_MS: i64 = 600_000;

/// Crockford's alphabet: no letter is taken for a digit, and none for another.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Symbols of a code, of 5 bits each.
const SYMBOLS: usize = 12;
/// Symbols in one group.
const GROUP: usize = 4;

/// Makes codes, and knows what they are kept under.
pub struct CarryCodes {
    mac: KeyedMac,
}

impl CarryCodes {
    /// Codes that are kept under `key`.
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self { mac: keyed_mac(key, "carry code") }
    }

    /// A fresh code, `XXXX-XXXX-XXXX`.
    #[must_use]
    pub fn draw() -> String {
        let mut code = String::with_capacity(SYMBOLS + SYMBOLS / GROUP);
        // 256 is a multiple of 32, so that every symbol is as likely as any other.
        for (index, byte) in random::<SYMBOLS>().into_iter().enumerate() {
            if index > 0 && index % GROUP == 0 {
                code.push('-');
            }
            code.push(char::from(ALPHABET[usize::from(byte % 32)]));
        }
        code
    }

    /// What a code is kept under, however it was typed; `None` if no code looks like this.
    #[must_use]
    pub fn hash(&self, typed: &str) -> Option<[u8; 32]> {
        let mut symbols = Vec::with_capacity(SYMBOLS);
        for byte in typed.bytes().filter(|byte| !matches!(byte, b'-' | b' ')) {
            let symbol = match byte.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                symbol => symbol,
            };
            if symbols.len() == SYMBOLS || !ALPHABET.contains(&symbol) {
                return None;
            }
            symbols.push(symbol);
        }
        if symbols.len() != SYMBOLS {
            return None;
        }
        let mut mac = self.mac.clone();
        mac.update(&symbols);
        Some(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_known_however_it_is_typed() {
        let codes = CarryCodes::new(&[7; 32]);
        let code = CarryCodes::draw();
        assert_eq!(code.len(), SYMBOLS + 2);
        let hash = codes.hash(&code);
        assert!(hash.is_some());
        for typed in [code.to_lowercase(), code.replace('-', ""), format!("  {code} ")] {
            assert_eq!(codes.hash(&typed), hash, "{typed}");
        }
        assert_eq!(codes.hash("OIL1-0000-0000"), codes.hash("0111 0000 0000"));
        assert_ne!(CarryCodes::new(&[8; 32]).hash(&code), hash);
    }

    #[test]
    fn what_is_no_code_is_kept_under_nothing() {
        let codes = CarryCodes::new(&[7; 32]);
        for typed in
            ["", "-", "0000-0000-000", "0000-0000-00000", "UUUU-0000-0000", "é000-0000-000"]
        {
            assert_eq!(codes.hash(typed), None, "{typed}");
        }
    }
}

//! Changes to a text that was issued, told by bytes.

/// How many bytes tell one change.
const STEP: usize = 3;

/// The text after the changes that `edits` tell: of three bytes each, what, where, and with what.
/// Incomplete ones at the end are left out.
#[must_use]
pub fn edited(issued: &str, edits: &[u8]) -> String {
    let mut text: Vec<char> = issued.chars().collect();
    for edit in edits.chunks_exact(STEP) {
        let [what, place, with] = [edit[0], edit[1], edit[2]];
        // The upper bits of the first byte reach the end of long texts.
        let place = usize::from(place) + (usize::from(what >> 3) << 8);
        let place = place % (text.len() + 1);
        let with = char::from(with);
        match what & 7 {
            0..=3 if place < text.len() => text[place] = with,
            0..=4 => text.insert(place, with),
            5 if place < text.len() => drop(text.remove(place)),
            6 => text.truncate(place),
            _ => text.extend_from_within(..place.min(64)),
        }
    }
    text.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::edited;

    #[test]
    fn no_edit_leaves_the_text_as_it_is_and_each_kind_changes_it() {
        assert_eq!(edited("abc", b""), "abc");
        assert_eq!(edited("abc", b"\x00\x01"), "abc");
        assert_eq!(edited("abc", b"\x00\x01X"), "aXc");
        assert_eq!(edited("abc", b"\x04\x01X"), "aXbc");
        assert_eq!(edited("abc", b"\x05\x01X"), "ac");
        assert_eq!(edited("abc", b"\x06\x01X"), "a");
        assert_eq!(edited("abc", b"\x07\x02X"), "abcab");
        assert_eq!(edited("abc", b"\x00\x03X"), "abcX");
    }
}

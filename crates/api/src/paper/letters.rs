//! Fonts: which one has a letter, how letters stand beside each other, and how wide that is.

use krilla::text::{Font, GlyphId, KrillaGlyph};
use rustybuzz::{Direction, Face, UnicodeBuffer};

/// How strong letters are. Thai and Hangul have one strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// A font, for shaping and for the file.
struct Cut {
    face: Face<'static>,
    font: Font,
}

impl Cut {
    fn of(bytes: &'static [u8]) -> Self {
        let face = Face::from_slice(bytes, 0).expect("a font of ours can be read");
        let font = Font::new(bytes.into(), 0).expect("a font of ours can be read");
        Self { face, font }
    }

    fn has(&self, letter: char) -> bool {
        self.face.glyph_index(letter).is_some()
    }
}

/// All fonts.
pub(super) struct Letters {
    regular: Cut,
    bold: Cut,
    thai: Cut,
    korean: Cut,
}

/// Letters of one font, shaped.
pub(super) struct Run {
    pub(super) font: Font,
    pub(super) glyphs: Vec<KrillaGlyph>,
    pub(super) text: String,
    /// For a size of 1.
    pub(super) width: f32,
}

impl Letters {
    pub(super) fn new() -> Self {
        Self {
            regular: Cut::of(include_bytes!("../../fonts/NotoSans-Regular.ttf")),
            bold: Cut::of(include_bytes!("../../fonts/NotoSans-Bold.ttf")),
            thai: Cut::of(include_bytes!("../../fonts/NotoSansThai-Regular.ttf")),
            korean: Cut::of(include_bytes!("../../fonts/NotoSansKR-Regular.ttf")),
        }
    }

    /// A text, part by part of one font.
    pub(super) fn shape(&self, text: &str, weight: Weight) -> Vec<Run> {
        let latin = match weight {
            Weight::Regular => &self.regular,
            Weight::Bold => &self.bold,
        };
        let cuts = [latin, &self.thai, &self.korean];
        // A letter that no font has is drawn as the first one's empty box.
        let cut_of = |letter: char| cuts.iter().position(|cut| cut.has(letter)).unwrap_or(0);
        let mut parts: Vec<(usize, String)> = Vec::new();
        for letter in text.chars() {
            match parts.last_mut() {
                Some((cut, part)) if cuts[*cut].has(letter) => part.push(letter),
                _ => parts.push((cut_of(letter), letter.into())),
            }
        }
        parts.into_iter().map(|(cut, text)| shape(cuts[cut], text)).collect()
    }

    /// How wide a text is at a size.
    pub(super) fn width(&self, text: &str, weight: Weight, size: f32) -> f32 {
        self.shape(text, weight).iter().map(|run| run.width).sum::<f32>() * size
    }

    /// A text in lines of this width: broken at blanks, and within words that are wider than a line.
    pub(super) fn wrap(&self, text: &str, weight: Weight, size: f32, width: f32) -> Vec<String> {
        let fits = |line: &str| self.width(line, weight, size) <= width;
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in text.split_whitespace() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if fits(&longer) {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for letters in inseparable(word) {
                if !line.is_empty() && !fits(&format!("{line}{letters}")) {
                    lines.push(std::mem::take(&mut line));
                }
                line.push_str(letters);
            }
        }
        if !line.is_empty() || lines.is_empty() {
            lines.push(line);
        }
        lines
    }
}

fn shape(cut: &Cut, text: String) -> Run {
    let mut buffer = UnicodeBuffer::new();
    buffer.push_str(&text);
    buffer.guess_segment_properties();
    buffer.set_direction(Direction::LeftToRight);
    let shaped = rustybuzz::shape(&cut.face, &[], buffer);
    let infos = shaped.glyph_infos();
    #[expect(clippy::cast_precision_loss, reason = "units of a font are small numbers")]
    let em = |units: i32| units as f32 / cut.font.units_per_em();
    let glyphs: Vec<KrillaGlyph> = infos
        .iter()
        .zip(shaped.glyph_positions())
        .enumerate()
        .map(|(nth, (info, position))| {
            let start = info.cluster as usize;
            let mut after = infos[nth + 1..].iter().map(|info| info.cluster as usize);
            let end = after.find(|end| *end != start).unwrap_or(text.len());
            KrillaGlyph::new(
                GlyphId::new(info.glyph_id),
                em(position.x_advance),
                em(position.x_offset),
                em(position.y_offset),
                em(position.y_advance),
                start..end,
                None,
            )
        })
        .collect();
    let width = glyphs.iter().map(|glyph| glyph.x_advance).sum();
    Run { font: cut.font.clone(), glyphs, text, width }
}

/// A word's letters with what stands on, below, before or behind each: where a line may be broken.
fn inseparable(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let next = rest.char_indices().zip(rest.chars().skip(1));
        let apart = |((_, letter), next): &((usize, char), char)| may_break(*letter, *next);
        let end = next.into_iter().find(apart).map(|((at, letter), _)| at + letter.len_utf8());
        let (letters, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!letters.is_empty()).then_some(letters)
    })
}

/// Whether a line may end after a letter when another comes next. Latin marks stay where they are, and
/// so do Thai vowels, tones and signs: SARA AM, for one, begins above its consonant.
fn may_break(letter: char, next: char) -> bool {
    let above_or_below = [
        '\u{300}'..='\u{36f}',
        '\u{e31}'..='\u{e31}',
        '\u{e34}'..='\u{e3a}',
        '\u{e47}'..='\u{e4e}',
    ];
    // Stretched for effect, there may be a line of them.
    let is_behind =
        |letter| matches!(letter, '\u{e30}' | '\u{e32}' | '\u{e33}' | '\u{e45}' | '\u{e46}');
    let is_before = |letter| matches!(letter, '\u{e40}'..='\u{e44}');
    !above_or_below.iter().any(|marks| marks.contains(&next))
        && (!is_behind(next) || letter == next)
        && (!is_before(letter) || is_before(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stretched_for_effect_are_broken_all_the_same() {
        for text in ["มากกกก", "กาาาา", "เเเเก"] {
            assert!(inseparable(text).count() >= 4, "{text}");
            assert_eq!(inseparable(text).collect::<String>(), text);
        }
        assert_eq!(inseparable("").count(), 0);
    }

    #[test]
    fn no_thai_vowel_is_torn_from_its_consonant() {
        let letters = Letters::new();
        let text = "น้ำใจเป็นทำนองคำร้องไม่เคยเก่าๆและแก้ได้เธอโตเร็วฯ";
        for width in 20..=80_u16 {
            let lines = letters.wrap(text, Weight::Regular, 10.0, f32::from(width));
            assert!(lines.len() > 2, "{lines:?}");
            assert_eq!(lines.concat(), text);
            for line in &lines {
                let begins = line.starts_with(['ะ', 'า', 'ำ', 'ๆ', '้', '่', '็', 'ิ', '็']);
                let ends = line.ends_with(['เ', 'แ', 'โ', 'ใ', 'ไ']);
                assert!(!begins && !ends, "{width} points: {lines:?}");
                assert!(letters.width(line, Weight::Regular, 10.0) <= f32::from(width), "{line}");
            }
        }
    }

    #[test]
    fn letters_of_all_five_languages_are_in_a_font() {
        let letters = Letters::new();
        let text = "Ärger Phiếu hoàn tiền ใบเสร็จรับเงิน 영수증 Kuitansi €₫฿₩ 123";
        for weight in [Weight::Regular, Weight::Bold] {
            for run in letters.shape(text, weight) {
                let missing = run.glyphs.iter().any(|glyph| glyph.glyph_id.to_u32() == 0);
                assert!(!missing, "{}", run.text);
            }
        }
        let strange = letters.shape("漢", Weight::Regular);
        assert_eq!(strange[0].glyphs[0].glyph_id.to_u32(), 0);
    }

    #[test]
    fn lines_are_no_wider_than_they_may_be_and_lose_nothing() {
        let letters = Letters::new();
        let text = "a quite long line เลขประจำตัวผู้เสียภาษี ofaverylongwordthatmustbebroken x";
        let lines = letters.wrap(text, Weight::Regular, 10.0, 60.0);
        assert!(lines.len() > 4, "{lines:?}");
        for line in &lines {
            assert!(letters.width(line, Weight::Regular, 10.0) <= 60.0, "{line}");
        }
        let dense = |text: &str| text.replace(' ', "");
        assert_eq!(dense(&lines.concat()), dense(text));
        assert_eq!(letters.wrap("", Weight::Bold, 10.0, 60.0), [""]);
    }
}

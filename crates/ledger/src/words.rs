//! The words that stand in columns.

/// Something that stands in a column as one of a few words.
pub(crate) trait Word: Copy + Into<&'static str> {
    /// The word.
    fn word(self) -> &'static str {
        self.into()
    }
}

impl<T: Copy + Into<&'static str>> Word for T {}

#[cfg(test)]
mod tests {
    use super::Word;
    use crate::desk::{DeskKind, DeskStatus};
    use crate::money::{Capture, OnDecline, RefundCause, RefundStatus};
    use crate::receipt::ReceiptKind;
    use onrush_core::hold::HoldStatus;
    use onrush_core::saga::{Stage, Step};
    use serde::Serialize;
    use std::str::FromStr;
    use strum::VariantArray;

    /// Every one's word leads back to it, and is its word in JSON.
    fn check<T: Word + FromStr + VariantArray + Serialize + PartialEq>() {
        for known in T::VARIANTS {
            assert!(known.word().parse::<T>().is_ok_and(|read| read == *known), "{}", known.word());
            assert_eq!(serde_json::to_value(known).expect("a word"), known.word());
        }
    }

    #[test]
    fn words_lead_back_and_are_the_same_in_json() {
        check::<Step>();
        check::<Stage>();
        check::<HoldStatus>();
        check::<OnDecline>();
        check::<Capture>();
        check::<RefundCause>();
        check::<RefundStatus>();
        check::<DeskKind>();
        check::<DeskStatus>();
        check::<ReceiptKind>();
    }
}

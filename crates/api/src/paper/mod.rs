//! Receipts and credit notes on paper: PDF with its fonts inside.
//!
//! The same document comes to the same bytes. `letters.rs` knows fonts, `sheet.rs` pages, and
//! `receipt.rs` what stands where.

mod letters;
mod receipt;
mod sheet;
mod words;

pub use words::Language;

use onrush_ledger::receipt::Receipt;

/// A receipt or credit note as a PDF.
///
/// # Errors
/// Why it cannot be drawn, as a sentence.
pub fn receipt_pdf(receipt: &Receipt, language: Language) -> Result<Vec<u8>, String> {
    receipt::lay_out(receipt, language).draw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopdf::{Document as Pdf, Object};
    use onrush_core::Time;
    use onrush_core::tax::Tax;
    use onrush_ledger::receipt::{Corrects, Document, Purpose, ReceiptLine, Seller};

    fn line(nth: u32, amount_minor: i64) -> ReceiptLine {
        let tax_minor = amount_minor / 11;
        ReceiptLine {
            purpose: Purpose::Sales,
            pool: None,
            seat: Some(format!("Balcony-{nth}").parse().unwrap()),
            type_name: Some("Phiếu học sinh".into()),
            quantity: Some(1),
            price_minor: Some(amount_minor),
            amount_minor,
            net_minor: amount_minor - tax_minor,
            tax_minor,
        }
    }

    fn receipt(lines: u32) -> Receipt {
        let fees = ReceiptLine {
            purpose: Purpose::Fees,
            seat: None,
            type_name: None,
            quantity: None,
            price_minor: None,
            ..line(0, 1_100)
        };
        let lines: Vec<_> = (1..=lines).map(|nth| line(nth, 12_100)).chain([fees]).collect();
        Receipt {
            number: "R2026-17".parse().unwrap(),
            corrects: None,
            booking: "gala.0123456789abcdef0123456789abcdef".parse().unwrap(),
            event: "gala".parse().unwrap(),
            issued_at: Time(1_790_000_000_123),
            currency: "EUR".parse().unwrap(),
            amount_minor: lines.iter().map(|line| line.amount_minor).sum(),
            buyer_name: Some("Nguyễn Thị 김민수 สมชาย".into()),
            buyer_email_lower: None,
            document: Document {
                seller: Seller {
                    name: "Hall of Ours Ltd".into(),
                    address: vec!["1 Long Lane".into(), "12345 Town".into()],
                    tax_id: Some("XX123".into()),
                },
                title: "Gala of the year".into(),
                tax: Some(Tax { name: "VAT".into(), rate_bp: 1_000 }),
                lines,
                moved_at: Time(1_789_990_000_000),
            },
        }
    }

    fn pdf(receipt: &Receipt, language: Language) -> Pdf {
        Pdf::load_mem(&receipt_pdf(receipt, language).unwrap()).unwrap()
    }

    /// All of its text, without the blanks: letters of several fonts are drawn one after the other.
    fn text(pdf: &Pdf) -> String {
        let pages: Vec<u32> = pdf.get_pages().into_keys().collect();
        pdf.extract_text(&pages).unwrap().split_whitespace().collect()
    }

    #[test]
    fn a_document_says_everything_and_its_text_can_be_read_back() {
        let pdf = pdf(&receipt(2), Language::En);
        let text = text(&pdf);
        for part in [
            "Receipt",
            "R2026-17",
            "HallofOursLtd",
            "1LongLane",
            "XX123",
            "Galaoftheyear",
            "gala.0123456789abcdef0123456789abcdef",
            "NguyễnThị",
            "김민수",
            "สมชาย",
            "2026-09-21(UTC)",
            "Balcony-2·Phiếuhọcsinh",
            "121.00",
            "Fees",
            "VAT10%",
            "23.00",
            "253.00EUR",
            "Page1of1",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn fonts_are_in_the_file_and_cut_down_to_what_is_used() {
        let bytes = receipt_pdf(&receipt(2), Language::Ko).unwrap();
        assert!(bytes.len() < 60_000, "{} bytes", bytes.len());
        let pdf = Pdf::load_mem(&bytes).unwrap();
        let mut names = Vec::new();
        for object in pdf.objects.values() {
            let Ok(font) = object.as_dict() else { continue };
            if font.get(b"Type").and_then(Object::as_name).ok() == Some(b"FontDescriptor") {
                let is_inside = font.has(b"FontFile2") || font.has(b"FontFile3");
                assert!(is_inside, "{font:?}");
                let name = font.get(b"FontName").and_then(Object::as_name).unwrap();
                names.push(String::from_utf8_lossy(name).rsplit('+').next().unwrap().to_owned());
            }
        }
        names.sort();
        let expected =
            ["NotoSans-Bold", "NotoSans-Regular", "NotoSansKR-Regular", "NotoSansThai-Regular"];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_same_document_comes_to_the_same_bytes() {
        let receipt = receipt(3);
        let first = receipt_pdf(&receipt, Language::Th).unwrap();
        assert!(first == receipt_pdf(&receipt, Language::Th).unwrap());
        assert!(first != receipt_pdf(&receipt, Language::En).unwrap());
    }

    #[test]
    fn a_long_document_goes_on_on_further_pages() {
        let pdf = pdf(&receipt(100), Language::En);
        assert_eq!(pdf.get_pages().len(), 3);
        let text = text(&pdf);
        assert!(text.contains("Balcony-100") && text.contains("Page3of3"), "{text}");
        assert_eq!(text.matches("Unitprice").count(), 3);
    }

    #[test]
    fn a_credit_note_over_a_part_says_of_what_and_of_which_receipt() {
        let mut note = receipt(0);
        let fees = note.document.lines.remove(0);
        let part = ReceiptLine { purpose: Purpose::Sales, ..fees.clone() };
        note.document.lines = vec![part, fees];
        let receipt = "R-9".parse().unwrap();
        note.corrects = Some(Corrects { refund: "refund:gala.1:1".into(), receipt });
        let text = text(&pdf(&note, Language::En));
        for part in ["Creditnote", "ForreceiptR-9", "Partoftheprice", "Partofthefees"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn every_language_has_all_words_in_letters_that_can_be_drawn() {
        use Language::{En, Id, Ko, Th, Vi};
        for language in [En, Th, Vi, Ko, Id] {
            let words = language.words();
            assert!(words.page.contains("{page}") && words.page.contains("{pages}"));
            assert!(text(&pdf(&receipt(1), language)).contains("R2026-17"));
        }
    }
}

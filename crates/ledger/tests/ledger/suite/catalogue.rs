use super::books::Books;
use crate::rows::{event, page};
use onrush_core::Time;
use onrush_core::settings::Settings;
use onrush_core::tax::Tax;
use onrush_ledger::projection::{CatalogueText, Fact};

fn text(title: &str) -> CatalogueText {
    CatalogueText { title: title.into(), description: "One night.".into(), venue: "Hall 1".into() }
}

#[tokio::test]
async fn texts_are_kept_by_language_and_replaced() {
    let Some(mut books) = Books::new().await else { return };
    let (gala, fair) = (event("gala"), event("fair"));
    assert_eq!(books.texts(&gala).await, Ok(vec![]));
    books.set_text(&gala, "th", text("งานกาล่า")).await.expect("kept");
    books.set_text(&gala, "en", text("Gal")).await.expect("kept");
    books.set_text(&gala, "en", text("Gala")).await.expect("kept");
    books.set_text(&fair, "en", text("Fair")).await.expect("kept");
    books.reopen().await;
    let expected = vec![("en".to_owned(), text("Gala")), ("th".to_owned(), text("งานกาล่า"))];
    assert_eq!(books.texts(&gala).await, Ok(expected));
    assert_eq!(books.texts(&fair).await, Ok(vec![("en".to_owned(), text("Fair"))]));
}

#[tokio::test]
async fn settings_of_an_event_are_those_that_were_told_last() {
    let Some(mut books) = Books::new().await else { return };
    let gala = event("gala");
    assert_eq!(books.settings_of(&gala).await, Ok(None));
    let first = Settings::new("Gala", "EUR".parse().expect("a currency"));
    let tax = Some(Tax { name: "VAT".into(), rate_bp: 700 });
    let last = Settings { tax, ..first.clone() };
    for (cursor, settings) in (1..).zip([&first, &last]) {
        let told = Fact::Event {
            event: gala.clone(),
            title: settings.title.to_string(),
            currency: settings.currency.to_string(),
            settings: serde_json::to_string(settings).expect("plain data"),
            at: Time(5),
        };
        books.project(page(cursor, vec![told])).await.expect("written");
        assert_eq!(books.settings_of(&gala).await, Ok(Some(settings.clone())));
    }
    books.reopen().await;
    assert_eq!(books.settings_of(&gala).await, Ok(Some(last)));
    assert_eq!(books.settings_of(&event("fair")).await, Ok(None));
}

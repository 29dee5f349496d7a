use super::books::Books;
use crate::rows::event;
use onrush_ledger::projection::CatalogueText;

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

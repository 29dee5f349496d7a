//! Who is known for a booking whose payment was just written down.

use super::*;
use crate::sagas::SagaDeps;
use onrush_base::auth::payers::Payers;
use onrush_base::config::{Patience, RetentionSettings};
use onrush_ledger::sqlite::SqliteLedger;
use onrush_relay::messages::Channels;
use onrush_store::embedded::{Clock, Embedded, Options};
use std::sync::Arc;

fn buyer(name: &str) -> Buyer {
    let email = format!("{name}@example.org");
    Buyer { name: name.into(), email, language: "en".into() }
}

/// A refused confirmation puts back whom it had read before the payment. A payment that recovery wrote down
/// named nobody, and whoever is known there stays.
#[tokio::test]
async fn a_payment_that_named_its_buyer_names_them_again_in_the_place_of_somebody_else() {
    let dirs = [(); 2].map(|()| tempfile::tempdir().expect("a dir"));
    let engine = Embedded::open(dirs[0].path(), Options::default()).expect("the engine begins");
    let sagas = Sagas::new(SagaDeps {
        engine: Arc::new(engine),
        ledger: Arc::new(SqliteLedger::open(dirs[1].path()).expect("opened")),
        gateway: None,
        clock: Clock::default(),
        patience: Patience::default(),
        retention: RetentionSettings::default(),
        payers: Payers::new(&[7; 32]),
        channels: Channels::default(),
        cluster: None,
        pairing: None,
        issuer: None,
    });
    let user: UserId = "ann".parse().expect("an id");
    let (ann, bo) = (buyer("ann"), buyer("bo"));
    for (nth, (known, is_ours, expected)) in [
        (Some(&bo), true, Some(&ann)),
        (Some(&bo), false, Some(&bo)),
        (Some(&ann), true, Some(&ann)),
        (None, true, None),
        (None, false, Some(&ann)),
    ]
    .into_iter()
    .enumerate()
    {
        let booking: BookingId = format!("gala.{nth}").parse().expect("an id");
        if let Some(known) = known {
            let named = sagas.ledger.set_buyer(&booking, &user, known.clone());
            named.await.expect("it answers");
        }
        sagas.name_again(&booking, &user, &ann, is_ours).await.expect("it answers");
        let found = sagas.ledger.buyer(&booking).await.expect("it answers");
        assert_eq!(found.as_ref(), expected, "{known:?} {is_ours}");
    }
}

//! Payment gateways through real sockets: the sandbox and Stripe's API by one suite, and what is
//! each one's own.

mod at_stripe;
mod at_stripe_desk;
mod at_stripe_kept;
mod at_stripe_lost;
mod at_stripe_refunds;
mod calls;
#[path = "../api/client.rs"]
#[expect(dead_code, reason = "the tests of the API use the rest")]
mod client;
mod fake_stripe;
mod fake_stripe_form;
mod inbox;
mod page;
mod replay;
mod sandbox;
mod sandbox_faults;
#[path = "../api/shop.rs"]
#[expect(dead_code, reason = "the tests of the API use the rest")]
mod shop;
mod stage;
mod stripe;
mod suite;

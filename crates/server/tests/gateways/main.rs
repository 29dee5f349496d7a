//! Payment gateways through real sockets: the sandbox and Stripe's API by one suite, and what is each one's own.

mod calls;
mod fake_stripe;
mod fake_stripe_form;
mod inbox;
mod killed;
mod page;
mod replay;
mod sandbox;
mod sandbox_faults;
mod stage;
mod stripe;
mod suite;

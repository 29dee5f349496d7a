//! The HTTP API and the live streams: requests become commands and questions, the feed becomes
//! updates.
//!
//! What may happen is decided in `onrush-core`; what happened is kept by `onrush-store`.

mod answers;
mod broken;
pub mod draw;
#[cfg(test)]
mod engine_stub;
mod feed_page;
pub mod history;
pub mod http;
pub mod inventory;
pub mod json;
pub mod live;
pub mod paper;
pub mod plans;
pub mod prices;
pub mod restored;

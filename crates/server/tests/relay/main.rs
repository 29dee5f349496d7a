//! Telling people: mail through a real SMTP server, webhooks to a real receiver, dead letters and replay.

mod again;
#[path = "../api/client.rs"]
#[expect(dead_code, reason = "these tests use a part of it")]
mod client;
mod encrypted;
mod mail;
#[path = "../api/shop.rs"]
#[expect(dead_code, reason = "these tests use a part of it")]
mod shop;
mod sink;
mod told;
mod waiting;
mod webhooks;

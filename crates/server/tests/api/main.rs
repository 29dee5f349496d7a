//! The HTTP API through real sockets: each test starts a server of its own on a free port, in a directory of its own.

mod bad_input;
mod chance;
mod claiming;
mod client;
mod documents;
mod drawing;
mod holding;
mod joining;
mod money_admin;
mod organising;
mod pace;
mod paying;
mod repeating;
mod s3_paths;
mod sandboxed;
mod seat_maps;
mod sessions;
mod shop;
mod stopping;
mod streaming;
mod stuck;
mod ticketing;
mod till;
mod tokens;
mod webhooks;

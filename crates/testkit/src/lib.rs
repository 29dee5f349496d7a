//! Starts real servers for tests, each in a temporary folder and on a free port, and stops them
//! again; keeps what a test logs, and the texts that must not change by accident.
//!
//! ```no_run
//! # use onrush_testkit::{Redis, need};
//! # fn main() {
//! let Some(redis) = need(Redis::start()) else { return };
//! println!("{}", redis.url());
//! # }
//! ```
//!
//! A server lives as long as its value: dropping it, also while a test panics, ends the process and
//! removes the folder. Where `setpriv` is installed a test that is killed takes its servers along.
//! Nothing here waits for a time to pass: starting returns when the server answers, within a bound,
//! and an error carries the end of the server's log.

#![forbid(unsafe_code)]

mod authority;
mod free_port;
mod golden;
#[cfg(feature = "interleavings")]
pub mod interleavings;
mod kafka;
mod log;
mod need;
mod oidc;
mod pebble;
mod postgres;
mod rabbitmq;
mod redis;
mod resp;
mod running;
mod server;
mod shared;

pub use authority::{Authority, HERE, Issued, Tls};
pub use golden::golden;
pub use kafka::{Kafka, KafkaOptions, SaslUser};
pub use log::Log;
pub use need::{Missing, NotStarted, need, on_a_mock};
pub use oidc::{OidcOptions, OidcProvider};
pub use pebble::{Pebble, PebbleOptions};
pub use postgres::{Postgres, PostgresOptions};
pub use rabbitmq::RabbitMq;
pub use redis::cluster::RedisCluster;
pub use redis::pair::RedisPair;
pub use redis::sentinel::RedisSentinels;
pub use redis::{Redis, RedisOptions};
pub use running::Running;
pub use server::wait_until;
pub use shared::Shared;

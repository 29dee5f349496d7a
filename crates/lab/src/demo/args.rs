//! What can be chosen about the demo.

use std::path::PathBuf;

/// What can be chosen about the demo.
#[derive(clap::Args)]
pub struct DemoArgs {
    /// How many fans come
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=200_000))]
    pub(super) fans: u32,
    /// The house, as a pretix seating plan [default: an arena with 11,920 seats]
    #[arg(long, value_name = "FILE")]
    pub(super) plan: Option<PathBuf>,
    /// Standing places, beside the seats of the plan
    #[arg(long, value_name = "N", default_value_t = 2_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) zone_capacity: u32,
    /// Fans who may shop at a time
    #[arg(long, value_name = "N", default_value_t = 2_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) room_capacity: u32,
    /// Payments of a hundred that are declined at first
    #[arg(long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) declined_pct: u32,
    /// Calls of the gateway of a hundred that are done and not answered
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) lost_answer_pct: u32,
    /// Payments of a hundred that the gateway tells of twice
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) duplicate_pct: u32,
    /// Payments of a hundred that the gateway tells of when the hold has run out
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) late_pct: u32,
    /// Payments of a hundred that the gateway never tells of
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(super) never_pct: u32,
    /// All fans choose their seats in the map and want no others; else nine of ten leave the choice to
    /// the server
    #[arg(long)]
    pub(super) clicking: bool,
    /// Connections that polling fans share
    #[arg(long, value_name = "N", default_value_t = 256,
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) connections: u32,
    /// Fans who wait by an open stream instead of polling
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub(super) streams: u32,
    /// Another number makes another crowd
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    /// Two nodes on Redis, PostgreSQL, RabbitMQ and Kafka, which are started for the demo and gone afterwards
    #[arg(long, conflicts_with = "keep")]
    pub(super) cluster: bool,
    /// Keep the data in this directory, which must not have any yet [default: a temporary one,
    /// removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Stay afterwards, with a second sale for people among a crowd that keeps coming, until Ctrl-C
    #[arg(long, conflicts_with = "cluster")]
    pub(super) stay: bool,
    /// Print the result as one line of JSON
    #[arg(long)]
    pub(super) json: bool,
}

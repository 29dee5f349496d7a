//! The engine on Redis or Redis Cluster, for many processes: the same commands, replies, refusals and changes as the
//! embedded one, with one Lua script a command.
//!
//! Redis numbers each event's decisions by itself; the [`Archive`] numbers all of them in one sequence and is what the
//! feed is read from.

mod archive;
pub mod kit;

pub use archive::{Archive, ArchiveError, Archived, Pending as ArchivePending, ToArchive};

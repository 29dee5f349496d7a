//! The embedded engine from outside: what it promises, and what it does when things go wrong.

mod archive;
mod archive_files;
mod audit;
mod audit_prices;
mod changes;
mod clocks;
mod crash;
mod deadlines;
mod documents;
mod feed;
mod files;
mod limits;
mod prefix;
mod sale;
mod snapshots;
mod stepped;

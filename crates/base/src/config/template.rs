//! Every setting there is.

/// Every setting there is, with its default and what it means, as a configuration file.
pub const TEMPLATE: &str = include_str!("template.toml");

//! Storage for many small records.

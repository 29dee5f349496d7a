//! What a node of a cluster has instead of files: the engine on Redis and the ledger on PostgreSQL.

mod archive;

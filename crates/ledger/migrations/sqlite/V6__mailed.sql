-- Addresses that got mail about a booking without money, by a hash, so that nobody writes to strangers through the shop.
CREATE TABLE mailed (
    address BLOB NOT NULL,
    event_id TEXT NOT NULL,
    message_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (address, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX mailed_by_time ON mailed (at);

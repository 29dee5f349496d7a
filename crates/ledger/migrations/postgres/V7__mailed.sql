-- Addresses that got mail about a booking without money, by a hash, so that nobody writes to strangers through the shop.
CREATE TABLE mailed (
    address BYTEA NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    message_id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (address, event_id)
);
CREATE INDEX mailed_by_time ON mailed (at);

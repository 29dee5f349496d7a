-- Events that were seen to be over, and when: who bought at them is erased some time later.
CREATE TABLE events_over (
    event_id TEXT COLLATE "C" PRIMARY KEY,
    since BIGINT NOT NULL
);

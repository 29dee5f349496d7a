-- What the gateway's own desk did with our payments, beside what was asked of it. Without settled_at nobody did anything
-- about it.
CREATE TABLE desk_entries (
    entry_id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('refund', 'dispute', 'second_payment')),
    status TEXT NOT NULL CHECK (status IN ('open', 'moved', 'stayed')),
    gateway TEXT NOT NULL,
    reference TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    booking_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor >= 0),
    currency TEXT NOT NULL,
    why TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    settled_at BIGINT,
    settled_by TEXT,
    settled_why TEXT
) WITHOUT ROWID;
CREATE INDEX desk_by_time ON desk_entries (created_at, entry_id);
CREATE INDEX desk_open ON desk_entries (created_at, entry_id) WHERE settled_at IS NULL;
CREATE INDEX desk_by_booking ON desk_entries (booking_id, created_at, entry_id);

-- Times are milliseconds since 1970-01-01T00:00:00Z, amounts are minor units, ids are text.

-- The sagas: S1.3's columns, and what the driver needs beside them. They are truths, not projections.
CREATE TABLE sagas (
    -- Given in the order sagas begin, so that the histories of those under way lie side by side.
    number INTEGER PRIMARY KEY,
    saga_id TEXT NOT NULL,
    booking_id TEXT NOT NULL UNIQUE,
    current_step TEXT NOT NULL CHECK (current_step IN (
        'RESERVE_SENT', 'RESERVE_OK', 'PAYMENT_SENT', 'PAYMENT_OK', 'CONFIRMED', 'COMPENSATING', 'FAILED'
    )),
    reserve_completed_at BIGINT,
    payment_completed_at BIGINT,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    event_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor >= 0),
    currency TEXT NOT NULL,
    payment_id TEXT,
    next_at BIGINT,
    tries BIGINT NOT NULL CHECK (tries >= 0),
    stuck TEXT
);
CREATE INDEX sagas_due ON sagas (next_at) WHERE stuck IS NULL AND next_at IS NOT NULL;
CREATE INDEX sagas_stuck ON sagas (updated_at, booking_id) WHERE stuck IS NOT NULL;
CREATE INDEX sagas_by_user ON sagas (user_id);

CREATE TABLE saga_history (
    saga BIGINT NOT NULL REFERENCES sagas (number),
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    step TEXT NOT NULL,
    stage TEXT,
    note TEXT NOT NULL,
    PRIMARY KEY (saga, version)
) WITHOUT ROWID;

CREATE TABLE payments (
    booking_id TEXT NOT NULL REFERENCES sagas (booking_id),
    payment_id TEXT NOT NULL,
    gateway TEXT NOT NULL,
    reference TEXT,
    url TEXT,
    client_secret TEXT,
    amount_minor BIGINT NOT NULL CHECK (amount_minor >= 0),
    currency TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN (
        'creating', 'open', 'closing', 'closed', 'void', 'captured', 'refunding', 'returned', 'refunded'
    )),
    captured_minor BIGINT NOT NULL CHECK (captured_minor >= 0),
    why TEXT,
    flagged BIGINT NOT NULL CHECK (flagged IN (0, 1)),
    on_decline TEXT NOT NULL CHECK (on_decline IN ('keep', 'release')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (booking_id, payment_id)
);
CREATE INDEX payments_by_time ON payments (created_at, payment_id);
CREATE INDEX payments_flagged ON payments (created_at, payment_id) WHERE flagged = 1;

CREATE TABLE refunds (
    booking_id TEXT NOT NULL,
    refund_id TEXT NOT NULL,
    payment_id TEXT NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor >= 0),
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('requested', 'sent', 'done', 'failed')),
    why TEXT NOT NULL,
    reference TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (booking_id, refund_id),
    FOREIGN KEY (booking_id, payment_id) REFERENCES payments (booking_id, payment_id)
);
CREATE INDEX refunds_by_time ON refunds (created_at, refund_id);

-- Who pays. The only table that names people; its rows are deleted on request.
CREATE TABLE buyers (
    booking_id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    language TEXT NOT NULL,
    -- In small letters, to be searched.
    name_lower TEXT NOT NULL,
    email_lower TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX buyers_by_email ON buyers (email_lower);

-- Bookings as the feed tells of them.
CREATE TABLE bookings (
    booking_id TEXT NOT NULL PRIMARY KEY,
    event_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN (
        'held', 'paying', 'confirmed', 'released', 'expired', 'cancelled'
    )),
    lines TEXT NOT NULL,
    amount_minor BIGINT NOT NULL,
    fee_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    payment_id TEXT,
    refund_minor BIGINT NOT NULL,
    checked_in BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX bookings_by_time ON bookings (created_at, booking_id);
CREATE INDEX bookings_by_event ON bookings (event_id, created_at, booking_id);
CREATE INDEX bookings_by_user ON bookings (user_id, created_at, booking_id);

-- The catalogue: events and prices as the feed tells of them, and texts that admins write.
CREATE TABLE catalogue_events (
    event_id TEXT NOT NULL PRIMARY KEY,
    title TEXT NOT NULL,
    currency TEXT NOT NULL,
    settings TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE catalogue_prices (
    event_id TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('pool', 'category')),
    name TEXT NOT NULL,
    price_minor BIGINT NOT NULL,
    PRIMARY KEY (event_id, kind, name)
);
CREATE TABLE catalogue_texts (
    event_id TEXT NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    venue TEXT NOT NULL,
    PRIMARY KEY (event_id, language)
);

-- How far the feed was followed: one row.
CREATE TABLE feed_cursor (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL CHECK (seq >= 0)
);
INSERT INTO feed_cursor (id, seq) VALUES (1, 0);

-- Requests with a key, and their answers. No status: no answer yet.
CREATE TABLE requests (
    scope TEXT NOT NULL,
    request_key TEXT NOT NULL,
    body_hash BLOB NOT NULL,
    owner BIGINT NOT NULL,
    begun_at BIGINT NOT NULL,
    status BIGINT,
    content_type TEXT,
    body BLOB,
    PRIMARY KEY (scope, request_key)
);
CREATE INDEX requests_by_time ON requests (begun_at);

-- What people and other systems are to be told. A message is kept, so that its id stays known; a delivery lasts until it
-- is done. One without next_at was given up.
CREATE TABLE messages (
    message_id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    event_id TEXT NOT NULL,
    booking_id TEXT,
    at BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE deliveries (
    message_id TEXT NOT NULL REFERENCES messages (message_id),
    channel TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    since BIGINT NOT NULL,
    next_at BIGINT,
    died_at BIGINT,
    error TEXT,
    PRIMARY KEY (message_id, channel),
    CHECK ((next_at IS NULL) = (died_at IS NOT NULL))
) WITHOUT ROWID;
CREATE INDEX deliveries_due ON deliveries (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (died_at, message_id, channel) WHERE died_at IS NOT NULL;

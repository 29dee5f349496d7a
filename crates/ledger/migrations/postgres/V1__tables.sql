-- Times are milliseconds since 1970-01-01T00:00:00Z, amounts are minor units, ids are text in the order of their bytes.
-- A `timestamptz` is a time by this server's own clock: the clocks of nodes are never compared with each other.

-- The sagas: S1.3's columns, and what the driver needs beside them. They are truths, not projections.
CREATE TABLE sagas (
    -- Given in the order sagas begin, so that the histories of those under way lie side by side.
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    saga_id TEXT NOT NULL,
    booking_id TEXT COLLATE "C" NOT NULL UNIQUE,
    current_step TEXT NOT NULL CHECK (current_step IN (
        'RESERVE_SENT', 'RESERVE_OK', 'PAYMENT_SENT', 'PAYMENT_OK', 'CONFIRMED', 'COMPENSATING', 'FAILED'
    )),
    reserve_completed_at BIGINT,
    payment_completed_at BIGINT,
    updated_at BIGINT NOT NULL,
    version BIGINT NOT NULL CHECK (version >= 1),
    event_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor >= 0),
    currency TEXT NOT NULL,
    payment_id TEXT COLLATE "C",
    next_at BIGINT,
    tries BIGINT NOT NULL CHECK (tries >= 0),
    stuck TEXT,
    -- Which node works on it, and until when nobody else shall.
    claimed_by TEXT,
    claimed_until TIMESTAMPTZ
);
CREATE INDEX sagas_due ON sagas (next_at) WHERE stuck IS NULL AND next_at IS NOT NULL;
CREATE INDEX sagas_stuck ON sagas (updated_at, booking_id) WHERE stuck IS NOT NULL;
CREATE INDEX sagas_by_user ON sagas (user_id);
CREATE INDEX sagas_by_step ON sagas (current_step, updated_at, booking_id);

CREATE TABLE saga_history (
    saga BIGINT NOT NULL REFERENCES sagas (number),
    version BIGINT NOT NULL,
    at BIGINT NOT NULL,
    step TEXT NOT NULL,
    stage TEXT,
    note TEXT NOT NULL,
    PRIMARY KEY (saga, version)
);

CREATE TABLE payments (
    booking_id TEXT COLLATE "C" NOT NULL REFERENCES sagas (booking_id),
    payment_id TEXT COLLATE "C" NOT NULL,
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
    flagged BOOLEAN NOT NULL,
    on_decline TEXT NOT NULL CHECK (on_decline IN ('keep', 'release')),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (booking_id, payment_id)
);
CREATE INDEX payments_by_time ON payments (created_at, payment_id);
CREATE INDEX payments_flagged ON payments (created_at, payment_id) WHERE flagged;

CREATE TABLE refunds (
    booking_id TEXT COLLATE "C" NOT NULL,
    refund_id TEXT COLLATE "C" NOT NULL,
    payment_id TEXT COLLATE "C" NOT NULL,
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
    booking_id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    language TEXT NOT NULL,
    -- In small letters, to be searched.
    name_lower TEXT NOT NULL,
    email_lower TEXT NOT NULL
);
CREATE INDEX buyers_by_email ON buyers (email_lower);

-- Bookings as the feed tells of them.
CREATE TABLE bookings (
    booking_id TEXT COLLATE "C" PRIMARY KEY,
    event_id TEXT COLLATE "C" NOT NULL,
    user_id TEXT COLLATE "C" NOT NULL,
    status TEXT NOT NULL CHECK (status IN (
        'held', 'paying', 'confirmed', 'released', 'expired', 'cancelled'
    )),
    lines JSONB NOT NULL,
    amount_minor BIGINT NOT NULL,
    fee_minor BIGINT NOT NULL,
    currency TEXT NOT NULL,
    payment_id TEXT COLLATE "C",
    refund_minor BIGINT NOT NULL,
    checked_in BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX bookings_by_time ON bookings (created_at, booking_id);
CREATE INDEX bookings_by_event ON bookings (event_id, created_at, booking_id);
CREATE INDEX bookings_by_user ON bookings (user_id, created_at, booking_id);

-- Room-nights as the feed tells of them (S1.2): what is held now, and what is left of pools named <room>.<YYYY-MM-DD>.
CREATE TABLE reservation_holds (
    booking_id TEXT COLLATE "C" NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    room_id TEXT COLLATE "C" NOT NULL,
    date DATE NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity > 0),
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (booking_id, room_id, date)
);
CREATE INDEX reservation_holds_by_deadline ON reservation_holds (expires_at);
CREATE TABLE room_availability (
    event_id TEXT COLLATE "C" NOT NULL,
    room_id TEXT COLLATE "C" NOT NULL,
    date DATE NOT NULL,
    available_count BIGINT NOT NULL,
    PRIMARY KEY (event_id, room_id, date)
);

-- The catalogue: events and prices as the feed tells of them, and texts that admins write.
CREATE TABLE catalogue_events (
    event_id TEXT COLLATE "C" PRIMARY KEY,
    title TEXT NOT NULL,
    currency TEXT NOT NULL,
    settings TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE catalogue_prices (
    event_id TEXT COLLATE "C" NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('pool', 'category')),
    name TEXT COLLATE "C" NOT NULL,
    price_minor BIGINT NOT NULL,
    PRIMARY KEY (event_id, kind, name)
);
CREATE TABLE catalogue_texts (
    event_id TEXT COLLATE "C" NOT NULL,
    language TEXT COLLATE "C" NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    venue TEXT NOT NULL,
    PRIMARY KEY (event_id, language)
);

-- How far the feed was followed: one row.
CREATE TABLE feed_cursor (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    seq BIGINT NOT NULL CHECK (seq >= 0)
);
INSERT INTO feed_cursor (id, seq) VALUES (1, 0);

-- Requests with a key, and their answers. No status: no answer yet.
CREATE TABLE requests (
    scope TEXT COLLATE "C" NOT NULL,
    request_key TEXT COLLATE "C" NOT NULL,
    body_hash BYTEA NOT NULL,
    owner BIGINT NOT NULL,
    begun_at BIGINT NOT NULL,
    status BIGINT,
    content_type TEXT,
    body BYTEA,
    PRIMARY KEY (scope, request_key)
);
CREATE INDEX requests_by_time ON requests (begun_at);

-- Which run of a process works through which node, so that one node does not take another's requests for left behind.
CREATE TABLE nodes (
    node TEXT PRIMARY KEY,
    owner BIGINT NOT NULL,
    alive_until TIMESTAMPTZ NOT NULL
);

-- What people and other systems are to be told. A message is kept, so that its id stays known; a delivery lasts until it
-- is done. One without next_at was given up.
CREATE TABLE messages (
    message_id TEXT COLLATE "C" PRIMARY KEY,
    kind TEXT NOT NULL,
    event_id TEXT COLLATE "C" NOT NULL,
    booking_id TEXT COLLATE "C",
    at BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE deliveries (
    message_id TEXT COLLATE "C" NOT NULL REFERENCES messages (message_id),
    channel TEXT COLLATE "C" NOT NULL,
    attempts BIGINT NOT NULL,
    since BIGINT NOT NULL,
    next_at BIGINT,
    died_at BIGINT,
    error TEXT,
    claimed_by TEXT,
    claimed_until TIMESTAMPTZ,
    PRIMARY KEY (message_id, channel),
    CHECK ((next_at IS NULL) = (died_at IS NOT NULL))
);
CREATE INDEX deliveries_due ON deliveries (channel, next_at) WHERE next_at IS NOT NULL;
CREATE INDEX deliveries_dead ON deliveries (died_at, message_id, channel) WHERE died_at IS NOT NULL;

-- The archive of the feed. A row that is lost was decided in an epoch that came to nothing beyond that point.
CREATE TABLE feed (
    number BIGINT PRIMARY KEY,
    event TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    at BIGINT NOT NULL,
    changes TEXT NOT NULL,
    lost BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (event, epoch, seq)
);
CREATE UNIQUE INDEX feed_by_event ON feed (event, seq) WHERE NOT lost;
-- Where each event's history ends; first_number orders events by when they were created.
CREATE TABLE feed_events (
    event TEXT COLLATE "C" PRIMARY KEY,
    epoch BIGINT NOT NULL CHECK (epoch >= 0),
    last_seq BIGINT NOT NULL CHECK (last_seq >= 0),
    first_number BIGINT
);
-- One row: the highest number. Whoever appends has it locked, so that numbers appear in their order.
CREATE TABLE feed_head (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    number BIGINT NOT NULL CHECK (number >= 0)
);
INSERT INTO feed_head (id, number) VALUES (1, 0);

-- Who may do what only one node shall do at a time. No owner: it was given back.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT,
    fence BIGINT NOT NULL CHECK (fence >= 1),
    expires_at TIMESTAMPTZ NOT NULL
);

-- How far those who follow something have come, and under which fencing number it was written.
CREATE TABLE cursors (
    name TEXT PRIMARY KEY,
    fence BIGINT NOT NULL CHECK (fence >= 0),
    value BIGINT NOT NULL CHECK (value >= 0)
);

-- For how many of a hundred users something is on.
CREATE TABLE flags (
    name TEXT COLLATE "C" PRIMARY KEY,
    percent BIGINT NOT NULL CHECK (percent BETWEEN 0 AND 100)
);

-- Files that all nodes have alike: keys, the seeds of draws, the drawings of seat maps.
CREATE TABLE files (
    name TEXT COLLATE "C" PRIMARY KEY,
    content BYTEA NOT NULL
);

-- What the organiser's own system wants of the pools (S0.6). Onrush reads it and never writes it: a sync brings it into the
-- engine.
CREATE TABLE inventory (
    event_id TEXT COLLATE "C" NOT NULL CHECK (event_id ~ '^[A-Za-z0-9._-]{1,64}$'),
    pool_id TEXT COLLATE "C" NOT NULL CHECK (pool_id ~ '^[A-Za-z0-9._-]{1,128}$'),
    capacity BIGINT NOT NULL CHECK (capacity BETWEEN 0 AND 1000000000),
    price_minor BIGINT NOT NULL DEFAULT 0 CHECK (price_minor BETWEEN 0 AND 1000000000000),
    PRIMARY KEY (event_id, pool_id)
);

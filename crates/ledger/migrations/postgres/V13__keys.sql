-- What people and services did with their keys, also what was refused. Without a name it was a wrong key, without a code it
-- was done. No user, buyer or body stands in it.
CREATE TABLE actions (
    request_id TEXT COLLATE "C" PRIMARY KEY,
    at BIGINT NOT NULL,
    key_name TEXT COLLATE "C",
    address TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    event_id TEXT COLLATE "C",
    status INTEGER NOT NULL,
    code TEXT
);
CREATE INDEX actions_by_time ON actions (at, request_id);
CREATE INDEX actions_by_key ON actions (key_name, at, request_id);
CREATE INDEX actions_by_event ON actions (event_id, at, request_id);

-- Sessions of browsers that are not over, by a hash of what the cookie has.
CREATE TABLE browser_sessions (
    session_id TEXT COLLATE "C" PRIMARY KEY,
    key_name TEXT COLLATE "C" NOT NULL,
    address TEXT NOT NULL,
    begun_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);
CREATE INDEX browser_sessions_by_key ON browser_sessions (key_name, seen_at, session_id);

-- The journal's file, as docs/design/journal.md explains it.
CREATE TABLE journal (
    seq   INTEGER PRIMARY KEY, -- the decision's number, from 1, without gaps
    at    INTEGER NOT NULL,    -- milliseconds since 1970-01-01T00:00:00Z
    event TEXT NOT NULL,       -- the event's id
    body  TEXT NOT NULL        -- the changes, a JSON array
) STRICT;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a change.
CREATE VIEW changes AS
SELECT journal.seq, journal.at, journal.event,
       coalesce(named.key, element.value) AS change,
       named.value AS body
FROM journal
JOIN json_each(journal.body) AS element
LEFT JOIN json_each(iif(element.type = 'object', element.value, '[]')) AS named;

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
SELECT seq, at, event,
       iif(type = 'object', (SELECT key FROM json_each(value)), value) AS change,
       iif(type = 'object', (SELECT value FROM json_each(element.value)), NULL) AS body
FROM (SELECT journal.seq, journal.at, journal.event, element.type, element.value
      FROM journal, json_each(journal.body) AS element) AS element;

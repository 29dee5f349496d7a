-- Which archive this is: files with history of it say so.
ALTER TABLE feed_head ADD COLUMN identity TEXT COLLATE "C" NOT NULL
    DEFAULT replace(gen_random_uuid()::text, '-', '');
-- Archived events whose history is in files: of their rows in `feed` the first and the last are left.
CREATE TABLE feed_files (
    event TEXT COLLATE "C" PRIMARY KEY,
    decisions BIGINT NOT NULL CHECK (decisions >= 2),
    first_number BIGINT NOT NULL,
    last_number BIGINT NOT NULL,
    -- Of the file's text, but for its last line; 64 hexadecimal digits.
    sha256 TEXT NOT NULL
);

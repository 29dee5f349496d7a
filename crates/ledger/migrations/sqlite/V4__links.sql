-- Links of bookings that were withdrawn: those of an earlier generation count no more. A booking without a row has generation 0.
CREATE TABLE link_generations (
    booking_id TEXT NOT NULL PRIMARY KEY,
    generation BIGINT NOT NULL CHECK (generation >= 1)
) WITHOUT ROWID;

-- Codes that carry a visitor to another device: one a visitor, by a keyed hash of the code.
CREATE TABLE carry_codes (
    user_id TEXT NOT NULL PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX carry_codes_by_end ON carry_codes (expires_at);

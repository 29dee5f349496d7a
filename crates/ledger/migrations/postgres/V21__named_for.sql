-- Whose the booking is whose buyer was named: what is free of charge and was never confirmed stands nowhere else. Rows of
-- before, and of nodes of before, have none. Those nodes join this table to bookings and ask for user_id, of which there
-- must be one.
ALTER TABLE buyers ADD COLUMN IF NOT EXISTS owner_id TEXT COLLATE "C";

-- Whose the booking is whose buyer was named: what is free of charge and was never confirmed stands nowhere else. Rows of
-- before have none.
ALTER TABLE buyers ADD COLUMN owner_id TEXT;
CREATE INDEX buyers_by_owner ON buyers (owner_id) WHERE owner_id IS NOT NULL;

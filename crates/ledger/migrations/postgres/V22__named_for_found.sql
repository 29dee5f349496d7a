-- A step of its own: whoever adds a column keeps readers out until its step has ended. No row has an owner yet.
CREATE INDEX IF NOT EXISTS buyers_by_owner ON buyers (owner_id) WHERE owner_id IS NOT NULL;

-- A decision's mark: a hash over it and the mark of the one before, as Redis keeps them. Decisions of
-- older versions have none.
ALTER TABLE feed ADD COLUMN mark BIGINT;

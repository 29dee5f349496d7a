-- Who asked, so that what is kept for one asker can be limited.
ALTER TABLE requests ADD COLUMN asker TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX requests_by_asker ON requests (asker, begun_at) WHERE status IS NOT NULL;

-- Requests that nobody is at (`owner` -1) are limited for each asker, as answers are. A step of its own: other nodes write
-- all other tables meanwhile.
CREATE INDEX IF NOT EXISTS requests_left_behind ON requests (asker, begun_at) WHERE status IS NULL AND owner = -1;

-- Requests that nobody is at (`owner` -1) are limited for each asker, as answers are.
CREATE INDEX requests_left_behind ON requests (asker, begun_at) WHERE status IS NULL AND owner = -1;

-- What is asked of one event's sagas is found without a look at all there are: when it is archived, its
-- payments, and whom it has sold to.
CREATE INDEX IF NOT EXISTS sagas_by_event ON sagas (event_id, booking_id);

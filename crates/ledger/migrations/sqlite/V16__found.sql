-- What is asked of one booking's messages, and of one event's sagas, is found without a look at all there are:
-- what a buyer was told, an event that is archived, its payments, and whom it has sold to.
CREATE INDEX messages_by_booking ON messages (booking_id) WHERE booking_id IS NOT NULL;
CREATE INDEX sagas_by_event ON sagas (event_id, booking_id);

-- What a buyer was told is found by their bookings, without a look at all messages.
-- One table in a step, since nobody writes a table while its index is made; and one that was made
-- beforehand stays (docs/operating.md, "Updating").
CREATE INDEX IF NOT EXISTS messages_by_booking ON messages (booking_id) WHERE booking_id IS NOT NULL;

-- All sagas are listed in the order in which they changed, a page at a time, without a look at all there are. A step of its
-- own: other nodes write all other tables meanwhile.
CREATE INDEX IF NOT EXISTS sagas_by_time ON sagas (updated_at, booking_id);

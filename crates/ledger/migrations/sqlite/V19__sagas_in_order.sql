-- All sagas are listed in the order in which they changed, a page at a time, without a look at all there are.
CREATE INDEX sagas_by_time ON sagas (updated_at, booking_id);

-- The ticket types of a booking's units, with their names and prices of then: JSON, or nothing if none of them has one.
ALTER TABLE bookings ADD COLUMN types TEXT;

-- The price of one unit of each line, where one is not the first price that its thing had; else an empty array.
ALTER TABLE bookings ADD COLUMN prices_minor JSONB NOT NULL DEFAULT '[]';

-- The price of one unit of each line, where one is not the first price that its thing had: a JSON array, else an empty one.
ALTER TABLE bookings ADD COLUMN prices_minor TEXT NOT NULL DEFAULT '[]';

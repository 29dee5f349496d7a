-- Which journal was followed, and when the last decision of it was made that was projected: another journal, or one that
-- lost decisions and made others since, is not taken for it.
ALTER TABLE feed_cursor ADD COLUMN journal TEXT COLLATE "C";
ALTER TABLE feed_cursor ADD COLUMN at BIGINT;

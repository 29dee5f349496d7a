-- When a payment's money is taken, and the two stages of those that take it later. A column's words cannot be changed in
-- SQLite, so the column is made anew.
ALTER TABLE payments ADD COLUMN capture TEXT NOT NULL DEFAULT 'at_once' CHECK (capture IN ('at_once', 'later'));
ALTER TABLE payments RENAME COLUMN stage TO stage_of_before;
ALTER TABLE payments ADD COLUMN stage TEXT NOT NULL DEFAULT 'creating' CHECK (stage IN (
    'creating', 'open', 'authorised', 'capturing', 'closing', 'closed', 'void', 'captured', 'refunding', 'returned',
    'refunded'
));
UPDATE payments SET stage = stage_of_before;
ALTER TABLE payments DROP COLUMN stage_of_before;

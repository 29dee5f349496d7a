-- When a payment's money is taken, and the two stages of those that take it later.
ALTER TABLE payments ADD COLUMN capture TEXT NOT NULL DEFAULT 'at_once' CHECK (capture IN ('at_once', 'later'));
ALTER TABLE payments DROP CONSTRAINT payments_stage_check;
ALTER TABLE payments ADD CONSTRAINT payments_stage_check CHECK (stage IN (
    'creating', 'open', 'authorised', 'capturing', 'closing', 'closed', 'void', 'captured', 'refunding', 'returned',
    'refunded'
));

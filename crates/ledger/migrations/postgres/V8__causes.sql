-- Why a refund is made, as a word, and which operator asked for it. Rows of before said both in `why`, which a failure
-- wrote over: theirs stays unknown.
ALTER TABLE refunds ADD COLUMN cause TEXT NOT NULL DEFAULT 'unknown' CHECK (cause IN (
    'cancelled', 'unconfirmed', 'stray', 'operator', 'by_hand', 'unknown'
));
ALTER TABLE refunds ADD COLUMN decided_by TEXT;
UPDATE refunds SET
    cause = CASE
        WHEN why = 'the booking was cancelled' THEN 'cancelled'
        WHEN why LIKE 'the booking cannot be confirmed%' THEN 'unconfirmed'
        WHEN why = 'the booking does not wait for this payment' THEN 'stray'
        WHEN why LIKE 'refunded by %' THEN 'operator'
        WHEN why LIKE 'by hand%' THEN 'by_hand'
        ELSE 'unknown'
    END,
    decided_by = CASE
        WHEN why LIKE 'refunded by %' THEN substr(why, 13)
        WHEN why LIKE 'by hand: %' THEN substr(why, 10)
    END;

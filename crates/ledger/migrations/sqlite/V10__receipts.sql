-- Receipts and credit notes: numbered from 1 in each series without a gap, and never changed once issued. Only buyer_name
-- goes if the buyer is erased. A document says what was paid for, as JSON.
CREATE TABLE receipts (
    series TEXT NOT NULL,
    number BIGINT NOT NULL CHECK (number >= 1),
    kind TEXT NOT NULL CHECK (kind IN ('receipt', 'credit_note')),
    booking_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    -- What a credit note is for, and the receipt that it takes back.
    refund_id TEXT,
    corrects_series TEXT,
    corrects_number BIGINT,
    issued_at BIGINT NOT NULL,
    currency TEXT NOT NULL,
    amount_minor BIGINT NOT NULL CHECK (amount_minor > 0),
    buyer_name TEXT,
    document TEXT NOT NULL,
    PRIMARY KEY (series, number),
    CHECK ((kind = 'credit_note') = (refund_id IS NOT NULL)),
    CHECK ((refund_id IS NULL) = (corrects_series IS NULL)),
    CHECK ((refund_id IS NULL) = (corrects_number IS NULL))
);
-- One receipt a booking, and one credit note a refund.
CREATE UNIQUE INDEX receipts_once ON receipts (booking_id, coalesce(refund_id, ''));
CREATE INDEX receipts_by_event ON receipts (event_id, series, number);

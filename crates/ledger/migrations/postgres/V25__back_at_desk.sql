-- Money that the gateway's own desk gave back is a cause of refunds, and entries say which of the gateway's payments they
-- are about: of an order that was paid twice there are two.
ALTER TABLE desk_entries ADD COLUMN IF NOT EXISTS paid_as TEXT;
ALTER TABLE refunds DROP CONSTRAINT refunds_cause_check;
ALTER TABLE refunds ADD CONSTRAINT refunds_cause_check CHECK (cause IN (
    'cancelled', 'unconfirmed', 'stray', 'operator', 'by_hand', 'at_desk', 'unknown'
));

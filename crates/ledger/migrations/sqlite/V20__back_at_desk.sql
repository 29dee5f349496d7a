-- Money that the gateway's own desk gave back is a cause of refunds, and entries say which of the gateway's payments they
-- are about: of an order that was paid twice there are two. A column's words cannot be changed in SQLite, so the column is
-- made anew.
ALTER TABLE desk_entries ADD COLUMN paid_as TEXT;
ALTER TABLE refunds RENAME COLUMN cause TO cause_of_before;
ALTER TABLE refunds ADD COLUMN cause TEXT NOT NULL DEFAULT 'unknown' CHECK (cause IN (
    'cancelled', 'unconfirmed', 'stray', 'operator', 'by_hand', 'at_desk', 'unknown'
));
UPDATE refunds SET cause = cause_of_before;
ALTER TABLE refunds DROP COLUMN cause_of_before;

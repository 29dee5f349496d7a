-- Documents that name somebody: those of bookings without a buyer name an earlier one, and are found when names are to go.
-- An address stands only beside a name.
CREATE INDEX receipts_named ON receipts (booking_id) WHERE buyer_name IS NOT NULL;

-- What mail servers answered, which repeated addresses also in other spellings. From now on it is kept without them.
UPDATE deliveries SET error = 'the mail server''s answer is not kept: an address stood in it'
    WHERE channel = 'mail' AND error LIKE '%@%';

-- To whom a document was issued: a booking may have another buyer since. Goes with buyer_name. What was issued before is
-- told to be the present buyer's where the names are the same.
ALTER TABLE receipts ADD COLUMN buyer_email_lower TEXT;
UPDATE receipts SET buyer_email_lower = email_lower FROM buyers
    WHERE buyers.booking_id = receipts.booking_id AND buyers.name = receipts.buyer_name;
CREATE INDEX receipts_by_email ON receipts (buyer_email_lower) WHERE buyer_email_lower IS NOT NULL;

-- When a booking was confirmed: the time of that decision, which stays once it is cancelled. Rows of before tell it if they
-- have not changed since, and else there may be the one message that told of it. What is sent again says nothing of `late`.
-- All others stay without, and so do those that nodes of before confirm. With the engine on Redis, which has archived in
-- `feed`, all do: rows and messages have the time of the node that followed where that one's clock was behind.
ALTER TABLE bookings ADD COLUMN IF NOT EXISTS confirmed_at BIGINT;
UPDATE bookings SET confirmed_at = CASE
        WHEN status = 'confirmed' AND checked_in = 0 THEN updated_at
        ELSE (
            SELECT CASE count(*) WHEN 1 THEN max(messages.at) END FROM messages
            WHERE messages.booking_id = bookings.booking_id AND messages.kind = 'booking_confirmed'
                AND messages.body LIKE '%"late":%' AND messages.at <= bookings.updated_at
        )
    END
    WHERE status IN ('confirmed', 'cancelled') AND confirmed_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM feed);

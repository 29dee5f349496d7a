//! What is done at the fake's own desk, and what it tells of money that was set aside and is free again.

use super::{Books, FakeStripe};
use serde_json::{Value, json};

impl FakeStripe {
    /// Somebody pays the same order again, by another intent with the same metadata: at the desk,
    /// or by a page of their own.
    pub(crate) fn pay_again(&self, payment: &str) {
        let mut books = self.books();
        let first = books.intents.iter().find(|it| it["metadata"]["payment"] == payment);
        let mut second = first.expect("it was created").clone();
        second["id"] = json!(format!("pi_{}", books.intents.len()));
        second["status"] = json!("succeeded");
        second["amount_received"] = second["amount"].clone();
        books.intents.push(second.clone());
        books.tell("payment_intent.succeeded", second);
    }

    /// Another intent with the same metadata comes to a status of its own, beside the first one.
    pub(crate) fn tell_of_twin(&self, payment: &str, status: &str, event: &str) {
        let mut books = self.books();
        let first = books.intents.iter().find(|it| it["metadata"]["payment"] == payment);
        let mut twin = first.expect("it was created").clone();
        twin["id"] = json!(format!("pi_{}", books.intents.len()));
        twin["status"] = json!(status);
        books.intents.push(twin.clone());
        books.tell(event, twin);
    }

    /// Money of the last intent goes back from the desk: nothing of ours is in the refund's metadata.
    pub(crate) fn refund_at_desk(&self, payment: &str, amount: i64) {
        let mut books = self.books();
        let found = books.intents.iter().rfind(|it| it["metadata"]["payment"] == payment);
        let intent = found.expect("it was created").clone();
        let made = json!({
            "id": format!("re_{}", books.refunds.len()), "object": "refund", "amount": amount,
            "currency": intent["currency"], "payment_intent": intent["id"], "metadata": {},
            "status": "succeeded", "failure_reason": null, "reason": "requested_by_customer",
        });
        books.refunds.push(made.clone());
        books.tell("refund.created", made);
    }

    /// Money of an intent goes back under a key of ours, of which the ledger has no row: it was lost.
    pub(crate) fn refund_as(&self, intent: &str, refund: &str, amount: i64) {
        let mut books = self.books();
        let made = json!({
            "id": format!("re_{}", books.refunds.len()), "object": "refund", "amount": amount,
            "currency": "eur", "payment_intent": intent, "metadata": {"refund": refund},
            "status": "succeeded", "failure_reason": null,
        });
        books.refunds.push(made);
    }

    /// A refund of ours has another key from now on, as an earlier version would have given it.
    pub(crate) fn rename_refund(&self, from: &str, to: &str) {
        let mut books = self.books();
        let found = books.refunds.iter_mut().find(|it| it["metadata"]["refund"] == from);
        found.expect("it was made")["metadata"]["refund"] = json!(to);
    }

    /// The buyer's bank sends back what the desk gave back last, and Stripe tells of it.
    pub(crate) fn bounce_at_desk(&self) {
        let mut books = self.books();
        let found = books.refunds.iter_mut().rfind(|it| it["metadata"]["refund"].is_null());
        let made = found.expect("it was made");
        made["status"] = json!("failed");
        let snapshot = made.clone();
        books.tell("refund.failed", snapshot);
    }

    /// Tells how much of a payment's charge went back altogether, as Stripe does after each refund.
    pub(crate) fn tell_of_refunds(&self, payment: &str) {
        let mut books = self.books();
        let found = books.intents.iter().rfind(|it| it["metadata"]["payment"] == payment);
        let intent = found.expect("it was created").clone();
        let of_it = books.refunds.iter().filter(|it| it["payment_intent"] == intent["id"]);
        let back: i64 = of_it.map(|it| it["amount"].as_i64().unwrap()).sum();
        let charge = json!({
            "id": "ch_1", "object": "charge", "amount": intent["amount"], "amount_refunded": back,
            "currency": intent["currency"], "payment_intent": intent["id"], "metadata": intent["metadata"],
            "captured": true, "refunded": intent["amount"] == back,
        });
        books.tell("charge.refunded", charge);
    }

    /// The buyer's bank takes the money back, for now.
    pub(crate) fn dispute(&self, payment: &str, reason: &str) {
        let mut books = self.books();
        let found = books.intents.iter().find(|it| it["metadata"]["payment"] == payment);
        let intent = found.expect("it was created").clone();
        let dispute = json!({
            "id": format!("dp_{}", books.disputes.len()), "object": "dispute", "amount": intent["amount"],
            "currency": intent["currency"], "charge": "ch_1", "payment_intent": intent["id"],
            "reason": reason, "status": "needs_response", "metadata": {},
        });
        books.disputes.push(dispute.clone());
        books.tell("charge.dispute.created", dispute);
    }

    /// The last dispute is decided.
    pub(crate) fn close_dispute(&self, status: &str) {
        let mut books = self.books();
        let dispute = books.disputes.last_mut().expect("there is one");
        dispute["status"] = json!(status);
        let dispute = dispute.clone();
        books.tell("charge.dispute.closed", dispute);
    }
}

impl Books {
    /// Tells of money that was set aside and is free again as of a refund, though none was taken: so do
    /// versions of the API before 2025-03-31.
    pub(super) fn set_free(&mut self, intent: &Value) {
        let made = json!({
            "id": format!("re_{}", self.refunds.len()), "object": "refund", "amount": intent["amount"],
            "currency": intent["currency"], "payment_intent": intent["id"], "metadata": {},
            "status": "succeeded", "failure_reason": null, "reason": null,
        });
        self.refunds.push(made.clone());
        self.tell("refund.created", made);
        let charge = json!({
            "id": intent["latest_charge"], "object": "charge", "amount": intent["amount"],
            "amount_refunded": intent["amount"], "currency": intent["currency"],
            "payment_intent": intent["id"], "metadata": intent["metadata"],
            "captured": false, "refunded": true,
        });
        self.tell("charge.refunded", charge);
    }
}

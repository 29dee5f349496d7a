//! The bank's own desk, where people give back what nobody has asked the bank for. The bank tells of it as
//! gateways do: with a message for what was done, another one for all that went back of the payment so
//! far, and a list for whoever asks.

use super::{Bank, Book, Entry, State, reference};
use onrush_core::ids::{BookingId, PaymentId};
use onrush_ledger::desk::{DeskKind, DeskStatus};
use onrush_saga::gateway::{DeskNews, News};
use std::fmt;
use tokio::time::Instant;

/// When the server said that it had taken something in.
#[derive(Clone, Copy)]
pub(in super::super) struct Heard {
    pub(in super::super) at: Instant,
    /// How often its files had been made those of a version before when it was told.
    pub(in super::super) upgrades: usize,
}

/// Instants differ from run to run, and what is told does not.
impl fmt::Debug for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {} upgrades", self.upgrades)
    }
}

/// Money that the desk gave back of one payment at once.
#[derive(Clone, Debug)]
pub(in super::super) struct AtDesk {
    /// What the bank calls it.
    pub(in super::super) reference: String,
    pub(in super::super) payment: PaymentId,
    pub(in super::super) booking: BookingId,
    pub(in super::super) amount_minor: i64,
    /// How it stood, one after the other.
    pub(in super::super) stood: Vec<DeskStatus>,
    /// What of that the server has said that it took in.
    pub(in super::super) heard: Vec<(DeskStatus, Heard)>,
}

impl AtDesk {
    /// How it stands.
    pub(in super::super) fn stands(&self) -> DeskStatus {
        *self.stood.last().expect("it stands somehow from its beginning")
    }

    /// Whether the money ever came back from its buyer, or never went.
    pub(in super::super) fn has_stayed(&self) -> bool {
        self.stood.contains(&DeskStatus::Stayed)
    }

    /// The id of the server's entry about it.
    pub(in super::super) fn entry(&self) -> String {
        format!("bank.{}", self.reference)
    }

    /// Whether the server had surely heard by then that the money went back, and of which payment: what a
    /// version before had written of it does not say that, until it is told once more.
    pub(in super::super) fn was_known(&self, by: Instant, upgrades: usize) -> bool {
        self.heard.iter().any(|(status, heard)| {
            *status == DeskStatus::Moved && heard.at < by && heard.upgrades == upgrades
        })
    }

    /// What the bank says of it.
    fn news(&self, entry: &Entry) -> Option<DeskNews> {
        Some(DeskNews {
            kind: DeskKind::Refund,
            status: self.stands(),
            reference: self.reference.clone(),
            of: reference(&self.payment),
            // Whose it is has to be asked for: nothing of ours is written on it.
            ours: None,
            amount_minor: self.amount_minor,
            currency: entry.currency?,
            why: "requested_by_customer".into(),
        })
    }
}

/// What the server asked to go back of a payment before it asked for anything else of it.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct FirstAsk {
    pub(in super::super) amount_minor: i64,
    /// What had gone back at the desk by then, also what came back since.
    pub(in super::super) moved_minor: i64,
}

impl Entry {
    /// The server asks for so much to go back.
    pub(super) fn note_ask(&mut self, amount_minor: i64) {
        let moved = self.desk.iter().filter(|made| made.stood.contains(&DeskStatus::Moved));
        let moved_minor: i64 = moved.map(|made| made.amount_minor).sum();
        self.first_ask = self.first_ask.or(Some(FirstAsk { amount_minor, moved_minor }));
    }

    /// What the desk gave back, or is about to.
    pub(super) fn at_desk_minor(&self) -> i64 {
        let back = self.desk.iter().filter(|made| made.stands() != DeskStatus::Stayed);
        back.map(|made| made.amount_minor).sum()
    }

    /// What went back, or is about to, whoever has it sent.
    pub(super) fn back_minor(&self) -> i64 {
        self.asked_back_minor() + self.at_desk_minor()
    }
}

impl Bank {
    /// All that the desk did.
    pub(in super::super) fn at_desk(&self) -> Vec<AtDesk> {
        let book = self.book();
        book.entries.values().flat_map(|entry| entry.desk.iter().cloned()).collect()
    }

    /// Somebody gives money back at the desk; says what the bank calls it, if there is as much left of
    /// what was taken.
    pub(in super::super) fn give_back_at_desk(
        &self,
        payment: &PaymentId,
        amount_minor: i64,
        status: DeskStatus,
    ) -> Option<String> {
        let mut book = self.book();
        let entry = book.entries.get_mut(payment)?;
        let left_minor = entry.amount_minor - entry.back_minor();
        if entry.state != State::Captured || !(1..=left_minor).contains(&amount_minor) {
            return None;
        }
        let nth = entry.desk.len();
        let reference = format!("desk-{payment}-{}", nth + 1);
        let booking = entry.booking.clone()?;
        entry.desk.push(AtDesk {
            reference: reference.clone(),
            payment: payment.clone(),
            booking,
            amount_minor,
            stood: vec![status],
            heard: Vec::new(),
        });
        self.tell_of_desk(&mut book, payment, nth);
        Some(reference)
    }

    /// What the desk did goes on.
    pub(in super::super) fn go_on_at_desk(&self, reference: &str, status: DeskStatus) {
        let mut book = self.book();
        let found = book.entries.iter_mut().find_map(|(payment, entry)| {
            let nth = entry.desk.iter().position(|made| made.reference == reference)?;
            entry.desk[nth].stood.push(status);
            Some((payment.clone(), nth))
        });
        if let Some((payment, nth)) = found {
            self.tell_of_desk(&mut book, &payment, nth);
        }
    }

    /// The desk closes: what is under way there is done.
    pub(in super::super) fn close_desk(&self) {
        let under_way = self.at_desk().into_iter().filter(|made| made.stands() == DeskStatus::Open);
        for made in under_way {
            self.go_on_at_desk(&made.reference, DeskStatus::Moved);
        }
    }

    /// An operator gives money back by other means than the bank.
    pub(in super::super) fn give_back_elsewhere(&self, payment: &PaymentId, amount_minor: i64) {
        if let Some(entry) = self.book().entries.get_mut(payment) {
            entry.elsewhere_minor += amount_minor;
        }
    }

    /// Has messages sent of what the desk did.
    fn tell_of_desk(&self, book: &mut Book, payment: &PaymentId, nth: usize) {
        let Some(entry) = book.entries.get(payment) else { return };
        let Some(made) = entry.desk.get(nth) else { return };
        let (status, amount_minor) = (made.stands(), made.amount_minor);
        let Some(news) = made.news(entry) else { return };
        self.story.tell("the desk", format!("{amount_minor} of {payment}: {status:?}"));
        self.post(book, News::Desk(news));
        if status != DeskStatus::Stayed {
            self.tell_what_went_back(book, payment);
        }
    }

    /// Has a message sent of all that went back of a payment so far, whoever sent it.
    pub(super) fn tell_what_went_back(&self, book: &mut Book, payment: &PaymentId) {
        let Some(entry) = book.entries.get(payment) else { return };
        let back_minor = entry.back_minor();
        let payment_named = book.chance.percent(50).then(|| payment.clone());
        let reference = reference(payment);
        self.post(book, News::WentBack { reference, payment: payment_named, back_minor });
    }

    /// What the desk did with the payment that the bank calls so.
    pub(super) fn desk_news(&self, name: &str) -> Vec<DeskNews> {
        let book = self.book();
        let of_it = book.entries.iter().filter(|(payment, _)| reference(payment) == name);
        let made = of_it.flat_map(|(_, entry)| entry.desk.iter().map(move |made| (made, entry)));
        made.filter_map(|(made, entry)| made.news(entry)).collect()
    }

    /// What the server knows at least of what the desk did once it has taken in a message: what that says;
    /// or, where it says that money went back of a payment of the bank's and not of which one of ours, all
    /// that the desk did with that payment, as it stands now. The server has to ask for that, and is told
    /// how it stands then.
    pub(in super::super) fn told_of_desk(&self, id: &str) -> Vec<(String, DeskStatus)> {
        let book = self.book();
        match book.sent.get(id).and_then(|notice| notice.news.as_ref()) {
            Some(News::Desk(news)) => vec![(news.reference.clone(), news.status)],
            Some(News::WentBack { reference: name, payment: None, .. }) => {
                let of_it = book.entries.iter().filter(|(payment, _)| reference(payment) == *name);
                let made = of_it.flat_map(|(_, entry)| &entry.desk);
                made.map(|made| (made.reference.clone(), made.stands())).collect()
            }
            // Where it has sent as much as is told itself, it asks for nothing.
            Some(News::WentBack { payment: Some(_), .. }) => Vec::new(),
            Some(News::Payment { .. } | News::Refund { .. }) | None => Vec::new(),
        }
    }

    /// The id of the message that tells how something stands that the desk did.
    pub(in super::super) fn message_of(&self, made: &AtDesk) -> Option<String> {
        let book = self.book();
        let found = book.sent.iter().find(|(_, notice)| match &notice.news {
            Some(News::Desk(news)) => {
                news.reference == made.reference && news.status == made.stands()
            }
            Some(News::Payment { .. } | News::Refund { .. } | News::WentBack { .. }) | None => {
                false
            }
        });
        found.map(|(id, _)| id.clone())
    }

    /// The server has said that it took in a message that told of this.
    pub(in super::super) fn note_heard(&self, told: &[(String, DeskStatus)], heard: Heard) {
        let mut book = self.book();
        let all = book.entries.values_mut().flat_map(|entry| entry.desk.iter_mut());
        for made in all {
            let of_it = told.iter().filter(|(reference, _)| *reference == made.reference);
            made.heard.extend(of_it.map(|(_, status)| (*status, heard)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::story::Story;
    use super::super::super::strikes::Strikes;
    use super::*;
    use onrush_ledger::money::Capture;

    #[test]
    fn what_went_back_of_a_payment_that_is_not_named_tells_how_all_of_it_stands() {
        let (bank, _news) = Bank::open(1, false, true, Strikes::new(1), Story::begin());
        let payment: PaymentId = "sale.1.000000000001".parse().expect("an id");
        let entry = Entry {
            booking: Some("sale.1".parse().expect("an id")),
            amount_minor: 2_500,
            currency: Some("EUR".parse().expect("a currency")),
            ..Entry::of(State::Captured, Capture::AtOnce)
        };
        bank.book().entries.insert(payment.clone(), entry);
        let give_back = |status| bank.give_back_at_desk(&payment, 500, status).expect("it is left");
        let (first, second) = (give_back(DeskStatus::Open), give_back(DeskStatus::Moved));
        let message = |is_named: bool| loop {
            let mut book = bank.book();
            let found = book.sent.iter().find(|(_, notice)| {
                matches!(
                    &notice.news,
                    Some(News::WentBack { payment, .. }) if payment.is_some() == is_named
                )
            });
            if let Some((id, _)) = found {
                break id.clone();
            }
            bank.tell_what_went_back(&mut book, &payment);
        };
        let (named, unnamed) = (message(true), message(false));
        bank.go_on_at_desk(&first, DeskStatus::Moved);
        let told = bank.told_of_desk(&unnamed);
        assert_eq!(told, [(first, DeskStatus::Moved), (second, DeskStatus::Moved)]);
        assert!(bank.told_of_desk(&named).is_empty());
        bank.note_heard(&told, Heard { at: Instant::now(), upgrades: 1 });
        let made = bank.at_desk();
        assert!(made.iter().all(|one| one.heard.len() == 1 && one.heard[0].1.upgrades == 1));
    }
}

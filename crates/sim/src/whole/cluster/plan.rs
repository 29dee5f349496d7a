//! The plan of a run: drawn from the seed before anything starts.

use crate::chance::Chance;
use std::fmt;

/// How many nodes there are.
pub(super) const NODES: usize = 2;

/// A line that bytes go through, by where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    /// From buyers to a node.
    Front(usize),
    /// From a node to Redis.
    Redis(usize),
    /// From a node to PostgreSQL.
    Postgres(usize),
    /// From a node to the bank.
    Bank(usize),
    /// From the bank to whichever node is there.
    News,
}

impl Line {
    /// All of them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let of_node =
            |node| [Self::Front(node), Self::Redis(node), Self::Postgres(node), Self::Bank(node)];
        (0..NODES).flat_map(of_node).chain([Self::News])
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Front(node) => write!(f, "the line from buyers to node {node}"),
            Self::Redis(node) => write!(f, "the line from node {node} to Redis"),
            Self::Postgres(node) => write!(f, "the line from node {node} to PostgreSQL"),
            Self::Bank(node) => write!(f, "the line from node {node} to the bank"),
            Self::News => f.write_str("the line from the bank to the nodes"),
        }
    }
}

/// A server that dies and comes back with what is on its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Store {
    /// Redis, with every write on the disk before it is answered: it promises to lose nothing.
    Redis,
    /// PostgreSQL.
    Postgres,
    /// The bank, whose book is a file.
    Bank,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A node is killed, and started again when this is over.
    Kill { node: usize },
    /// A node stands still, and goes on as if nothing had been.
    Pause { node: usize },
    /// All connections of a line end.
    Cut { line: Line },
    /// The same, and nobody is let in.
    Refuse { line: Line },
    /// Whatever is sent comes later.
    Delay { line: Line, by_ms: u64 },
    /// Nothing gets through, and nobody is told. When this is over, bytes go on where they were, or
    /// all connections end.
    Stall { line: Line, then_cut: bool },
    /// A server is killed, and started again when this is over.
    Die { store: Store },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { node } => write!(f, "node {node} is killed"),
            Self::Pause { node } => write!(f, "node {node} stands still"),
            Self::Cut { line } => write!(f, "{line} is cut"),
            Self::Refuse { line } => write!(f, "{line} is cut, and lets nobody in"),
            Self::Delay { line, by_ms } => write!(f, "{line} takes {by_ms} ms longer"),
            Self::Stall { line, then_cut: false } => write!(f, "{line} falls silent"),
            Self::Stall { line, then_cut: true } => write!(f, "{line} falls silent, then ends"),
            Self::Die { store } => write!(f, "{store:?} is killed"),
        }
    }
}

/// A fault and its time, in milliseconds since the sale began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// When it comes.
    pub(super) at_ms: u64,
    /// How long it stays.
    pub(super) for_ms: u64,
    /// What it is.
    pub(super) fault: Fault,
}

impl fmt::Display for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at_ms, for_ms, fault } = self;
        write!(f, "at {at_ms} ms, for {for_ms} ms: {fault}")
    }
}

/// Everything that is decided before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// When each buyer comes, in milliseconds since the sale began.
    pub(super) arrivals_ms: Vec<u64>,
    /// What goes wrong, in order of time: what befalls one thing comes one after the other.
    pub(super) faults: Vec<Planned>,
}

/// What faults befall.
#[derive(Clone, Copy)]
enum Victim {
    Node(usize),
    Line(Line),
    Store(Store),
}

impl Victim {
    fn all() -> impl Iterator<Item = Self> {
        let stores = [Store::Redis, Store::Postgres, Store::Bank].map(Self::Store);
        (0..NODES).map(Self::Node).chain(Line::all().map(Self::Line)).chain(stores)
    }

    /// How many times as long a thing is left alone as a node.
    fn rarity(self) -> u64 {
        match self {
            Self::Node(_) => 1,
            Self::Line(_) => 2,
            Self::Store(_) => 4,
        }
    }

    fn fault(self, chance: &mut Chance) -> Fault {
        match self {
            Self::Node(node) if chance.percent(55) => Fault::Kill { node },
            Self::Node(node) => Fault::Pause { node },
            Self::Store(store) => Fault::Die { store },
            Self::Line(line) => match chance.below(10) {
                0..=2 => Fault::Cut { line },
                3..=4 => Fault::Refuse { line },
                5..=6 => Fault::Delay { line, by_ms: chance.within(5, 300).unsigned_abs() },
                _ => Fault::Stall { line, then_cut: chance.percent(50) },
            },
        }
    }
}

impl Plan {
    /// The plan of a seed: everything goes wrong within `length_ms`, and nothing later.
    pub(super) fn of(seed: u64, buyers: u32, length_ms: u64) -> Self {
        let mut chance = Chance::of(seed, "arrivals", 0);
        let last_ms = i64::try_from(length_ms / 10 * 8).unwrap_or(i64::MAX);
        let arrivals_ms = (0..buyers).map(|_| chance.within(0, last_ms).unsigned_abs()).collect();
        let mut faults: Vec<Planned> = Victim::all()
            .zip(0..)
            .flat_map(|(victim, number)| befall(seed, victim, number, length_ms))
            .collect();
        faults.sort_by_key(|planned| planned.at_ms);
        Self { arrivals_ms, faults }
    }
}

/// What befalls one thing, one after the other.
fn befall(seed: u64, victim: Victim, number: u64, length_ms: u64) -> Vec<Planned> {
    let mut chance = Chance::of(seed, "faults", number);
    let (shortest, longest) = (length_ms / 20, length_ms / 5 * 2 * victim.rarity());
    let mut draw = |from: u64, to: u64| {
        let bound = |ms| i64::try_from(ms).unwrap_or(i64::MAX);
        (chance.within(bound(from), bound(to)).unsigned_abs(), chance.any())
    };
    let (mut at_ms, mut all) = (0, Vec::new());
    loop {
        let (quiet_ms, lot) = draw(shortest, longest);
        at_ms += quiet_ms;
        // Most are short, and some longer than what anybody waits for.
        let (for_ms, kind) = if lot % 4 == 0 { draw(2_000, 9_000) } else { draw(100, 2_000) };
        if at_ms + for_ms > length_ms {
            return all;
        }
        let fault = victim.fault(&mut Chance::of(kind, "fault", number));
        let for_ms = if matches!(fault, Fault::Cut { .. }) { 0 } else { for_ms };
        all.push(Planned { at_ms, for_ms, fault });
        at_ms += for_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_of_one_seed_are_the_same_and_end_in_time() {
        for seed in 0..200 {
            let plan = Plan::of(seed, 40, 20_000);
            assert_eq!(plan, Plan::of(seed, 40, 20_000));
            assert_ne!(plan, Plan::of(seed + 1, 40, 20_000));
            assert!(plan.faults.iter().all(|planned| planned.at_ms + planned.for_ms <= 20_000));
            assert!(plan.arrivals_ms.iter().all(|at_ms| *at_ms <= 16_000));
        }
    }

    #[test]
    fn every_kind_of_fault_is_drawn() {
        let all: Vec<Fault> = (0..100)
            .flat_map(|seed| Plan::of(seed, 1, 20_000).faults)
            .map(|planned| planned.fault)
            .collect();
        let kinds: [fn(&Fault) -> bool; 10] = [
            |fault| matches!(fault, Fault::Kill { node: 0 }),
            |fault| matches!(fault, Fault::Pause { node: 1 }),
            |fault| matches!(fault, Fault::Cut { line: Line::Redis(_) }),
            |fault| matches!(fault, Fault::Refuse { line: Line::Front(_) }),
            |fault| matches!(fault, Fault::Delay { line: Line::Postgres(_), .. }),
            |fault| matches!(fault, Fault::Stall { line: Line::Bank(_), then_cut: false }),
            |fault| matches!(fault, Fault::Stall { line: Line::News, then_cut: true }),
            |fault| matches!(fault, Fault::Die { store: Store::Redis }),
            |fault| matches!(fault, Fault::Die { store: Store::Postgres }),
            |fault| matches!(fault, Fault::Die { store: Store::Bank }),
        ];
        let missing: Vec<usize> =
            (0..kinds.len()).filter(|kind| !all.iter().any(kinds[*kind])).collect();
        assert!(missing.is_empty(), "{missing:?} of {} faults", all.len());
    }
}

//! Runs seeds of the whole.
use onrush_sim::whole::{Faults, run};
fn main() {
    let mut args = std::env::args().skip(1);
    let from: u64 = args.next().map_or(1, |text| text.parse().expect("a seed"));
    let to: u64 = args.next().map_or(from, |text| text.parse().expect("a seed"));
    let began = std::time::Instant::now();
    let (mut j, mut d, mut k, mut c, mut cap, mut r, mut bad) = (0, 0, 0, 0, 0, 0, 0);
    for seed in from..=to {
        let one = run(seed, Faults::ALL);
        (j, d, k, c, cap, r) = (
            j + one.journeys,
            d + one.decisions,
            k + one.kills,
            c + one.confirmed,
            cap + one.captures,
            r + one.refunds,
        );
        if from == to {
            one.story.iter().for_each(|line| println!("{line}"));
        }
        if !one.violations.is_empty() {
            bad += 1;
            println!("seed {seed}:");
            one.violations.iter().for_each(|line| println!("   {line}"));
        }
    }
    println!(
        "journeys {j} decisions {d} kills {k} confirmed {c} captures {cap} refunds {r} bad {bad} in {:?}",
        began.elapsed()
    );
}

//! Circles: sets of files whose imports lead from each to every other.
//!
//! Files of one folder may import each other, as long as they can be read together; files of
//! different folders may not, because then neither folder can be read alone.

use crate::imports::Arrows;
use crate::repository::{folder_of, name_of};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Files in a circle within one folder, at most.
pub const LARGEST: usize = 8;

/// A sentence for each circle that is too wide or too large.
#[must_use]
pub fn findings(arrows: &Arrows) -> Vec<String> {
    let mut found = Vec::new();
    for circle in circles(arrows) {
        let folders: BTreeSet<String> = circle.iter().map(|file| folder(file, arrows)).collect();
        if folders.len() > 1 {
            let way = way_round(&circle, arrows, |a, b| folder(a, arrows) != folder(b, arrows));
            found.push(format!(
                "{way}: files of {} folders import each other, {} in all; move what both need \
                 into a file that imports neither.",
                folders.len(),
                circle.len(),
            ));
        } else if circle.len() > LARGEST {
            let way = way_round(&circle, arrows, |_, _| true);
            found.push(format!(
                "{way}: {} files of one folder import each other, {LARGEST} may; take what many of \
                 them need into a file that imports none of them.",
                circle.len(),
            ));
        }
    }
    found
}

/// The folder that a file stands for: `saga/mod.rs` and `saga.rs` beside `saga/` stand for `saga`.
fn folder(file: &str, arrows: &Arrows) -> String {
    let stem = file.strip_suffix(".rs").unwrap_or(file);
    let inside = format!("{stem}/");
    if matches!(name_of(file), "mod.rs" | "lib.rs") {
        folder_of(file).to_owned()
    } else if arrows.keys().any(|other| other.starts_with(&inside)) {
        stem.to_owned()
    } else {
        folder_of(file).to_owned()
    }
}

/// The circles of two files or more, the largest first.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<&str>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        arrows.keys().map(|file| (file.as_str(), reached(file, arrows))).collect();
    let mut found: Vec<BTreeSet<&str>> = Vec::new();
    let mut done = BTreeSet::new();
    for (file, far) in &reach {
        if done.contains(file) || !far.contains(file) {
            continue;
        }
        let back = |other: &&str| reach.get(other).is_some_and(|far| far.contains(file));
        let circle: BTreeSet<&str> = far.iter().copied().filter(back).collect();
        done.extend(circle.iter().copied());
        found.push(circle);
    }
    found.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    found
}

/// All that `file` imports, and what that imports; itself only if a circle leads back.
fn reached<'a>(file: &str, arrows: &'a Arrows) -> BTreeSet<&'a str> {
    let mut far = BTreeSet::new();
    let mut next: Vec<&str> = vec![file];
    while let Some(file) = next.pop() {
        for to in arrows.get(file).into_iter().flatten() {
            if far.insert(to.as_str()) {
                next.push(to);
            }
        }
    }
    far
}

/// The shortest way round within a circle that takes an arrow which `counts`: `a → b → a`.
fn way_round(
    circle: &BTreeSet<&str>,
    arrows: &Arrows,
    counts: impl Fn(&str, &str) -> bool,
) -> String {
    let inside = |file: &str| arrows[file].iter().filter(|to| circle.contains(to.as_str()));
    let mut shortest: Option<Vec<&str>> = None;
    for from in circle {
        for to in inside(from).filter(|to| counts(from, to)) {
            let mut ways = VecDeque::from([vec![*from, to.as_str()]]);
            let mut seen = BTreeSet::new();
            while let Some(way) = ways.pop_front() {
                let Some(last) = way.last().copied() else { break };
                if last == *from {
                    if shortest.as_ref().is_none_or(|known| way.len() < known.len()) {
                        shortest = Some(way);
                    }
                    break;
                }
                for next in inside(last) {
                    if seen.insert(next.as_str()) {
                        ways.push_back([way.as_slice(), &[next.as_str()]].concat());
                    }
                }
            }
        }
    }
    shortest.unwrap_or_default().join(" → ")
}

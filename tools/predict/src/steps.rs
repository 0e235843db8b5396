//! The measured steps of the code: what lies between one step of a handler and the next.

use dpa_model_predict::step::Step;
use dpamatch_machine::{Between, Steps};

macro_rules! names {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// A step's number here; a step without one costs no instructions.
        pub(crate) fn number(step: &Step) -> Option<usize> {
            let mut number = 0;
            $(
                if matches!(step, Step::$name { .. }) {
                    return Some(number);
                }
                number += 1;
            )*
            let _ = number;
            None
        }
    };
}

names! {
    EntriesSeen CommandBegins BoundaryBegins BoundaryEnds Posted Unlinked Recycled Stored
    UnexpectedVisited TakenLate BlockCut SliceBegins EntryRead HashesComputed SearchBegins BinRead
    Visited Searched Booked Published SliceBooked ProgressWritten ProgressRead Waited BitSet
    BitsRead BitsCleared CandidatesRead ConflictSought BarrierPassed ClaimRead FastPathTried
    SlowWaits SlowWaited StateRead SlowFound Taken Noted Unmatched Unlinking LockMissed LinkRead
    SliceMatched DeliveryBegins Delivered BounceRead RemoteRead Completed SliceEnds
    Reposted SliceCounted EntriesReleased EndRead
}

/// Written by `cargo xtask rv64 steps`.
const MEASURED: &str = include_str!("../profiles/rv64imac.txt");

/// A line of the table: two names, then numbers. `None`: a comment.
fn line(line: &str) -> Option<(usize, usize, Between)> {
    let mut words = line.split_whitespace();
    let mut place = || {
        let name = words.next().filter(|name| !name.starts_with('#'))?;
        NAMES.iter().position(|known| *known == name)
    };
    let (from, to) = (place()?, place()?);
    let mut number = || words.next()?.parse().ok();
    let between = Between {
        instructions: [number()?, number()?],
        own_lines: [number()?, number()?],
        code_lines: number()?,
    };
    Some((from, to, between))
}

/// The table that was measured.
pub(crate) fn measured() -> Steps {
    let mut steps = Steps::new(NAMES.len());
    for (from, to, between) in MEASURED.lines().filter_map(line) {
        steps.set(from, to, between);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let rows = MEASURED.lines().filter(|line| !line.starts_with('#'));
        for row in rows {
            assert!(line(row).is_some(), "{row}");
        }
        assert!(MEASURED.lines().filter_map(line).count() > 80);
    }

    /// The card's own list, from which the marks have their numbers, has the same names.
    #[test]
    fn no_name_is_missing() {
        let mut here = NAMES.to_vec();
        let mut there = dpa_model_predict::step::NAMES.to_vec();
        here.sort_unstable();
        there.sort_unstable();
        assert_eq!(here, there);
        assert_eq!(number(&Step::SliceBooked), Some(20));
        assert_eq!(NAMES[20], "SliceBooked");
    }
}

//! A schedule as text.

use std::fmt;
use std::str::FromStr;

use super::{Point, Policy};

/// The turns of a schedule: pairs of a worker and the number of points at which it is chosen in a
/// row. Points with only one runnable worker do not count. As a text: `0x12 1x3 0x4`. After the
/// last turn every worker goes on until it must wait.
///
/// # Examples
/// ```
/// use dpamatch_explore::Turns;
/// let turns: Turns = "0x12 1x3 0".parse()?;
/// assert_eq!(turns.to_string(), "0x12 1x3 0x1");
/// assert!("0x12 1y3".parse::<Turns>().is_err());
/// # Ok::<(), dpamatch_explore::BadTurns>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Turns(pub(crate) Vec<(usize, u32)>);

impl Turns {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, worker: usize) {
        match self.0.last_mut() {
            Some((last, count)) if *last == worker => *count += 1,
            _ => self.0.push((worker, 1)),
        }
    }

    /// The schedule without the turns in `range`; adjacent turns of one worker merge.
    pub(crate) fn without(&self, range: std::ops::Range<usize>) -> Self {
        let mut turns: Vec<(usize, u32)> = Vec::with_capacity(self.len());
        let kept = self
            .0
            .iter()
            .enumerate()
            .filter(|(place, _)| !range.contains(place));
        for (_, &(worker, count)) in kept {
            match turns.last_mut() {
                Some((last, before)) if *last == worker => *before += count,
                _ => turns.push((worker, count)),
            }
        }
        Self(turns)
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (worker, count)) in self.0.iter().enumerate() {
            write!(f, "{}{worker}x{count}", if place == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

/// A text that is not a schedule: its first invalid word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadTurns(String);

impl fmt::Display for BadTurns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no turn; a turn is WORKERxTIMES, such as 1x12",
            self.0
        )
    }
}

impl std::error::Error for BadTurns {}

impl FromStr for Turns {
    type Err = BadTurns;

    fn from_str(text: &str) -> Result<Self, BadTurns> {
        let turn = |word: &str| {
            let (worker, count) = word.split_once('x').unwrap_or((word, "1"));
            match (worker.parse(), count.parse()) {
                (Ok(worker), Ok(count)) if count > 0 => Ok((worker, count)),
                _ => Err(BadTurns(word.to_owned())),
            }
        };
        text.split_whitespace()
            .map(turn)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// Follows given turns for one execution. A turn ends early where its worker cannot move or must
/// wait, so a shortened list is a schedule, too.
#[derive(Debug)]
pub(crate) struct Guided {
    turns: Vec<(usize, u32)>,
    /// The current turn, and its used choices.
    at: (usize, u32),
    last: usize,
    begun: bool,
}

impl Guided {
    pub(crate) fn new(turns: &Turns) -> Self {
        Self {
            turns: turns.0.clone(),
            at: (0, 0),
            last: 0,
            begun: false,
        }
    }
}

impl Policy for Guided {
    fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    fn choose(&mut self, point: Point<'_>) -> Option<usize> {
        self.last = loop {
            let (turn, used) = self.at;
            let Some(&(worker, count)) = self.turns.get(turn) else {
                break point.usual(self.last);
            };
            let waits = point.yielding && point.current == Some(worker) && used > 0;
            if used == count || waits || !point.able.contains(&worker) {
                self.at = (turn + 1, 0);
                continue;
            }
            self.at = (turn, used + 1);
            break worker;
        };
        Some(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_that_meet_become_one() {
        let turns: Turns = "0x2 1x3 0x4 2 0x5".parse().expect("turns");
        let without = |range| turns.without(range).to_string();
        assert_eq!(without(1..2), "0x6 2x1 0x5");
        assert_eq!(without(1..4), "0x7");
        assert_eq!(without(4..5), "0x2 1x3 0x4 2x1");
        assert_eq!(without(0..5), "");
        assert!("0x0".parse::<Turns>().is_err() && "x2".parse::<Turns>().is_err());
    }
}

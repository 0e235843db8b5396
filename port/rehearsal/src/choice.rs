//! The choice of runs in weak memory on the command line.

use std::ops::Range;
use std::str::FromStr;

use crate::weak::Kind;

/// Which runs to make.
#[derive(Clone, PartialEq, Eq, Debug, clap::Args)]
pub struct Choice {
    /// Number of seeds
    #[arg(default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "N", default_value_t = 0)]
    first_seed: u64,
    /// A line of `cargo xtask orderings --list`, which is weakened; `shipped`: the orderings as
    /// they are; or a kind of run: NC, WC-FP, WC-SP, streams
    #[arg(value_name = "PLACE")]
    words: Vec<Word>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Word {
    Shipped,
    Kind(Kind),
    /// `FILE:LINE:COLUMN=WEAKER`.
    Place(String),
}

impl FromStr for Word {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let numbers = word.split_once('=').and_then(|(place, _)| {
            let (rest, column) = place.rsplit_once(':')?;
            Some([rest.rsplit_once(':')?.1.parse::<u32>().ok()?, column.parse().ok()?])
        });
        match Kind::ALL.into_iter().find(|kind| kind.name() == word) {
            Some(kind) => Ok(Self::Kind(kind)),
            None if word == "shipped" => Ok(Self::Shipped),
            None if numbers.is_some() => Ok(Self::Place(word.to_owned())),
            None => Err("no ordering".to_owned()),
        }
    }
}

impl Choice {
    /// The seeds to run.
    pub fn seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed.saturating_add(self.seeds)
    }

    /// The orderings to weaken.
    pub fn places(&self) -> Vec<String> {
        let place = |word: &Word| match word {
            Word::Place(place) => Some(place.clone()),
            _ => None,
        };
        self.words.iter().filter_map(place).collect()
    }

    /// Whether to run the orderings as they are: if asked, or if none is to be weakened.
    pub fn shipped(&self) -> bool {
        self.words.contains(&Word::Shipped) || self.places().is_empty()
    }

    /// The kinds of run: all, if none is chosen.
    pub fn kinds(&self) -> Vec<Kind> {
        let chosen = |kind: &Kind| self.words.contains(&Word::Kind(*kind));
        let any = Kind::ALL.iter().any(chosen);
        Kind::ALL.into_iter().filter(|kind| !any || chosen(kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        choice: Choice,
    }

    fn read(line: &str) -> Result<Choice, String> {
        let words = std::iter::once("weak").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.choice).map_err(|error| error.to_string())
    }

    #[test]
    fn places_and_kinds_are_chosen() {
        const PLACE: &str = "region.rs:170:54=Relaxed";
        for (line, seeds, shipped, places, kinds) in [
            ("", 0..1000, true, 0, 4),
            ("7 --first-seed 40", 40..47, true, 0, 4),
            (&format!("5 {PLACE} streams WC-FP"), 0..5, false, 1, 2),
            (&format!("5 --first-seed 1 {PLACE} shipped"), 1..6, true, 1, 4),
        ] {
            let choice = read(line).expect(line);
            assert_eq!((choice.seeds(), choice.shipped()), (seeds, shipped), "{line}");
            assert_eq!(
                (choice.places(), choice.kinds().len()),
                (vec![PLACE.to_owned(); places], kinds)
            );
        }
        for word in ["0", "-1", "5 Headed", "5 region.rs:170=Relaxed", "5 region.rs:x:1=Relaxed"] {
            let error = read(word).expect_err("no such choice");
            assert!(error.contains(word.trim_start_matches("5 ")), "{error}");
        }
    }
}

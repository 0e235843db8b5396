//! The choice of runs in weak memory on the command line.

use std::ops::Range;

use crate::weak::Kind;

const SEEDS: u64 = 1000;
/// Selects the unmodified orderings.
const SHIPPED: &str = "shipped";
const FIRST: &str = "--first-seed";

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    pub seeds: Range<u64>,
    pub shipped: bool,
    /// Run with each of these orderings weakened: `FILE:LINE:COLUMN=WEAKER`.
    pub places: Vec<String>,
    pub kinds: Vec<Kind>,
}

impl Choice {
    /// Reads a number of seeds, and places of orderings, `shipped` or kinds. Without places the
    /// orderings are as shipped; without kinds all are selected.
    ///
    /// # Errors
    /// The unknown word and the known ones.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let number =
            |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number of seeds"));
        let (count, names) = match words.split_first() {
            None => (SEEDS, words),
            Some((count, names)) => match number(count)? {
                0 => return Err("`0` is no number of seeds".to_owned()),
                count => (count, names),
            },
        };
        let (first, names) = match *names {
            [FIRST, first, ref names @ ..] => (number(first)?, names),
            [FIRST] => return Err(format!("{FIRST} needs a number")),
            _ => (0, names),
        };
        let seeds = first..first.saturating_add(count);
        let mut choice = Self { seeds, shipped: false, places: Vec::new(), kinds: Vec::new() };
        for &name in names {
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            match kind {
                Some(kind) => choice.kinds.push(kind),
                None if name == SHIPPED => choice.shipped = true,
                None if is_place(name) => choice.places.push(name.to_owned()),
                None => return Err(format!("no ordering `{name}`\n{}", Self::known())),
            }
        }
        choice.shipped |= choice.places.is_empty();
        if choice.kinds.is_empty() {
            choice.kinds = Kind::ALL.to_vec();
        }
        Ok(choice)
    }

    fn known() -> String {
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        format!(
            "orderings, weakened: lines of `cargo xtask orderings --list`;\n\
             as they are: {SHIPPED}; only these kinds of run: {kinds}"
        )
    }
}

/// Whether a word has the form `FILE:LINE:COLUMN=WEAKER`.
fn is_place(word: &str) -> bool {
    let numbers = word.split_once('=').and_then(|(place, _)| {
        let (rest, column) = place.rsplit_once(':')?;
        Some([rest.rsplit_once(':')?.1.parse::<u32>().ok()?, column.parse().ok()?])
    });
    numbers.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: &str = "region.rs:170:54=Relaxed";

    #[test]
    fn nothing_is_everything_as_shipped() {
        let all = Choice::read(&[]).expect("no word is wrong");
        assert_eq!((all.seeds.clone(), all.shipped, all.places.len()), (0..1000, true, 0));
        assert_eq!(all.kinds, Kind::ALL);
        assert_eq!(Choice::read(&["7"]), Ok(Choice { seeds: 0..7, ..all.clone() }));
        let later = Choice::read(&["7", "--first-seed", "40"]);
        assert_eq!(later, Ok(Choice { seeds: 40..47, ..all }));
    }

    #[test]
    fn places_and_kinds_are_chosen() {
        let one = Choice::read(&["5", PLACE, "streams"]).expect("both are known");
        assert_eq!(
            (one.shipped, &one.places[..], &one.kinds[..]),
            (false, &[PLACE.to_owned()][..], &[Kind::Stream][..])
        );
        let both = Choice::read(&["5", "--first-seed", "1", PLACE, "shipped"]).expect("both");
        assert_eq!((both.shipped, both.places.len(), both.kinds.len()), (true, 1, Kind::ALL.len()));
    }

    #[test]
    fn a_wrong_word_is_told_with_what_there_is() {
        for word in ["Headed", "region.rs:170=Relaxed", "region.rs:x:1=Relaxed"] {
            let told = Choice::read(&["5", word]).expect_err("no such ordering");
            assert!(told.starts_with(&format!("no ordering `{word}`\norderings, ")), "{told}");
            assert!(told.contains("shipped") && told.contains("WC-FP, "), "{told}");
        }
        for (words, told) in [
            (&["0"][..], "`0` is no number of seeds"),
            (&["-1"], "`-1` is no number of seeds"),
            (&["5", "--first-seed"], "--first-seed needs a number"),
            (&["5", "--first-seed", "many"], "`many` is no number of seeds"),
        ] {
            assert_eq!(Choice::read(words), Err(told.to_owned()));
        }
    }
}

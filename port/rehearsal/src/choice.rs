//! The choice of runs in weak memory on the command line.

use crate::weak::{Kind, WEAKENED};

/// Default number of seeds.
const SEEDS: u64 = 1000;
/// Selects the unmodified orderings.
const SHIPPED: &str = "shipped";
/// Suffix of fault names; optional on the command line.
const SUFFIX: &str = "Relaxed";

/// Selected runs in weak memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Seeds per kind.
    pub seeds: u64,
    /// Run with unmodified orderings.
    pub shipped: bool,
    /// Run with each of these orderings weakened.
    pub faults: Vec<&'static str>,
    /// Kinds of runs.
    pub kinds: Vec<Kind>,
}

impl Choice {
    /// Reads a number of seeds and names of orderings, `shipped` or kinds. Without named orderings
    /// or kinds, all are selected.
    ///
    /// # Errors
    /// The unknown word and the known ones.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let (seeds, names) = match words.split_first() {
            None => (SEEDS, words),
            Some((seeds, names)) => match seeds.parse() {
                Ok(seeds @ 1..) => (seeds, names),
                _ => return Err(format!("`{seeds}` is no number of seeds")),
            },
        };
        let mut choice = Self { seeds, shipped: false, faults: Vec::new(), kinds: Vec::new() };
        for &name in names {
            let fault = WEAKENED.into_iter().find(|fault| {
                *fault == name || fault.strip_suffix(SUFFIX).is_some_and(|short| short == name)
            });
            let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
            match (fault, kind) {
                (Some(fault), _) => choice.faults.push(fault),
                (_, Some(kind)) => choice.kinds.push(kind),
                _ if name == SHIPPED => choice.shipped = true,
                _ => return Err(format!("no ordering `{name}`\n{}", Self::known())),
            }
        }
        if !choice.shipped && choice.faults.is_empty() {
            choice.shipped = true;
            choice.faults = WEAKENED.to_vec();
        }
        if choice.kinds.is_empty() {
            choice.kinds = Kind::ALL.to_vec();
        }
        Ok(choice)
    }

    fn known() -> String {
        let short = |fault: &'static str| fault.strip_suffix(SUFFIX).unwrap_or(fault);
        let orderings = WEAKENED.map(short).join(", ");
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        format!("orderings: {orderings};\nas they are: {SHIPPED}; only these kinds of run: {kinds}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_everything() {
        let all = Choice::read(&[]).expect("no word is wrong");
        assert_eq!((all.seeds, all.shipped), (1000, true));
        assert_eq!((all.faults.len(), all.kinds.len()), (WEAKENED.len(), 4));
        assert_eq!(Choice::read(&["7"]), Ok(Choice { seeds: 7, ..all }));
    }

    #[test]
    fn names_are_taken_with_and_without_their_suffix() {
        let short = Choice::read(&["20", "Fill", "Head"]).expect("names of orderings");
        let long = Choice::read(&["20", "FillRelaxed", "HeadRelaxed"]);
        assert_eq!(short.faults, ["FillRelaxed", "HeadRelaxed"]);
        assert!(!short.shipped, "only these");
        assert_eq!(long, Ok(short));
    }

    #[test]
    fn kinds_are_chosen_beside_orderings() {
        let one = Choice::read(&["5", "shipped", "streams"]).expect("both are known");
        assert_eq!((one.shipped, one.faults.len()), (true, 0));
        assert_eq!(one.kinds, [Kind::Stream]);
        let kind = Choice::read(&["5", "NC"]).expect("a kind");
        assert_eq!((kind.shipped, kind.faults.len(), kind.kinds.len()), (true, WEAKENED.len(), 1));
    }

    #[test]
    fn a_wrong_word_is_told_with_what_there_is() {
        let told = Choice::read(&["5", "Headed"]).expect_err("no such ordering");
        assert!(told.starts_with("no ordering `Headed`\n"), "{told}");
        for name in ["HeadRelease, ", "SliceCount, ", "shipped", "WC-FP, "] {
            assert!(told.contains(name), "{name} is missing: {told}");
        }
        for word in ["0", "-1", "many", "Head"] {
            let told = Choice::read(&[word]).expect_err("no number");
            assert_eq!(told, format!("`{word}` is no number of seeds"));
        }
    }
}

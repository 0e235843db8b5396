//! Counts in sentences.

use std::fmt::Display;

/// A count and what is counted, in the plural except after 1.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    match (
        noun.strip_suffix('y'),
        noun.ends_with('s') || noun.ends_with("ch"),
    ) {
        _ if count == "1" => format!("1 {noun}"),
        (Some(stem), _) => format!("{count} {stem}ies"),
        (None, true) => format!("{count} {noun}es"),
        (None, false) => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_counts() {
        let words = [
            (0_u64, "rank"),
            (1, "rank"),
            (2, "search"),
            (11, "status"),
            (21, "entry"),
        ]
        .map(|(count, noun)| counted(count, noun));
        assert_eq!(
            words,
            [
                "0 ranks",
                "1 rank",
                "2 searches",
                "11 statuses",
                "21 entries"
            ]
        );
        assert_eq!(
            [1, 101].map(|count| counted(count, "process")),
            ["1 process", "101 processes"]
        );
    }
}

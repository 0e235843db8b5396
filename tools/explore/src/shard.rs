//! A part of a work that several processes share.

use std::fmt;
use std::str::FromStr;

/// Part `index` of `of`; the first part is 1.
///
/// # Examples
/// ```
/// use dpamatch_explore::Shard;
/// let shard: Shard = "2/3".parse()?;
/// assert_eq!((shard.index, shard.of), (2, 3));
/// assert_eq!((0..7).filter(|&at| shard.has(at)).collect::<Vec<_>>(), [1, 4]);
/// assert_eq!(shard.range(7), 2..4);
/// assert!("0/3".parse::<Shard>().is_err() && "4/3".parse::<Shard>().is_err());
/// assert!("1/1048576".parse::<Shard>().is_ok() && "1/1048577".parse::<Shard>().is_err());
/// # Ok::<(), dpamatch_explore::BadShard>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// From 1 to `of`.
    pub index: u64,
    pub of: u64,
}

impl Shard {
    /// The only part.
    pub const WHOLE: Self = Self { index: 1, of: 1 };
    /// Most parts.
    pub const MOST: u64 = 1 << 20;

    /// Whether this part has the item: every `of`-th one, from `index` on.
    pub fn has(self, item: u64) -> bool {
        item % self.of == self.index - 1
    }

    /// This part's range of `count` items, for work whose order counts.
    pub fn range(self, count: u64) -> std::ops::Range<u64> {
        let end = |parts: u64| (u128::from(count) * u128::from(parts) / u128::from(self.of)) as u64;
        end(self.index - 1)..end(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// A text that is no part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadShard;

impl fmt::Display for BadShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = Shard::MOST;
        write!(
            f,
            "a part is I/N, such as 2/8, with I from 1 to N and N at most {most}"
        )
    }
}

impl std::error::Error for BadShard {}

impl FromStr for Shard {
    type Err = BadShard;

    fn from_str(text: &str) -> Result<Self, BadShard> {
        let (index, of) = text.split_once('/').ok_or(BadShard)?;
        let number = |text: &str| text.parse().map_err(|_| BadShard);
        let shard = Self {
            index: number(index)?,
            of: number(of)?,
        };
        let is_part = (1..=shard.of).contains(&shard.index) && shard.of <= Self::MOST;
        is_part.then_some(shard).ok_or(BadShard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_up_to_1048576_parts() {
        for (text, is_part) in [
            ("1/1", true),
            ("0/1", false),
            ("2/1", false),
            ("1/0", false),
            ("1048575/1048575", true),
            ("1048576/1048576", true),
            ("1/1048577", false),
        ] {
            let shard: Result<Shard, _> = text.parse();
            let told = shard.map(|it| it.to_string());
            assert_eq!(told.as_deref().ok(), is_part.then_some(text), "{text}");
        }
    }
}

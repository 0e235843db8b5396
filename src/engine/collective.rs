//! The mark of collective traffic.

use std::fmt;

/// Maximum length of a collective operation's name, in bytes. MPI's longest has 26
/// (`reduce_scatter_block_init` and relatives).
pub const COLL_NAME_MAX: usize = 31;

/// Name of a collective operation, kept in place so that events are plain values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CollName {
    len: u8,
    bytes: [u8; COLL_NAME_MAX],
}

impl CollName {
    /// The name, or `None` if it is empty, longer than [`COLL_NAME_MAX`] or has other characters
    /// than ASCII letters, digits, `_`, `-` and `.`.
    pub fn new(name: &str) -> Option<Self> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if name.is_empty() || name.len() > COLL_NAME_MAX || !name.bytes().all(allowed) {
            return None;
        }
        let mut bytes = [0; COLL_NAME_MAX];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Some(Self {
            len: name.len() as u8,
            bytes,
        })
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Debug for CollName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for CollName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The mark of a receive or message of a collective operation. Together with the communicator's
/// size it decides the queues.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Collective {
    /// Which operation.
    pub name: CollName,
    /// Its message size in bytes, if given.
    pub bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_collectives_are_bounded_and_plain() {
        let longest = "a".repeat(COLL_NAME_MAX);
        assert_eq!(
            CollName::new(&longest).map(|name| name.to_string()),
            Some(longest.clone())
        );
        for (length, fits) in [(1, true), (30, true), (31, true), (32, false)] {
            assert_eq!(
                CollName::new(&"b".repeat(length)).is_some(),
                fits,
                "{length}"
            );
        }
        for bad in ["", "two words", "a,b", "größe", &format!("{longest}a")] {
            assert_eq!(CollName::new(bad), None, "{bad:?}");
        }
    }
}

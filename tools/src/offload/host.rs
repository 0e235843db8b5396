//! A host core's cost of matching, with and without a card.

use serde::{Deserialize, Serialize};

use super::Range;

/// Costs of matching in the MPI library, on the application's core, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// A posted receive without its search.
    pub post_ns: Range,
    /// A message without its search.
    pub message_ns: Range,
    /// One entry passed in a search.
    pub step_ns: Range,
    /// Each byte of an eager message, copied out of a bounce buffer.
    pub copy_ns_per_byte: Range,
    /// A message too long to be eager.
    pub rendezvous_ns: Range,
}

/// Costs that stay with the host when the card matches, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offloaded {
    /// Writing a command to the card.
    pub post_ns: Range,
    pub completion_ns: Range,
    /// From the card's write until the host sees it.
    pub handover_ns: Range,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub name: String,
    pub about: String,
    pub matching: Matching,
    pub offloaded: Offloaded,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("{0}")]
    Syntax(String),
    #[error("{0} must be three numbers from 0 on that do not fall: lowest, likely, highest")]
    Range(&'static str),
}

/// The hosts that come with the program: name and text.
pub const BUILT_IN: &[(&str, &str)] = &[("commodity", include_str!("hosts/commodity.toml"))];

impl Host {
    /// Reads a host; the format is that of `hosts/commodity.toml`.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn parse(text: &str) -> Result<Self, HostError> {
        let syntax =
            |error: toml::de::Error| HostError::Syntax(error.to_string().trim_end().to_owned());
        let host: Self = toml::from_str(text).map_err(syntax)?;
        match host
            .ranges()
            .into_iter()
            .find(|(_, range)| !range.is_valid())
        {
            Some((name, _)) => Err(HostError::Range(name)),
            None => Ok(host),
        }
    }

    /// All ranges by name, as in a file.
    pub fn ranges(&self) -> [(&'static str, Range); 8] {
        let Self {
            matching,
            offloaded,
            ..
        } = self;
        [
            ("matching.post_ns", matching.post_ns),
            ("matching.message_ns", matching.message_ns),
            ("matching.step_ns", matching.step_ns),
            ("matching.copy_ns_per_byte", matching.copy_ns_per_byte),
            ("matching.rendezvous_ns", matching.rendezvous_ns),
            ("offloaded.post_ns", offloaded.post_ns),
            ("offloaded.completion_ns", offloaded.completion_ns),
            ("offloaded.handover_ns", offloaded.handover_ns),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_the_program_can_be_read() {
        for (name, text) in BUILT_IN {
            assert_eq!(Host::parse(text).expect("a host").name, *name);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let text = BUILT_IN[0].1;
        let falling = text.replace("[1.8, 16.8, 80]", "[16.8, 1.8, 80]");
        assert_eq!(
            Host::parse(&falling),
            Err(HostError::Range("matching.step_ns"))
        );
        let unknown = text.replace("step_ns", "steps_ns");
        let error = Host::parse(&unknown)
            .expect_err("an unknown name")
            .to_string();
        assert!(
            error.contains("steps_ns") && error.contains("line 1"),
            "{error}"
        );
        let two = text.replace("[1.8, 16.8, 80]", "[16.8, 80]");
        assert!(matches!(Host::parse(&two), Err(HostError::Syntax(_))));
    }
}

//! The better direction of a figure, by its name.

#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

/// Rates and improvement factors.
const HIGHER: &str = "_per_s _per_us fewer_steps_than_list faster_than_list";

/// Times, work and memory.
const LOWER: &str = "_ns _us _s ns_per_match ns_per_message steps steps_per_match steps_per_search \
    attempts hops compares memory_bytes memory_bytes_max";

/// The better direction of a figure; `None` for a neutral one, such as a number of messages.
pub fn better(name: &str) -> Option<Better> {
    let ends = |endings: &str| endings.split(' ').any(|ending| name.ends_with(ending));
    match () {
        () if ends(HIGHER) => Some(Better::Higher),
        () if ends(LOWER) => Some(Better::Lower),
        () => None,
    }
}

//! Search steps of an engine.

use dpamatch::engine::Counter;

/// The steps among an engine's counters: compares of a software engine, visited descriptors of the
/// emulated NIC. `None` if the counters do not cover all searches.
pub fn counted_steps(counters: &[Counter]) -> Option<u64> {
    let value = |name: &str| {
        counters
            .iter()
            .find(|counter| counter.name == name)
            .map(|counter| counter.value)
    };
    if let (Some(posted), Some(unexpected)) = (value("prq_attempts"), value("umq_attempts")) {
        return Some(posted + unexpected);
    }
    if value("software_posts")? > 0 || value("software_arrivals")? > 0 {
        return None;
    }
    let walked = [
        "walked_exact",
        "walked_any_source",
        "walked_any_tag",
        "walked_any",
    ];
    walked.iter().map(|name| value(name)).sum()
}

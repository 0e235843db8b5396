//! The paper's three workloads.

use crate::{FastPath, Tag};

crate::choices! {
    /// The paper's three workloads: windows of receives, each followed by a message per
    /// receive.
    ///
    /// Source: O39.
    pub enum PaperWorkload, by default NoConflict {
        /// No conflict: each message of a window carries a tag of its own.
        NoConflict = "NC",
        /// With conflicts: all messages carry one tag; the fast path resolves them.
        FastPath = "WC-FP",
        /// With conflicts: all messages carry one tag, and there is no fast path.
        SlowPath = "WC-SP",
    }
}

impl PaperWorkload {
    /// The tag of all messages of a workload with conflicts.
    pub const COMMON_TAG: Tag = Tag(7);

    /// Whether all messages have one tag.
    pub fn has_conflicts(self) -> bool {
        self != Self::NoConflict
    }

    /// The tag of a window's message `index`.
    pub fn tag(self, index: u16) -> Tag {
        if self.has_conflicts() {
            Self::COMMON_TAG
        } else {
            Tag(index.into())
        }
    }

    /// The fast path's rule: `rule`, unless the workload fixes it.
    pub fn fast_path(self, rule: FastPath) -> FastPath {
        if self == Self::SlowPath {
            FastPath::Off
        } else {
            rule
        }
    }
}

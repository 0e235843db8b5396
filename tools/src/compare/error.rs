//! What can go wrong in a comparison.

use crate::workload::BadWorkload;
use dpamatch::registry::BuildError;
use dpamatch::stream::RunError;

/// Why a comparison ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// An engine cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Numbers make no workload.
    #[error(transparent)]
    Workload(#[from] BadWorkload),
    /// An engine gave a stream up.
    #[error("engine {engine}")]
    Run {
        /// The engine.
        engine: String,
        /// Why.
        source: RunError,
    },
    /// An engine's results are not those of the list.
    #[error("engine {engine} gives other results than {baseline} for {case}")]
    Differs {
        /// The engine.
        engine: String,
        /// What it was compared with.
        baseline: String,
        /// The case.
        case: String,
    },
}

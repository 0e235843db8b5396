//! Errors of a comparison.

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
    /// Invalid numbers for a workload.
    #[error(transparent)]
    Workload(#[from] BadWorkload),
    /// An engine gave up on a stream.
    #[error("engine {engine}")]
    Run {
        /// The engine.
        engine: String,
        /// Cause.
        source: RunError,
    },
    /// An engine's results differ from the list's.
    #[error("engine {engine} gives other results than {baseline} for {case}")]
    Differs {
        /// The engine.
        engine: String,
        /// The baseline.
        baseline: String,
        /// The case.
        case: String,
    },
}

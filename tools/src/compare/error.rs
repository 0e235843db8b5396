//! Errors of a comparison.

use crate::workload::BadWorkload;
use dpamatch::registry::BuildError;
use dpamatch::stream::RunError;

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
    Run { engine: String, source: RunError },
    /// An engine's results differ from the list's.
    #[error("engine {engine} gives other results than {baseline} for {case}")]
    Differs { engine: String, baseline: String, case: String },
}

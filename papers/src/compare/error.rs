//! Errors of a comparison.

use dpamatch::registry::BuildError;
use dpamatch::stream::RunError;
use dpamatch_tools::workload::BadWorkload;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    #[error("the experiment was stopped")]
    Stopped,
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Workload(#[from] BadWorkload),
    #[error("engine {engine}")]
    Run { engine: String, source: RunError },
    #[error("engine {engine} gives other results than {baseline} for {case}")]
    Differs {
        engine: String,
        baseline: String,
        case: String,
    },
}

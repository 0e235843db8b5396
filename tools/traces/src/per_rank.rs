//! Processes the ranks of a trace in parallel.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{Rank, RankReader, TraceError, TraceSource};

/// Passes each rank's reader to `work` on rayon's threads and returns the results by rank,
/// ascending. Each thread has one rank open, so memory does not grow with the ranks.
pub fn per_rank<T: Send>(
    trace: &dyn TraceSource,
    work: impl Fn(Rank, &mut dyn RankReader) -> Result<T, TraceError> + Sync,
) -> Vec<(Rank, Result<T, TraceError>)> {
    let one = |&rank: &Rank| {
        let result = trace
            .open(rank)
            .and_then(|mut reader| work(rank, reader.as_mut()));
        (rank, result)
    };
    trace.ranks().par_iter().map(one).collect()
}

//! All ranks of a trace, several at once.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::{Rank, RankReader, TraceError, TraceSource};

/// Gives each rank's reader to `work`, on as many threads as rayon has, and returns the results by
/// rank, ascending. No more ranks are open at a time than there are threads, so memory does not
/// grow with the ranks.
pub fn per_rank<T: Send>(
    trace: &dyn TraceSource,
    work: impl Fn(Rank, &mut dyn RankReader) -> Result<T, TraceError> + Sync,
) -> Vec<(Rank, Result<T, TraceError>)> {
    let one = |&rank: &Rank| {
        let result = trace.open(rank).and_then(|mut reader| work(rank, reader.as_mut()));
        (rank, result)
    };
    trace.ranks().par_iter().map(one).collect()
}

//! The messages inside collective operations: what MPI libraries send between processes for them.
//!
//! A trace holds the call of `MPI_Allreduce`, not its messages. [`schedule`] makes one process's
//! messages, by the algorithm that a [`Library`] chooses for the operation, the number of processes
//! and the size. The choices are tables (`select.rs`); each operation's algorithms are in a file.
//! A process needs its own arguments only, as in the library.
//!
//! # Examples
//! ```
//! use dpamatch_tools::collectives::{Call, Library, Op, schedule};
//! use dpamatch_traces::CollectiveKind;
//!
//! let call = Call::new(CollectiveKind::Barrier, 0, 2);
//! let ops = schedule(Library::Mpich, &call);
//! let message = [Op::Post { from: Some(1), bytes: 0 }, Op::Send { to: 1, bytes: 0 }];
//! assert_eq!(ops[1..], [message[0], message[1], Op::Wait { leave: 0 }]);
//! ```

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod call;
mod gather;
mod halving;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod select;
mod steps;
#[cfg(test)]
mod tests;
mod tree;

pub use call::Call;
pub use steps::Op;
use steps::Steps;

use dpamatch_traces::CollectiveKind;

dpamatch_vocabulary::choices! {
    /// Whose algorithms collective operations use. Each process counts as alone on its node:
    /// libraries that know of several first combine the data of a node in its memory.
    pub enum Library, by default Off {
        /// MPICH 5.0.
        Mpich = "mpich",
        /// Open MPI 5.0.
        OpenMpi = "openmpi",
        /// MVAPICH 4.0.
        Mvapich = "mvapich",
        /// The plainest algorithms: straight to the root, from the root, or to everyone.
        Linear = "linear",
        /// None: the operations only make processes wait for each other.
        Off = "off",
    }
}

/// What one process posts, sends and waits for, in order. Empty for [`Library::Off`], for a single
/// process, for `MPI_Alltoallw`, and for an operation without data.
///
/// # Complexity
/// Linear in the process's messages; a few algorithms also sum blocks, in the square of the number
/// of processes at most.
pub fn schedule(library: Library, call: &Call<'_>) -> Vec<Op> {
    let mut steps = Steps::default();
    run(library, call, &mut steps);
    steps.ops
}

fn run(library: Library, call: &Call<'_>, steps: &mut Steps) {
    if call.size < 2 || (call.kind != CollectiveKind::Barrier && call.everything() == 0) {
        return;
    }
    if let Some(name) = select::algorithm(library, call) {
        by(library, name, call, steps);
    }
}

/// The steps by a library's form of an algorithm.
fn by(library: Library, name: &str, call: &Call<'_>, steps: &mut Steps) {
    use CollectiveKind::*;
    steps.kind(call.kind);
    match call.kind {
        Barrier => barrier::run(name, call, steps),
        Bcast => bcast::run(library, name, call, steps),
        Reduce => reduce::run(library, name, call, steps),
        Allreduce => allreduce::run(library, name, call, steps),
        Gather | Gatherv => gather::run(name, call, steps),
        Scatter | Scatterv => scatter::run(name, call, steps),
        Allgather | Allgatherv => allgather::run(library, name, call, steps),
        Alltoall | Alltoallv => alltoall::run(name, call, steps),
        ReduceScatter => reduce_scatter::run(library, name, call, steps),
        Scan | Exscan => scan::run(name, call, steps),
        Alltoallw => {}
    }
}

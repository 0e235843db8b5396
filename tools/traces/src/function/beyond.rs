//! Functions that DUMPI has no number for. Their numbers follow DUMPI's, in this order.

use std::sync::LazyLock;

use super::table::FunctionRow;
use super::{Class, Function, Recipe};

/// Functions whose messages OTF2 records.
const MESSAGES: &[&str] = &[
    "MPI_Mrecv",
    "MPI_Imrecv",
    "MPI_Isendrecv",
    "MPI_Isendrecv_replace",
];
const PROBES: &[&str] = &["MPI_Mprobe", "MPI_Improbe"];

/// Variants with large counts; each is read as the function without `_c`.
#[rustfmt::skip]
const LARGE: &[&str] = &[
    "MPI_Send_c", "MPI_Bsend_c", "MPI_Ssend_c", "MPI_Rsend_c", "MPI_Isend_c", "MPI_Ibsend_c",
    "MPI_Issend_c", "MPI_Irsend_c", "MPI_Recv_c", "MPI_Irecv_c", "MPI_Mrecv_c", "MPI_Imrecv_c",
    "MPI_Sendrecv_c", "MPI_Sendrecv_replace_c", "MPI_Isendrecv_c", "MPI_Isendrecv_replace_c",
    "MPI_Send_init_c", "MPI_Bsend_init_c", "MPI_Ssend_init_c", "MPI_Rsend_init_c",
    "MPI_Recv_init_c", "MPI_Bcast_c", "MPI_Gather_c", "MPI_Gatherv_c", "MPI_Scatter_c",
    "MPI_Scatterv_c", "MPI_Allgather_c", "MPI_Allgatherv_c", "MPI_Alltoall_c", "MPI_Alltoallv_c",
    "MPI_Alltoallw_c", "MPI_Allreduce_c", "MPI_Reduce_c", "MPI_Reduce_scatter_c",
    "MPI_Reduce_scatter_block_c", "MPI_Scan_c", "MPI_Exscan_c", "MPI_Ibcast_c", "MPI_Igather_c",
    "MPI_Igatherv_c", "MPI_Iscatter_c", "MPI_Iscatterv_c", "MPI_Iallgather_c", "MPI_Iallgatherv_c",
    "MPI_Ialltoall_c", "MPI_Ialltoallv_c", "MPI_Ialltoallw_c", "MPI_Iallreduce_c", "MPI_Ireduce_c",
    "MPI_Ireduce_scatter_c", "MPI_Ireduce_scatter_block_c", "MPI_Iscan_c", "MPI_Iexscan_c",
    "MPI_Neighbor_allgather_c", "MPI_Neighbor_allgatherv_c", "MPI_Neighbor_alltoall_c",
    "MPI_Neighbor_alltoallv_c", "MPI_Neighbor_alltoallw_c", "MPI_Ineighbor_allgather_c",
    "MPI_Ineighbor_allgatherv_c", "MPI_Ineighbor_alltoall_c", "MPI_Ineighbor_alltoallv_c",
    "MPI_Ineighbor_alltoallw_c", "MPI_Bcast_init_c", "MPI_Gather_init_c", "MPI_Gatherv_init_c",
    "MPI_Scatter_init_c", "MPI_Scatterv_init_c", "MPI_Allgather_init_c", "MPI_Allgatherv_init_c",
    "MPI_Alltoall_init_c", "MPI_Alltoallv_init_c", "MPI_Alltoallw_init_c", "MPI_Allreduce_init_c",
    "MPI_Reduce_init_c", "MPI_Reduce_scatter_init_c", "MPI_Reduce_scatter_block_init_c",
    "MPI_Scan_init_c", "MPI_Exscan_init_c", "MPI_Neighbor_allgather_init_c",
    "MPI_Neighbor_allgatherv_init_c", "MPI_Neighbor_alltoall_init_c",
    "MPI_Neighbor_alltoallv_init_c", "MPI_Neighbor_alltoallw_init_c", "MPI_Put_c", "MPI_Get_c",
    "MPI_Accumulate_c",
];

/// Collectives without blocking, of neighbours, and persistent ones.
#[rustfmt::skip]
const COLLECTIVES: &[&str] = &[
    "MPI_Reduce_scatter_block", "MPI_Ibarrier", "MPI_Ibcast", "MPI_Igather", "MPI_Igatherv",
    "MPI_Iscatter", "MPI_Iscatterv", "MPI_Iallgather", "MPI_Iallgatherv", "MPI_Ialltoall",
    "MPI_Ialltoallv", "MPI_Ialltoallw", "MPI_Iallreduce", "MPI_Ireduce", "MPI_Ireduce_scatter",
    "MPI_Ireduce_scatter_block", "MPI_Iscan", "MPI_Iexscan", "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv", "MPI_Neighbor_alltoall", "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw", "MPI_Ineighbor_allgather", "MPI_Ineighbor_allgatherv",
    "MPI_Ineighbor_alltoall", "MPI_Ineighbor_alltoallv", "MPI_Ineighbor_alltoallw",
];

#[rustfmt::skip]
const ONE_SIDED: &[&str] = &[
    "MPI_Rput", "MPI_Rget", "MPI_Raccumulate", "MPI_Rget_accumulate", "MPI_Get_accumulate",
    "MPI_Fetch_and_op", "MPI_Compare_and_swap", "MPI_Win_lock_all", "MPI_Win_unlock_all",
    "MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_flush_local", "MPI_Win_flush_local_all",
    "MPI_Win_sync",
];

#[rustfmt::skip]
const OTHER: &[&str] = &[
    "MPI_Win_allocate", "MPI_Win_allocate_shared", "MPI_Win_create_dynamic", "MPI_Win_attach",
    "MPI_Win_detach", "MPI_Comm_create_group", "MPI_Comm_split_type", "MPI_Comm_idup",
    "MPI_Comm_dup_with_info", "MPI_Dist_graph_create", "MPI_Dist_graph_create_adjacent",
    "MPI_Barrier_init", "MPI_Bcast_init", "MPI_Allreduce_init", "MPI_Allgather_init",
    "MPI_Allgatherv_init", "MPI_Alltoall_init", "MPI_Alltoallv_init", "MPI_Alltoallw_init",
    "MPI_Reduce_init", "MPI_Reduce_scatter_init", "MPI_Reduce_scatter_block_init",
    "MPI_Gather_init", "MPI_Gatherv_init", "MPI_Scatter_init", "MPI_Scatterv_init",
    "MPI_Scan_init", "MPI_Exscan_init", "MPI_Neighbor_allgather_init",
    "MPI_Neighbor_allgatherv_init", "MPI_Neighbor_alltoall_init", "MPI_Neighbor_alltoallv_init",
    "MPI_Neighbor_alltoallw_init", "MPI_Psend_init", "MPI_Precv_init", "MPI_Pready", "MPI_Pready_range", "MPI_Pready_list", "MPI_Parrived",
    "MPI_Session_init", "MPI_Session_finalize", "MPI_Group_from_session_pset",
    "MPI_Comm_create_from_group", "MPI_Get_library_version",
];

const PARTS: [(Class, &[&str]); 5] = [
    (Class::P2p, MESSAGES),
    (Class::Progress, PROBES),
    (Class::Collective, COLLECTIVES),
    (Class::OneSided, ONE_SIDED),
    (Class::Other, OTHER),
];

pub(super) const COUNT: usize =
    MESSAGES.len() + PROBES.len() + COLLECTIVES.len() + ONE_SIDED.len() + OTHER.len() + LARGE.len();

pub(super) static TABLE: LazyLock<Vec<FunctionRow>> = LazyLock::new(|| {
    let mut rows = Vec::with_capacity(COUNT);
    for (class, names) in PARTS {
        rows.extend(names.iter().map(|name| row(name, class, Recipe::Other)));
    }
    for name in LARGE {
        let base = name.trim_end_matches("_c");
        let like = |row: &&FunctionRow| row.name == base;
        let small = super::table::TABLE.iter().find(like);
        let small = small.or_else(|| rows.iter().find(like));
        let (class, recipe) =
            small.map_or((Class::Other, Recipe::Other), |it| (it.class, it.recipe));
        rows.push(row(name, class, recipe));
    }
    rows
});

fn row(name: &'static str, class: Class, recipe: Recipe) -> FunctionRow {
    FunctionRow {
        name,
        class,
        fields: &[],
        recipe,
    }
}

/// Whether the readers count the calls of this function, but read nothing of what they do.
pub(super) fn is_only_counted(function: Function) -> bool {
    let name = function.name();
    let is_large_p2p = name.ends_with("_c") && function.class() == Class::P2p;
    function.is_beyond_dumpi()
        && function.recipe() == Recipe::Other
        && !MESSAGES.contains(&name)
        && !PROBES.contains(&name)
        && !is_large_p2p
}

//! The functions by number: name, class, arguments in the order of the DUMPI binary file.
//!
//! Numbers and arguments are those of the DUMPI format, which covers MPI-2.2 and the I/O chapter.
//! They have been the same in all its versions from 1.0.0 to 13.0.0.

use crate::trace::SendMode::{Buffered, Ready, Standard, Synchronous};
use crate::trace::{CollectiveKind, CompletionKind};

use super::Class::{self, Collective, OneSided, Other, P2p, Progress};
use super::Recipe;
use super::field::Field::{
    self, Args, AtRoot, I32, I32s, I32ss, I64, Requests, Statuses, Str, Strs, Strss, U8, U8s, U16,
    U16s,
};

/// One function.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) fields: &'static [Field],
    pub(super) recipe: Recipe,
}

impl Row {
    const fn makes(self, recipe: Recipe) -> Self {
        Self { recipe, ..self }
    }
}

const fn row(name: &'static str, class: Class, fields: &'static [Field]) -> Row {
    Row { name, class, fields, recipe: Recipe::Other }
}

const SEND: &[Field] = &[I32("count"), U16("datatype"), I32("dest"), I32("tag"), U16("comm")];
const ISEND: &[Field] =
    &[I32("count"), U16("datatype"), I32("dest"), I32("tag"), U16("comm"), I32("request")];
const TEST: &[Field] = &[I32("request"), I32("flag"), Statuses("status")];
const REQUEST: &[Field] = &[I32("request")];
const SOME: &[Field] =
    &[I32("count"), Requests("requests"), I32("outcount"), I32s("indices"), Statuses("statuses")];
const TYPE_VECTOR: &[Field] =
    &[I32("count"), I32("blocklength"), I32("stride"), U16("oldtype"), U16("newtype")];
const COMM: &[Field] = &[U16("comm")];
const REDUCTION: &[Field] = &[I32("count"), U16("datatype"), U8("op"), U16("comm")];
const TWO_GROUPS: &[Field] = &[U16("group1"), U16("group2"), U16("newgroup")];
const ERRHANDLER: &[Field] = &[U16("errhandler")];
const COMM_ERRHANDLER: &[Field] = &[U16("comm"), U16("errhandler")];
const SERVICE: &[Field] = &[Str("servicename"), U16("info"), Str("portname")];
const WIN: &[Field] = &[U16("win")];
const KEYVAL: &[Field] = &[U16("keyval")];
const FILE_SIZE: &[Field] = &[U16("file"), I64("size")];
const FILE_READ_AT: &[Field] =
    &[U16("file"), I64("offset"), I32("count"), U16("datatype"), Statuses("status")];
const FILE_READ: &[Field] = &[U16("file"), I32("count"), U16("datatype"), Statuses("status")];
const FILE_IREAD: &[Field] = &[U16("file"), I32("count"), U16("datatype"), I32("request")];
const FILE_END: &[Field] = &[U16("file"), Statuses("status")];
const FILE_BEGIN: &[Field] = &[U16("file"), I32("count"), U16("datatype")];

pub(super) static TABLE: [Row; 290] = [
    row("MPI_Send", P2p, SEND).makes(Recipe::Send(Standard)),
    row(
        "MPI_Recv",
        P2p,
        &[
            I32("count"),
            U16("datatype"),
            I32("source"),
            I32("tag"),
            U16("comm"),
            Statuses("status"),
        ],
    )
    .makes(Recipe::Recv),
    row("MPI_Get_count", Other, &[Statuses("status"), U16("datatype"), I32("count")]),
    row("MPI_Bsend", P2p, SEND).makes(Recipe::Send(Buffered)),
    row("MPI_Ssend", P2p, SEND).makes(Recipe::Send(Synchronous)),
    row("MPI_Rsend", P2p, SEND).makes(Recipe::Send(Ready)),
    row("MPI_Buffer_attach", Other, &[I32("size")]),
    row("MPI_Buffer_detach", Other, &[I32("size")]),
    row("MPI_Isend", P2p, ISEND).makes(Recipe::Isend(Standard)),
    row("MPI_Ibsend", P2p, ISEND).makes(Recipe::Isend(Buffered)),
    row("MPI_Issend", P2p, ISEND).makes(Recipe::Isend(Synchronous)),
    row("MPI_Irsend", P2p, ISEND).makes(Recipe::Isend(Ready)),
    row(
        "MPI_Irecv",
        P2p,
        &[I32("count"), U16("datatype"), I32("source"), I32("tag"), U16("comm"), I32("request")],
    )
    .makes(Recipe::Irecv),
    row("MPI_Wait", Progress, &[I32("request"), Statuses("status")])
        .makes(Recipe::Complete(CompletionKind::Wait)),
    row("MPI_Test", Progress, TEST).makes(Recipe::Complete(CompletionKind::Test)),
    row("MPI_Request_free", Other, REQUEST).makes(Recipe::RequestFree),
    row(
        "MPI_Waitany",
        Progress,
        &[I32("count"), Requests("requests"), I32("index"), Statuses("status")],
    )
    .makes(Recipe::Complete(CompletionKind::Waitany)),
    row(
        "MPI_Testany",
        Progress,
        &[I32("count"), Requests("requests"), I32("index"), I32("flag"), Statuses("status")],
    )
    .makes(Recipe::Complete(CompletionKind::Testany)),
    row("MPI_Waitall", Progress, &[I32("count"), Requests("requests"), Statuses("statuses")])
        .makes(Recipe::Complete(CompletionKind::Waitall)),
    row(
        "MPI_Testall",
        Progress,
        &[I32("count"), Requests("requests"), I32("flag"), Statuses("statuses")],
    )
    .makes(Recipe::Complete(CompletionKind::Testall)),
    row("MPI_Waitsome", Progress, SOME).makes(Recipe::Complete(CompletionKind::Waitsome)),
    row("MPI_Testsome", Progress, SOME).makes(Recipe::Complete(CompletionKind::Testsome)),
    row(
        "MPI_Iprobe",
        Progress,
        &[I32("source"), I32("tag"), U16("comm"), I32("flag"), Statuses("status")],
    )
    .makes(Recipe::Iprobe),
    row("MPI_Probe", Progress, &[I32("source"), I32("tag"), U16("comm"), Statuses("status")])
        .makes(Recipe::Probe),
    row("MPI_Cancel", Other, REQUEST).makes(Recipe::Cancel),
    row("MPI_Test_cancelled", Other, &[Statuses("status"), I32("cancelled")]),
    row("MPI_Send_init", Other, ISEND).makes(Recipe::SendInit(Standard)),
    row("MPI_Bsend_init", Other, ISEND).makes(Recipe::SendInit(Buffered)),
    row("MPI_Ssend_init", Other, ISEND).makes(Recipe::SendInit(Synchronous)),
    row("MPI_Rsend_init", Other, ISEND).makes(Recipe::SendInit(Ready)),
    row(
        "MPI_Recv_init",
        Other,
        &[I32("count"), U16("datatype"), I32("source"), I32("tag"), U16("comm"), I32("request")],
    )
    .makes(Recipe::RecvInit),
    row("MPI_Start", P2p, REQUEST).makes(Recipe::Start),
    row("MPI_Startall", P2p, &[I32("count"), Requests("requests")]).makes(Recipe::Startall),
    row(
        "MPI_Sendrecv",
        P2p,
        &[
            I32("sendcount"),
            U16("sendtype"),
            I32("dest"),
            I32("sendtag"),
            I32("recvcount"),
            U16("recvtype"),
            I32("source"),
            I32("recvtag"),
            U16("comm"),
            Statuses("status"),
        ],
    )
    .makes(Recipe::Sendrecv),
    row(
        "MPI_Sendrecv_replace",
        P2p,
        &[
            I32("count"),
            U16("datatype"),
            I32("dest"),
            I32("sendtag"),
            I32("source"),
            I32("recvtag"),
            U16("comm"),
            Statuses("status"),
        ],
    )
    .makes(Recipe::SendrecvReplace),
    row("MPI_Type_contiguous", Other, &[I32("count"), U16("oldtype"), U16("newtype")]),
    row("MPI_Type_vector", Other, TYPE_VECTOR),
    row("MPI_Type_hvector", Other, TYPE_VECTOR),
    row(
        "MPI_Type_indexed",
        Other,
        &[I32("count"), I32s("lengths"), I32s("indices"), U16("oldtype"), U16("newtype")],
    ),
    row(
        "MPI_Type_hindexed",
        Other,
        &[I32("count"), I32s("lengths"), I32s("indices"), U16("oldtype"), U16("newtype")],
    ),
    row(
        "MPI_Type_struct",
        Other,
        &[I32("count"), I32s("lengths"), I32s("indices"), U16s("oldtypes"), U16("newtype")],
    ),
    row("MPI_Address", Other, &[I32("address")]),
    row("MPI_Type_extent", Other, &[U16("datatype"), I32("extent")]),
    row("MPI_Type_size", Other, &[U16("datatype"), I32("size")]),
    row("MPI_Type_lb", Other, &[U16("datatype"), I32("lb")]),
    row("MPI_Type_ub", Other, &[U16("datatype"), I32("ub")]),
    row("MPI_Type_commit", Other, &[U16("datatype")]),
    row("MPI_Type_free", Other, &[U16("datatype")]),
    row("MPI_Get_elements", Other, &[Statuses("status"), U16("datatype"), I32("elements")]),
    row(
        "MPI_Pack",
        Other,
        &[
            I32("incount"),
            U16("datatype"),
            I32("outcount"),
            I32("position.in"),
            I32("position.out"),
            U16("comm"),
        ],
    ),
    row(
        "MPI_Unpack",
        Other,
        &[
            I32("incount"),
            I32("position.in"),
            I32("position.out"),
            I32("outcount"),
            U16("datatype"),
            U16("comm"),
        ],
    ),
    row("MPI_Pack_size", Other, &[I32("incount"), U16("datatype"), U16("comm"), I32("size")]),
    row("MPI_Barrier", Collective, COMM).makes(Recipe::Collective(CollectiveKind::Barrier)),
    row("MPI_Bcast", Collective, &[I32("count"), U16("datatype"), I32("root"), U16("comm")])
        .makes(Recipe::Collective(CollectiveKind::Bcast)),
    row(
        "MPI_Gather",
        Collective,
        &[
            I32("commrank"),
            I32("sendcount"),
            U16("sendtype"),
            I32("root"),
            U16("comm"),
            AtRoot(&I32("recvcount")),
            AtRoot(&U16("recvtype")),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Gather)),
    row(
        "MPI_Gatherv",
        Collective,
        &[
            I32("commrank"),
            I32("commsize"),
            I32("sendcount"),
            U16("sendtype"),
            I32("root"),
            U16("comm"),
            AtRoot(&I32s("recvcounts")),
            AtRoot(&I32s("displs")),
            AtRoot(&U16("recvtype")),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Gatherv)),
    row(
        "MPI_Scatter",
        Collective,
        &[
            I32("commrank"),
            I32("recvcount"),
            U16("recvtype"),
            I32("root"),
            U16("comm"),
            AtRoot(&I32("sendcount")),
            AtRoot(&U16("sendtype")),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Scatter)),
    row(
        "MPI_Scatterv",
        Collective,
        &[
            I32("commrank"),
            I32("commsize"),
            U16("sendtype"),
            I32("recvcount"),
            U16("recvtype"),
            I32("root"),
            U16("comm"),
            AtRoot(&I32s("sendcounts")),
            AtRoot(&I32s("displs")),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Scatterv)),
    row(
        "MPI_Allgather",
        Collective,
        &[I32("sendcount"), U16("sendtype"), I32("recvcount"), U16("recvtype"), U16("comm")],
    )
    .makes(Recipe::Collective(CollectiveKind::Allgather)),
    row(
        "MPI_Allgatherv",
        Collective,
        &[
            I32("commsize"),
            I32("sendcount"),
            U16("sendtype"),
            I32s("recvcounts"),
            I32s("displs"),
            U16("recvtype"),
            U16("comm"),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Allgatherv)),
    row(
        "MPI_Alltoall",
        Collective,
        &[I32("sendcount"), U16("sendtype"), I32("recvcount"), U16("recvtype"), U16("comm")],
    )
    .makes(Recipe::Collective(CollectiveKind::Alltoall)),
    row(
        "MPI_Alltoallv",
        Collective,
        &[
            I32("commsize"),
            I32s("sendcounts"),
            I32s("senddispls"),
            U16("sendtype"),
            I32s("recvcounts"),
            I32s("recvdispls"),
            U16("recvtype"),
            U16("comm"),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Alltoallv)),
    row(
        "MPI_Reduce",
        Collective,
        &[I32("count"), U16("datatype"), U8("op"), I32("root"), U16("comm")],
    )
    .makes(Recipe::Collective(CollectiveKind::Reduce)),
    row("MPI_Op_create", Other, &[I32("commute"), U8("op")]),
    row("MPI_Op_free", Other, &[U8("op")]),
    row("MPI_Allreduce", Collective, REDUCTION)
        .makes(Recipe::Collective(CollectiveKind::Allreduce)),
    row(
        "MPI_Reduce_scatter",
        Collective,
        &[I32("commsize"), I32s("recvcounts"), U16("datatype"), U8("op"), U16("comm")],
    )
    .makes(Recipe::Collective(CollectiveKind::ReduceScatter)),
    row("MPI_Scan", Collective, REDUCTION).makes(Recipe::Collective(CollectiveKind::Scan)),
    row("MPI_Group_size", Other, &[U16("group"), I32("size")]),
    row("MPI_Group_rank", Other, &[U16("group"), I32("rank")]),
    row(
        "MPI_Group_translate_ranks",
        Other,
        &[U16("group1"), I32("count"), I32s("ranks1"), U16("group2"), I32s("ranks2")],
    ),
    row("MPI_Group_compare", Other, &[U16("group1"), U16("group2"), U8("result")]),
    row("MPI_Comm_group", Other, &[U16("comm"), U16("group")]).makes(Recipe::GroupOfComm),
    row("MPI_Group_union", Other, TWO_GROUPS).makes(Recipe::GroupUnion),
    row("MPI_Group_intersection", Other, TWO_GROUPS).makes(Recipe::GroupIntersection),
    row("MPI_Group_difference", Other, TWO_GROUPS).makes(Recipe::GroupDifference),
    row("MPI_Group_incl", Other, &[U16("group"), I32("count"), I32s("ranks"), U16("newgroup")])
        .makes(Recipe::GroupIncl),
    row("MPI_Group_excl", Other, &[U16("group"), I32("count"), I32s("ranks"), U16("newgroup")])
        .makes(Recipe::GroupExcl),
    row(
        "MPI_Group_range_incl",
        Other,
        &[U16("group"), I32("count"), I32ss("ranges"), U16("newgroup")],
    )
    .makes(Recipe::GroupRangeIncl),
    row(
        "MPI_Group_range_excl",
        Other,
        &[U16("group"), I32("count"), I32ss("ranges"), U16("newgroup")],
    )
    .makes(Recipe::GroupRangeExcl),
    row("MPI_Group_free", Other, &[U16("group")]).makes(Recipe::GroupFree),
    row("MPI_Comm_size", Other, &[U16("comm"), I32("size")]).makes(Recipe::CommSize),
    row("MPI_Comm_rank", Other, &[U16("comm"), I32("rank")]).makes(Recipe::CommRank),
    row("MPI_Comm_compare", Other, &[U16("comm1"), U16("comm2"), U8("result")]),
    row("MPI_Comm_dup", Other, &[U16("oldcomm"), U16("newcomm")]).makes(Recipe::CommDup),
    row("MPI_Comm_create", Other, &[U16("oldcomm"), U16("group"), U16("newcomm")])
        .makes(Recipe::CommCreate),
    row("MPI_Comm_split", Other, &[U16("oldcomm"), I32("color"), I32("key"), U16("newcomm")])
        .makes(Recipe::CommSplit),
    row("MPI_Comm_free", Other, COMM).makes(Recipe::CommFree),
    row("MPI_Comm_test_inter", Other, &[U16("comm"), I32("inter")]),
    row("MPI_Comm_remote_size", Other, &[U16("comm"), I32("size")]),
    row("MPI_Comm_remote_group", Other, &[U16("comm"), U16("group")]).makes(Recipe::GroupOfRemote),
    row(
        "MPI_Intercomm_create",
        Other,
        &[
            U16("localcomm"),
            I32("localleader"),
            U16("remotecomm"),
            I32("remoteleader"),
            I32("tag"),
            U16("newcomm"),
        ],
    )
    .makes(Recipe::Intercomm),
    row("MPI_Intercomm_merge", Other, &[U16("comm"), I32("high"), U16("newcomm")])
        .makes(Recipe::Merge),
    row("MPI_Keyval_create", Other, &[U16("key")]),
    row("MPI_Keyval_free", Other, &[U16("key")]),
    row("MPI_Attr_put", Other, &[U16("comm"), I32("key")]),
    row("MPI_Attr_get", Other, &[U16("comm"), I32("key"), I32("flag")]),
    row("MPI_Attr_delete", Other, &[U16("comm"), I32("key")]),
    row("MPI_Topo_test", Other, &[U16("comm"), U8("topo")]),
    row(
        "MPI_Cart_create",
        Other,
        &[
            U16("oldcomm"),
            I32("ndim"),
            I32s("dims"),
            I32s("periods"),
            I32("reorder"),
            U16("newcomm"),
        ],
    )
    .makes(Recipe::CartCreate),
    row("MPI_Dims_create", Other, &[I32("nodes"), I32("ndim"), I32s("dims.in"), I32s("dims.out")]),
    row(
        "MPI_Graph_create",
        Other,
        &[
            I32("numedges"),
            U16("oldcomm"),
            I32("nodes"),
            I32s("index"),
            I32s("edges"),
            I32("reorder"),
            U16("newcomm"),
        ],
    )
    .makes(Recipe::GraphCreate),
    row("MPI_Graphdims_get", Other, &[U16("comm"), I32("nodes"), I32("edges")]),
    row(
        "MPI_Graph_get",
        Other,
        &[
            I32("totedges"),
            I32("totnodes"),
            U16("comm"),
            I32("maxindex"),
            I32("maxedges"),
            I32s("index"),
            I32s("edges"),
        ],
    ),
    row("MPI_Cartdim_get", Other, &[U16("comm"), I32("ndim")]),
    row(
        "MPI_Cart_get",
        Other,
        &[I32("ndim"), U16("comm"), I32("maxdims"), I32s("dims"), I32s("periods"), I32s("coords")],
    ),
    row("MPI_Cart_rank", Other, &[I32("ndim"), U16("comm"), I32s("coords"), I32("rank")]),
    row(
        "MPI_Cart_coords",
        Other,
        &[I32("ndim"), U16("comm"), I32("rank"), I32("maxdims"), I32s("coords")],
    ),
    row("MPI_Graph_neighbors_count", Other, &[U16("comm"), I32("rank"), I32("nneigh")]),
    row(
        "MPI_Graph_neighbors",
        Other,
        &[I32("nneigh"), U16("comm"), I32("rank"), I32("maxneighbors"), I32s("neighbors")],
    ),
    row(
        "MPI_Cart_shift",
        Other,
        &[U16("comm"), I32("direction"), I32("displ"), I32("source"), I32("dest")],
    ),
    row("MPI_Cart_sub", Other, &[I32("ndim"), U16("oldcomm"), I32s("remain_dims"), U16("newcomm")])
        .makes(Recipe::CartSub),
    row(
        "MPI_Cart_map",
        Other,
        &[U16("comm"), I32("ndim"), I32s("dims"), I32s("period"), I32("newrank")],
    ),
    row(
        "MPI_Graph_map",
        Other,
        &[I32("numedges"), U16("comm"), I32("nodes"), I32s("index"), I32s("edges"), I32("newrank")],
    ),
    row("MPI_Get_processor_name", Other, &[Str("name"), I32("resultlen")]),
    row("MPI_Get_version", Other, &[I32("version"), I32("subversion")]),
    row("MPI_Errhandler_create", Other, ERRHANDLER),
    row("MPI_Errhandler_set", Other, COMM_ERRHANDLER),
    row("MPI_Errhandler_get", Other, COMM_ERRHANDLER),
    row("MPI_Errhandler_free", Other, ERRHANDLER),
    row("MPI_Error_string", Other, &[I32("errorcode"), Str("errorstring"), I32("resultlen")]),
    row("MPI_Error_class", Other, &[I32("errorcode"), I32("errorclass")]),
    row("MPI_Wtime", Other, &[]),
    row("MPI_Wtick", Other, &[]),
    row("MPI_Init", Other, &[Args]),
    row("MPI_Finalize", Other, &[]),
    row("MPI_Initialized", Other, &[I32("result")]),
    row("MPI_Abort", Other, &[U16("comm"), I32("errorcode")]),
    row("MPI_Pcontrol", Other, &[]),
    row("MPI_Close_port", Other, &[Str("portname")]),
    row(
        "MPI_Comm_accept",
        Other,
        &[Str("portname"), U16("info"), I32("root"), U16("oldcomm"), U16("newcomm")],
    )
    .makes(Recipe::Accept),
    row(
        "MPI_Comm_connect",
        Other,
        &[Str("portname"), U16("info"), I32("root"), U16("oldcomm"), U16("newcomm")],
    )
    .makes(Recipe::Accept),
    row("MPI_Comm_disconnect", Other, COMM).makes(Recipe::CommFree),
    row("MPI_Comm_get_parent", Other, &[U16("parent")]).makes(Recipe::GetParent),
    row("MPI_Comm_join", Other, &[I32("fd"), U16("comm")]).makes(Recipe::Join),
    row(
        "MPI_Comm_spawn",
        Other,
        &[
            I32("oldcommrank"),
            I32("root"),
            U16("oldcomm"),
            U16("newcomm"),
            AtRoot(&Str("command")),
            AtRoot(&Strs("argv")),
            AtRoot(&I32("maxprocs")),
            AtRoot(&U16("info")),
            AtRoot(&I32s("errcodes")),
        ],
    )
    .makes(Recipe::Spawn),
    row(
        "MPI_Comm_spawn_multiple",
        Other,
        &[
            I32("totprocs"),
            I32("oldcommrank"),
            I32("root"),
            U16("oldcomm"),
            U16("newcomm"),
            AtRoot(&I32("count")),
            AtRoot(&Strs("commands")),
            AtRoot(&Strss("argvs")),
            AtRoot(&I32s("maxprocs")),
            AtRoot(&U16s("info")),
            AtRoot(&I32s("errcodes")),
        ],
    )
    .makes(Recipe::SpawnMultiple),
    row("MPI_Lookup_name", Other, SERVICE),
    row("MPI_Open_port", Other, &[U16("info"), Str("portname")]),
    row("MPI_Publish_name", Other, SERVICE),
    row("MPI_Unpublish_name", Other, SERVICE),
    row(
        "MPI_Accumulate",
        OneSided,
        &[
            I32("origincount"),
            U16("origintype"),
            I32("targetrank"),
            I32("targetdisp"),
            I32("targetcount"),
            U16("targettype"),
            U8("op"),
            U16("win"),
        ],
    ),
    row(
        "MPI_Get",
        OneSided,
        &[
            I32("origincount"),
            U16("origintype"),
            I32("targetrank"),
            I32("targetdisp"),
            I32("targetcount"),
            U16("targettype"),
            U16("win"),
        ],
    ),
    row(
        "MPI_Put",
        OneSided,
        &[
            I32("origincount"),
            U16("origintype"),
            I32("targetrank"),
            I32("targetdisp"),
            I32("targetcount"),
            U16("targettype"),
            U16("win"),
        ],
    ),
    row("MPI_Win_complete", OneSided, WIN),
    row(
        "MPI_Win_create",
        OneSided,
        &[I32("size"), I32("dispunit"), U16("info"), U16("comm"), U16("win")],
    ),
    row("MPI_Win_fence", OneSided, &[U8("assertion"), U16("win")]),
    row("MPI_Win_free", OneSided, WIN),
    row("MPI_Win_get_group", Other, &[U16("win"), U16("group")]),
    row("MPI_Win_lock", OneSided, &[U8("locktype"), I32("winrank"), U8("assertion"), U16("win")]),
    row("MPI_Win_post", OneSided, &[U16("group"), U8("assertion"), U16("win")]),
    row("MPI_Win_start", OneSided, &[U16("group"), U8("assertion"), U16("win")]),
    row("MPI_Win_test", OneSided, &[U16("win"), I32("flag")]),
    row("MPI_Win_unlock", OneSided, &[I32("winrank"), U16("win")]),
    row("MPI_Win_wait", OneSided, WIN),
    row(
        "MPI_Alltoallw",
        Collective,
        &[
            I32("commsize"),
            I32s("sendcounts"),
            I32s("senddispls"),
            U16s("sendtypes"),
            I32s("recvcounts"),
            I32s("recvdispls"),
            U16s("recvtypes"),
            U16("comm"),
        ],
    )
    .makes(Recipe::Collective(CollectiveKind::Alltoallw)),
    row("MPI_Exscan", Collective, REDUCTION).makes(Recipe::Collective(CollectiveKind::Exscan)),
    row("MPI_Add_error_class", Other, &[I32("errorclass")]),
    row("MPI_Add_error_code", Other, &[I32("errorclass"), I32("errorcode")]),
    row("MPI_Add_error_string", Other, &[I32("errorcode"), Str("errorstring")]),
    row("MPI_Comm_call_errhandler", Other, &[U16("comm"), I32("errorcode")]),
    row("MPI_Comm_create_keyval", Other, KEYVAL),
    row("MPI_Comm_delete_attr", Other, &[U16("comm"), U16("keyval")]),
    row("MPI_Comm_free_keyval", Other, KEYVAL),
    row("MPI_Comm_get_attr", Other, &[U16("comm"), U16("keyval"), I32("flag")]),
    row("MPI_Comm_get_name", Other, &[U16("comm"), Str("name"), I32("resultlen")]),
    row("MPI_Comm_set_attr", Other, &[U16("comm"), U16("keyval")]),
    row("MPI_Comm_set_name", Other, &[U16("comm"), Str("name")]),
    row("MPI_File_call_errhandler", Other, &[U16("file"), I32("errorcode")]),
    row("MPI_Grequest_complete", Other, REQUEST),
    row("MPI_Grequest_start", Other, REQUEST),
    row("MPI_Init_thread", Other, &[Args, U8("required"), U8("provided")]),
    row("MPI_Is_thread_main", Other, &[I32("flag")]),
    row("MPI_Query_thread", Other, &[U8("supported")]),
    row("MPI_Status_set_cancelled", Other, &[Statuses("status"), I32("flag")]),
    row("MPI_Status_set_elements", Other, &[Statuses("status"), U16("datatype"), I32("count")]),
    row("MPI_Type_create_keyval", Other, KEYVAL),
    row("MPI_Type_delete_attr", Other, &[U16("datatype"), U16("keyval")]),
    row("MPI_Type_dup", Other, &[U16("oldtype"), U16("newtype")]),
    row("MPI_Type_free_keyval", Other, KEYVAL),
    row("MPI_Type_get_attr", Other, &[U16("datatype"), U16("keyval"), I32("flag")]),
    row(
        "MPI_Type_get_contents",
        Other,
        &[
            I32("numdatatypes"),
            I32("numaddresses"),
            I32("numintegers"),
            U16("datatype"),
            I32("maxintegers"),
            I32("maxaddresses"),
            I32("maxdatatypes"),
            I32s("arrintegers"),
            I32s("arraddresses"),
            U16s("arrdatatypes"),
        ],
    ),
    row(
        "MPI_Type_get_envelope",
        Other,
        &[
            U16("datatype"),
            I32("numintegers"),
            I32("numaddresses"),
            I32("numdatatypes"),
            U8("combiner"),
        ],
    ),
    row("MPI_Type_get_name", Other, &[U16("datatype"), Str("name"), I32("resultlen")]),
    row("MPI_Type_set_attr", Other, &[U16("datatype"), U16("keyval")]),
    row("MPI_Type_set_name", Other, &[U16("datatype"), Str("name")]),
    row("MPI_Type_match_size", Other, &[U8("typeclass"), I32("size"), U16("datatype")]),
    row("MPI_Win_call_errhandler", Other, &[U16("win"), I32("errorcode")]),
    row("MPI_Win_create_keyval", Other, KEYVAL),
    row("MPI_Win_delete_attr", Other, &[U16("win"), U16("keyval")]),
    row("MPI_Win_free_keyval", Other, KEYVAL),
    row("MPI_Win_get_attr", Other, &[U16("win"), U16("keyval"), I32("flag")]),
    row("MPI_Win_get_name", Other, &[U16("win"), Str("name"), I32("resultlen")]),
    row("MPI_Win_set_attr", Other, &[U16("win"), U16("keyval")]),
    row("MPI_Win_set_name", Other, &[U16("win"), Str("name")]),
    row("MPI_Alloc_mem", Other, &[I32("size"), U16("info")]),
    row("MPI_Comm_create_errhandler", Other, ERRHANDLER),
    row("MPI_Comm_get_errhandler", Other, COMM_ERRHANDLER),
    row("MPI_Comm_set_errhandler", Other, COMM_ERRHANDLER),
    row("MPI_File_create_errhandler", Other, ERRHANDLER),
    row("MPI_File_get_errhandler", Other, &[U16("file"), U16("errhandler")]),
    row("MPI_File_set_errhandler", Other, &[U16("file"), U16("errhandler")]),
    row("MPI_Finalized", Other, &[I32("flag")]),
    row("MPI_Free_mem", Other, &[]),
    row("MPI_Get_address", Other, &[I32("address")]),
    row("MPI_Info_create", Other, &[U16("info")]),
    row("MPI_Info_delete", Other, &[U16("info"), Str("key")]),
    row("MPI_Info_dup", Other, &[U16("oldinfo"), U16("newinfo")]),
    row("MPI_Info_free", Other, &[U16("info")]),
    row(
        "MPI_Info_get",
        Other,
        &[U16("info"), Str("key"), I32("valuelength"), Str("value"), I32("flag")],
    ),
    row("MPI_Info_get_nkeys", Other, &[U16("info"), I32("nkeys")]),
    row("MPI_Info_get_nthkey", Other, &[U16("info"), I32("n"), Str("key")]),
    row("MPI_Info_get_valuelen", Other, &[U16("info"), Str("key"), I32("valuelen"), I32("flag")]),
    row("MPI_Info_set", Other, &[U16("info"), Str("key"), Str("value")]),
    row(
        "MPI_Pack_external",
        Other,
        &[
            Str("datarep"),
            I32("incount"),
            U16("intype"),
            I32("outcount"),
            I32("position.in"),
            I32("position.out"),
        ],
    ),
    row(
        "MPI_Pack_external_size",
        Other,
        &[Str("datarep"), I32("incount"), U16("datatype"), I32("size")],
    ),
    row("MPI_Request_get_status", Progress, TEST).makes(Recipe::RequestStatus),
    row(
        "MPI_Type_create_darray",
        Other,
        &[
            I32("size"),
            I32("rank"),
            I32("ndims"),
            I32s("gsizes"),
            U8s("distribs"),
            I32s("dargs"),
            I32s("psizes"),
            U8("order"),
            U16("oldtype"),
            U16("newtype"),
        ],
    ),
    row(
        "MPI_Type_create_hindexed",
        Other,
        &[
            I32("count"),
            I32s("blocklengths"),
            I32s("displacements"),
            U16("oldtype"),
            U16("newtype"),
        ],
    ),
    row("MPI_Type_create_hvector", Other, TYPE_VECTOR),
    row(
        "MPI_Type_create_indexed_block",
        Other,
        &[I32("count"), I32("blocklength"), I32s("displacments"), U16("oldtype"), U16("newtype")],
    ),
    row(
        "MPI_Type_create_resized",
        Other,
        &[U16("oldtype"), I32("lb"), I32("extent"), U16("newtype")],
    ),
    row(
        "MPI_Type_create_struct",
        Other,
        &[
            I32("count"),
            I32s("blocklengths"),
            I32s("displacements"),
            U16s("oldtypes"),
            U16("newtype"),
        ],
    ),
    row(
        "MPI_Type_create_subarray",
        Other,
        &[
            I32("ndims"),
            I32s("sizes"),
            I32s("subsizes"),
            I32s("starts"),
            U8("order"),
            U16("oldtype"),
            U16("newtype"),
        ],
    ),
    row("MPI_Type_get_extent", Other, &[U16("datatype"), I32("lb"), I32("extent")]),
    row("MPI_Type_get_true_extent", Other, &[U16("datatype"), I32("lb"), I32("extent")]),
    row(
        "MPI_Unpack_external",
        Other,
        &[
            Str("datarep"),
            I32("insize"),
            I32("position.in"),
            I32("position.out"),
            I32("outcount"),
            U16("datatype"),
        ],
    ),
    row("MPI_Win_create_errhandler", Other, ERRHANDLER),
    row("MPI_Win_get_errhandler", Other, &[U16("win"), U16("errhandler")]),
    row("MPI_Win_set_errhandler", Other, &[U16("win"), U16("errhandler")]),
    row(
        "MPI_File_open",
        Other,
        &[U16("comm"), Str("filename"), U8("amode"), U16("info"), U16("file")],
    ),
    row("MPI_File_close", Other, &[U16("file")]),
    row("MPI_File_delete", Other, &[Str("filename"), U16("info")]),
    row("MPI_File_set_size", Other, FILE_SIZE),
    row("MPI_File_preallocate", Other, FILE_SIZE),
    row("MPI_File_get_size", Other, FILE_SIZE),
    row("MPI_File_get_group", Other, &[U16("file"), U16("group")]),
    row("MPI_File_get_amode", Other, &[U16("file"), U8("amode")]),
    row("MPI_File_set_info", Other, &[U16("file"), U16("info")]),
    row("MPI_File_get_info", Other, &[U16("file"), U16("info")]),
    row(
        "MPI_File_set_view",
        Other,
        &[
            U16("file"),
            I64("offset"),
            U16("hosttype"),
            U16("filetype"),
            Str("datarep"),
            U16("info"),
        ],
    ),
    row(
        "MPI_File_get_view",
        Other,
        &[U16("file"), I64("offset"), U16("hosttype"), U16("filetype"), Str("datarep")],
    ),
    row("MPI_File_read_at", Other, FILE_READ_AT),
    row("MPI_File_read_at_all", Other, FILE_READ_AT),
    row("MPI_File_write_at", Other, FILE_READ_AT),
    row("MPI_File_write_at_all", Other, FILE_READ_AT),
    row(
        "MPI_File_iread_at",
        Other,
        &[U16("file"), I64("offset"), I32("count"), U16("datatype"), I32("request")],
    ),
    row(
        "MPI_File_iwrite_at",
        Other,
        &[U16("file"), I64("offset"), I32("count"), U16("datatype"), I32("request")],
    ),
    row("MPI_File_read", Other, FILE_READ),
    row("MPI_File_read_all", Other, FILE_READ),
    row("MPI_File_write", Other, FILE_READ),
    row("MPI_File_write_all", Other, FILE_READ),
    row("MPI_File_iread", Other, FILE_IREAD),
    row("MPI_File_iwrite", Other, FILE_IREAD),
    row("MPI_File_seek", Other, &[U16("file"), I64("offset"), U8("whence")]),
    row("MPI_File_get_position", Other, &[U16("file"), I64("offset")]),
    row("MPI_File_get_byte_offset", Other, &[U16("file"), I64("offset"), I64("bytes")]),
    row("MPI_File_read_shared", Other, FILE_READ),
    row("MPI_File_write_shared", Other, FILE_READ),
    row("MPI_File_iread_shared", Other, FILE_IREAD),
    row("MPI_File_iwrite_shared", Other, FILE_IREAD),
    row("MPI_File_read_ordered", Other, FILE_READ),
    row("MPI_File_write_ordered", Other, FILE_READ),
    row("MPI_File_seek_shared", Other, &[U16("file"), I64("offset"), U8("whence")]),
    row("MPI_File_get_position_shared", Other, &[U16("file"), I64("offset")]),
    row(
        "MPI_File_read_at_all_begin",
        Other,
        &[U16("file"), I64("offset"), I32("count"), U16("datatype")],
    ),
    row("MPI_File_read_at_all_end", Other, FILE_END),
    row(
        "MPI_File_write_at_all_begin",
        Other,
        &[U16("file"), I64("offset"), I32("count"), U16("datatype")],
    ),
    row("MPI_File_write_at_all_end", Other, FILE_END),
    row("MPI_File_read_all_begin", Other, FILE_BEGIN),
    row("MPI_File_read_all_end", Other, FILE_END),
    row("MPI_File_write_all_begin", Other, FILE_BEGIN),
    row("MPI_File_write_all_end", Other, FILE_END),
    row("MPI_File_read_ordered_begin", Other, FILE_BEGIN),
    row("MPI_File_read_ordered_end", Other, FILE_END),
    row("MPI_File_write_ordered_begin", Other, FILE_BEGIN),
    row("MPI_File_write_ordered_end", Other, FILE_END),
    row("MPI_File_get_type_extent", Other, &[U16("file"), U16("datatype"), I32("extent")]),
    row("MPI_Register_datarep", Other, &[Str("name")]),
    row("MPI_File_set_atomicity", Other, &[U16("file"), I32("flag")]),
    row("MPI_File_get_atomicity", Other, &[U16("file"), I32("flag")]),
    row("MPI_File_sync", Other, &[U16("file")]),
    row("MPIO_Test", Other, TEST),
    row("MPIO_Wait", Other, &[I32("request"), Statuses("status")]),
    row(
        "MPIO_Testall",
        Other,
        &[I32("count"), Requests("requests"), I32("flag"), Statuses("statuses")],
    ),
    row("MPIO_Waitall", Other, &[I32("count"), Requests("requests"), Statuses("statuses")]),
    row(
        "MPIO_Testany",
        Other,
        &[I32("count"), Requests("requests"), I32("flag"), I32("index"), Statuses("statuses")],
    ),
    row(
        "MPIO_Waitany",
        Other,
        &[I32("count"), Requests("requests"), I32("index"), Statuses("statuses")],
    ),
    row("MPIO_Waitsome", Other, SOME),
    row("MPIO_Testsome", Other, SOME),
];

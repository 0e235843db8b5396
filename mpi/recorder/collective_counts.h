/* The collectives that have counts. collective.c includes this twice: with the counts of MPI-3, and with
 * those of MPI-4 (MPI_Count, functions that end in _c). It defines NAME, COUNT, DISPLACEMENT, PUT_COUNTS and
 * PUT_DISPLACEMENTS. */

int NAME(MPI_Bcast)(void *buffer, COUNT count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    struct call call = rec_enter(53);
    int result = NAME(PMPI_Bcast)(buffer, count, datatype, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        put_side(root != MPI_PROC_NULL, count, datatype);
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int NAME(MPI_Gather)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, void *receive_buffer,
               COUNT receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    struct call call = rec_enter(54);
    int result = NAME(PMPI_Gather)(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        struct place place = place_in(comm);
        rec_put_i32(place.rank);
        put_side(is_leaf(&place, root) && send_buffer != MPI_IN_PLACE, send_count, send_type);
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        if (place.rank == root_number(root)) {
            put_side(is_root(&place, root), receive_count, receive_type);
        }
        rec_end();
    }
    return result;
}

int NAME(MPI_Gatherv)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, void *receive_buffer,
                const COUNT receive_counts[], const DISPLACEMENT displacements[], MPI_Datatype receive_type, int root,
                MPI_Comm comm) {
    struct call call = rec_enter(55);
    int result = NAME(PMPI_Gatherv)(send_buffer, send_count, send_type, receive_buffer, receive_counts, displacements,
                              receive_type, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        struct place place = place_in(comm);
        rec_put_i32(place.rank);
        rec_put_i32(place.others);
        put_side(is_leaf(&place, root) && send_buffer != MPI_IN_PLACE, send_count, send_type);
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        if (place.rank == root_number(root)) {
            bool receives = is_root(&place, root);
            PUT_COUNTS(receives, receive_counts, place.others);
            PUT_DISPLACEMENTS(receives, displacements, place.others);
            put_type(receives, receive_type);
        }
        rec_end();
    }
    return result;
}

int NAME(MPI_Scatter)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, void *receive_buffer,
                COUNT receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    struct call call = rec_enter(56);
    int result = NAME(PMPI_Scatter)(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        struct place place = place_in(comm);
        rec_put_i32(place.rank);
        put_side(is_leaf(&place, root) && receive_buffer != MPI_IN_PLACE, receive_count, receive_type);
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        if (place.rank == root_number(root)) {
            put_side(is_root(&place, root), send_count, send_type);
        }
        rec_end();
    }
    return result;
}

int NAME(MPI_Scatterv)(const void *send_buffer, const COUNT send_counts[], const DISPLACEMENT displacements[], MPI_Datatype send_type,
                 void *receive_buffer, COUNT receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    struct call call = rec_enter(57);
    int result = NAME(PMPI_Scatterv)(send_buffer, send_counts, displacements, send_type, receive_buffer, receive_count,
                               receive_type, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        struct place place = place_in(comm);
        bool sends = is_root(&place, root);
        rec_put_i32(place.rank);
        rec_put_i32(place.others);
        put_type(sends, send_type);
        put_side(is_leaf(&place, root) && receive_buffer != MPI_IN_PLACE, receive_count, receive_type);
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        if (place.rank == root_number(root)) {
            PUT_COUNTS(sends, send_counts, place.others);
            PUT_DISPLACEMENTS(sends, displacements, place.others);
        }
        rec_end();
    }
    return result;
}

/* All to all with one count for all ranks. */
#define SAME_COUNTS(number, name)                                                                                   \
    int NAME(MPI_##name)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, void *receive_buffer,          \
                   COUNT receive_count, MPI_Datatype receive_type, MPI_Comm comm) {                                  \
        struct call call = rec_enter(number);                                                                      \
        int result = NAME(PMPI_##name)(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type,  \
                                 comm);                                                                            \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                                             \
            put_side(send_buffer != MPI_IN_PLACE, send_count, send_type);                                          \
            put_side(true, receive_count, receive_type);                                                           \
            rec_put_comm(comm);                                                                                    \
            rec_end();                                                                                             \
        }                                                                                                          \
        return result;                                                                                             \
    }

SAME_COUNTS(58, Allgather)
SAME_COUNTS(60, Alltoall)
#undef SAME_COUNTS

int NAME(MPI_Allgatherv)(const void *send_buffer, COUNT send_count, MPI_Datatype send_type, void *receive_buffer,
                   const COUNT receive_counts[], const DISPLACEMENT displacements[], MPI_Datatype receive_type, MPI_Comm comm) {
    struct call call = rec_enter(59);
    int result = NAME(PMPI_Allgatherv)(send_buffer, send_count, send_type, receive_buffer, receive_counts, displacements,
                                 receive_type, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int others = place_in(comm).others;
        rec_put_i32(others);
        put_side(send_buffer != MPI_IN_PLACE, send_count, send_type);
        PUT_COUNTS(true, receive_counts, others);
        PUT_DISPLACEMENTS(true, displacements, others);
        rec_put_datatype(receive_type);
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int NAME(MPI_Alltoallv)(const void *send_buffer, const COUNT send_counts[], const DISPLACEMENT send_displacements[],
                  MPI_Datatype send_type, void *receive_buffer, const COUNT receive_counts[],
                  const DISPLACEMENT receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm) {
    struct call call = rec_enter(61);
    int result = NAME(PMPI_Alltoallv)(send_buffer, send_counts, send_displacements, send_type, receive_buffer,
                                receive_counts, receive_displacements, receive_type, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int others = place_in(comm).others;
        bool sends = send_buffer != MPI_IN_PLACE;
        rec_put_i32(others);
        PUT_COUNTS(sends, send_counts, others);
        PUT_DISPLACEMENTS(sends, send_displacements, others);
        put_type(sends, send_type);
        PUT_COUNTS(true, receive_counts, others);
        PUT_DISPLACEMENTS(true, receive_displacements, others);
        rec_put_datatype(receive_type);
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int NAME(MPI_Alltoallw)(const void *send_buffer, const COUNT send_counts[], const DISPLACEMENT send_displacements[],
                  const MPI_Datatype send_types[], void *receive_buffer, const COUNT receive_counts[],
                  const DISPLACEMENT receive_displacements[], const MPI_Datatype receive_types[], MPI_Comm comm) {
    struct call call = rec_enter(155);
    int result = NAME(PMPI_Alltoallw)(send_buffer, send_counts, send_displacements, send_types, receive_buffer,
                                receive_counts, receive_displacements, receive_types, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int others = place_in(comm).others;
        bool sends = send_buffer != MPI_IN_PLACE;
        rec_put_i32(others);
        PUT_COUNTS(sends, send_counts, others);
        PUT_DISPLACEMENTS(sends, send_displacements, others);
        put_types(sends, send_types, others);
        PUT_COUNTS(true, receive_counts, others);
        PUT_DISPLACEMENTS(true, receive_displacements, others);
        put_types(true, receive_types, others);
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int NAME(MPI_Reduce)(const void *send_buffer, void *receive_buffer, COUNT count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm) {
    struct call call = rec_enter(62);
    int result = NAME(PMPI_Reduce)(send_buffer, receive_buffer, count, datatype, op, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        put_side(root != MPI_PROC_NULL, count, datatype);
        rec_put_u8(rec_op(root != MPI_PROC_NULL ? op : MPI_OP_NULL));
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

/* Reductions without root. */
#define REDUCTION(number, name)                                                                                  \
    int NAME(MPI_##name)(const void *send_buffer, void *receive_buffer, COUNT count, MPI_Datatype datatype, MPI_Op op,   \
                   MPI_Comm comm) {                                                                              \
        struct call call = rec_enter(number);                                                                    \
        int result = NAME(PMPI_##name)(send_buffer, receive_buffer, count, datatype, op, comm);                        \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                                           \
            put_side(true, count, datatype);                                                                     \
            rec_put_u8(rec_op(op));                                                                              \
            rec_put_comm(comm);                                                                                  \
            rec_end();                                                                                           \
        }                                                                                                        \
        return result;                                                                                           \
    }

REDUCTION(65, Allreduce)
REDUCTION(67, Scan)
REDUCTION(156, Exscan)
#undef REDUCTION

int NAME(MPI_Reduce_scatter)(const void *send_buffer, void *receive_buffer, const COUNT receive_counts[],
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    struct call call = rec_enter(66);
    int result = NAME(PMPI_Reduce_scatter)(send_buffer, receive_buffer, receive_counts, datatype, op, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int members = 0; /* the local group, on an intercommunicator as well */
        PMPI_Comm_size(comm, &members);
        rec_put_i32(members);
        PUT_COUNTS(true, receive_counts, members);
        rec_put_datatype(datatype);
        rec_put_u8(rec_op(op));
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

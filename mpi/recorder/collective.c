/* Collectives with communicator, root, counts and datatypes.
 *
 * An argument that MPI calls "not significant" may hold anything, so the recorder does not read it: the record has
 * 0 elements of MPI_DATATYPE_NULL instead. This concerns MPI_IN_PLACE and, on intercommunicators, the side that does
 * not send or receive. */

#include "record.h"

/* The caller's place in a collective. */
struct place {
    int rank;
    int others;    /* length of the lists of counts: the size of the remote group, or of the communicator */
    bool is_inter;
};

static struct place place_in(MPI_Comm comm) {
    struct place place = {0};
    int is_inter = 0;
    PMPI_Comm_rank(comm, &place.rank);
    PMPI_Comm_test_inter(comm, &is_inter);
    place.is_inter = is_inter != 0;
    if (place.is_inter) {
        PMPI_Comm_remote_size(comm, &place.others);
    } else {
        PMPI_Comm_size(comm, &place.others);
    }
    return place;
}

/* MPI_ROOT is -2 in a file, so MPI_PROC_NULL in its place is -1. */
static int root_number(int root) { return root == MPI_ROOT ? -2 : root == MPI_PROC_NULL ? -1 : root; }

/* Whether the arguments for data sent to the root, or received from it, are significant for the caller. */
static bool is_leaf(const struct place *place, int root) { return !place->is_inter || root >= 0; }
static bool is_root(const struct place *place, int root) {
    return place->is_inter ? root == MPI_ROOT : root == place->rank;
}

static void put_side(bool significant, int count, MPI_Datatype datatype) {
    rec_put_i32(significant ? count : 0);
    rec_put_datatype(significant ? datatype : MPI_DATATYPE_NULL);
}
static void put_type(bool significant, MPI_Datatype datatype) {
    rec_put_datatype(significant ? datatype : MPI_DATATYPE_NULL);
}
static void put_list(bool significant, const int *values, int count) { rec_put_i32s(significant ? values : NULL, count); }

int MPI_Barrier(MPI_Comm comm) {
    struct call call = rec_enter(52);
    int result = PMPI_Barrier(comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    struct call call = rec_enter(53);
    int result = PMPI_Bcast(buffer, count, datatype, root, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        put_side(root != MPI_PROC_NULL, count, datatype);
        rec_put_i32(root_number(root));
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int MPI_Gather(const void *send_buffer, int send_count, MPI_Datatype send_type, void *receive_buffer,
               int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    struct call call = rec_enter(54);
    int result = PMPI_Gather(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm);
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

int MPI_Gatherv(const void *send_buffer, int send_count, MPI_Datatype send_type, void *receive_buffer,
                const int receive_counts[], const int displacements[], MPI_Datatype receive_type, int root,
                MPI_Comm comm) {
    struct call call = rec_enter(55);
    int result = PMPI_Gatherv(send_buffer, send_count, send_type, receive_buffer, receive_counts, displacements,
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
            put_list(receives, receive_counts, place.others);
            put_list(receives, displacements, place.others);
            put_type(receives, receive_type);
        }
        rec_end();
    }
    return result;
}

int MPI_Scatter(const void *send_buffer, int send_count, MPI_Datatype send_type, void *receive_buffer,
                int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    struct call call = rec_enter(56);
    int result = PMPI_Scatter(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type, root, comm);
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

int MPI_Scatterv(const void *send_buffer, const int send_counts[], const int displacements[], MPI_Datatype send_type,
                 void *receive_buffer, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    struct call call = rec_enter(57);
    int result = PMPI_Scatterv(send_buffer, send_counts, displacements, send_type, receive_buffer, receive_count,
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
            put_list(sends, send_counts, place.others);
            put_list(sends, displacements, place.others);
        }
        rec_end();
    }
    return result;
}

/* All to all with one count for all ranks. */
#define SAME_COUNTS(number, name)                                                                                   \
    int MPI_##name(const void *send_buffer, int send_count, MPI_Datatype send_type, void *receive_buffer,          \
                   int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {                                  \
        struct call call = rec_enter(number);                                                                      \
        int result = PMPI_##name(send_buffer, send_count, send_type, receive_buffer, receive_count, receive_type,  \
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

int MPI_Allgatherv(const void *send_buffer, int send_count, MPI_Datatype send_type, void *receive_buffer,
                   const int receive_counts[], const int displacements[], MPI_Datatype receive_type, MPI_Comm comm) {
    struct call call = rec_enter(59);
    int result = PMPI_Allgatherv(send_buffer, send_count, send_type, receive_buffer, receive_counts, displacements,
                                 receive_type, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int others = place_in(comm).others;
        rec_put_i32(others);
        put_side(send_buffer != MPI_IN_PLACE, send_count, send_type);
        rec_put_i32s(receive_counts, others);
        rec_put_i32s(displacements, others);
        rec_put_datatype(receive_type);
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int MPI_Alltoallv(const void *send_buffer, const int send_counts[], const int send_displacements[],
                  MPI_Datatype send_type, void *receive_buffer, const int receive_counts[],
                  const int receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm) {
    struct call call = rec_enter(61);
    int result = PMPI_Alltoallv(send_buffer, send_counts, send_displacements, send_type, receive_buffer,
                                receive_counts, receive_displacements, receive_type, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int others = place_in(comm).others;
        bool sends = send_buffer != MPI_IN_PLACE;
        rec_put_i32(others);
        put_list(sends, send_counts, others);
        put_list(sends, send_displacements, others);
        put_type(sends, send_type);
        rec_put_i32s(receive_counts, others);
        rec_put_i32s(receive_displacements, others);
        rec_put_datatype(receive_type);
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

static void put_types(bool significant, const MPI_Datatype *datatypes, int count) {
    rec_put_i32(significant ? count : 0);
    for (int k = 0; significant && k < count; k++) {
        rec_put_datatype(datatypes[k]);
    }
}

int MPI_Alltoallw(const void *send_buffer, const int send_counts[], const int send_displacements[],
                  const MPI_Datatype send_types[], void *receive_buffer, const int receive_counts[],
                  const int receive_displacements[], const MPI_Datatype receive_types[], MPI_Comm comm) {
    struct call call = rec_enter(155);
    int result = PMPI_Alltoallw(send_buffer, send_counts, send_displacements, send_types, receive_buffer,
                                receive_counts, receive_displacements, receive_types, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int others = place_in(comm).others;
        bool sends = send_buffer != MPI_IN_PLACE;
        rec_put_i32(others);
        put_list(sends, send_counts, others);
        put_list(sends, send_displacements, others);
        put_types(sends, send_types, others);
        rec_put_i32s(receive_counts, others);
        rec_put_i32s(receive_displacements, others);
        put_types(true, receive_types, others);
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

int MPI_Reduce(const void *send_buffer, void *receive_buffer, int count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm) {
    struct call call = rec_enter(62);
    int result = PMPI_Reduce(send_buffer, receive_buffer, count, datatype, op, root, comm);
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
    int MPI_##name(const void *send_buffer, void *receive_buffer, int count, MPI_Datatype datatype, MPI_Op op,   \
                   MPI_Comm comm) {                                                                              \
        struct call call = rec_enter(number);                                                                    \
        int result = PMPI_##name(send_buffer, receive_buffer, count, datatype, op, comm);                        \
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

int MPI_Reduce_scatter(const void *send_buffer, void *receive_buffer, const int receive_counts[],
                       MPI_Datatype datatype, MPI_Op op, MPI_Comm comm) {
    struct call call = rec_enter(66);
    int result = PMPI_Reduce_scatter(send_buffer, receive_buffer, receive_counts, datatype, op, comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int members = 0; /* the local group, on an intercommunicator as well */
        PMPI_Comm_size(comm, &members);
        rec_put_i32(members);
        rec_put_i32s(receive_counts, members);
        rec_put_datatype(datatype);
        rec_put_u8(rec_op(op));
        rec_put_comm(comm);
        rec_end();
    }
    return result;
}

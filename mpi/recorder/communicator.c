/* Communicators and groups: where they come from and when they end.
 *
 * MPI-3 has constructors of communicators that the format does not know. If an older call is equivalent, the record
 * names the older call:
 *   MPI_Comm_dup_with_info, MPI_Comm_idup      MPI_Comm_dup
 *   MPI_Comm_split_type                        MPI_Comm_split, the colour being the parent's rank of the first member
 *   MPI_Dist_graph_create(_adjacent)           MPI_Comm_split with colour 0 and the new rank as key
 * MPI_Comm_create_group is called by the group alone, which no older call is: its communicator just appears. */

#include "record.h"

/* MPI_UNDEFINED in both libraries. */
enum { UNDEFINED = -32766 };

int MPI_Comm_size(MPI_Comm comm, int *size) {
    struct call call = rec_enter(81);
    int result = PMPI_Comm_size(comm, size);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_i32(*size);
        rec_end();
    }
    return result;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank) {
    struct call call = rec_enter(82);
    int result = PMPI_Comm_rank(comm, rank);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_i32(*rank);
        rec_end();
    }
    return result;
}

static int duplicated(const struct call *call, MPI_Comm comm, const MPI_Comm *new_comm, int result) {
    if (rec_leave(call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *new_comm) {
    struct call call = rec_enter(84);
    return duplicated(&call, comm, new_comm, PMPI_Comm_dup(comm, new_comm));
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *new_comm) {
    struct call call = rec_enter(84);
    return duplicated(&call, comm, new_comm, PMPI_Comm_dup_with_info(comm, info, new_comm));
}

/* Both libraries fill in the handle at once, though it may be used only later. */
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *new_comm, MPI_Request *request) {
    struct call call = rec_enter(84);
    return duplicated(&call, comm, new_comm, PMPI_Comm_idup(comm, new_comm, request));
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *new_comm) {
    struct call call = rec_enter(85);
    int result = PMPI_Comm_create(comm, group, new_comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_group(group);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

static int split(const struct call *call, MPI_Comm comm, int color, int key, const MPI_Comm *new_comm, int result) {
    if (rec_leave(call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_i32(color == MPI_UNDEFINED ? UNDEFINED : color);
        rec_put_i32(key);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *new_comm) {
    struct call call = rec_enter(86);
    return split(&call, comm, color, key, new_comm, PMPI_Comm_split(comm, color, key, new_comm));
}

/* The rank in `parent` of the first member of `comm`: equal for all members, different for each communicator. */
static int first_member(MPI_Comm parent, MPI_Comm comm) {
    int first = 0, there = MPI_UNDEFINED;
    MPI_Group of_parent, of_comm;
    if (comm != MPI_COMM_NULL) {
        PMPI_Comm_group(parent, &of_parent);
        PMPI_Comm_group(comm, &of_comm);
        PMPI_Group_translate_ranks(of_comm, 1, &first, of_parent, &there);
        PMPI_Group_free(&of_comm);
        PMPI_Group_free(&of_parent);
    }
    return there;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new_comm) {
    struct call call = rec_enter(86);
    int result = PMPI_Comm_split_type(comm, type, key, info, new_comm);
    int color = result == MPI_SUCCESS ? first_member(comm, *new_comm) : 0;
    return split(&call, comm, color, key, new_comm, result);
}

static int renumbered(const struct call *call, MPI_Comm comm, const MPI_Comm *new_comm, int result) {
    int rank = 0;
    if (result == MPI_SUCCESS) {
        PMPI_Comm_rank(*new_comm, &rank);
    }
    return split(call, comm, 0, rank, new_comm, result);
}

int MPI_Dist_graph_create(MPI_Comm comm, int count, const int sources[], const int degrees[], const int dests[],
                          const int weights[], MPI_Info info, int reorder, MPI_Comm *new_comm) {
    struct call call = rec_enter(86);
    int result = PMPI_Dist_graph_create(comm, count, sources, degrees, dests, weights, info, reorder, new_comm);
    return renumbered(&call, comm, new_comm, result);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in_degree, const int sources[], const int source_weights[],
                                   int out_degree, const int dests[], const int dest_weights[], MPI_Info info,
                                   int reorder, MPI_Comm *new_comm) {
    struct call call = rec_enter(86);
    int result = PMPI_Dist_graph_create_adjacent(comm, in_degree, sources, source_weights, out_degree, dests,
                                                 dest_weights, info, reorder, new_comm);
    return renumbered(&call, comm, new_comm, result);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int extents[], const int periods[], int reorder,
                    MPI_Comm *new_comm) {
    struct call call = rec_enter(99);
    int result = PMPI_Cart_create(comm, dimensions, extents, periods, reorder, new_comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_i32(dimensions);
        rec_put_i32s(extents, dimensions);
        rec_put_i32s(periods, dimensions);
        rec_put_i32(reorder);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *new_comm) {
    struct call call = rec_enter(111);
    int result = PMPI_Cart_sub(comm, remain, new_comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int dimensions = 0;
        PMPI_Cartdim_get(comm, &dimensions);
        rec_put_i32(dimensions);
        rec_put_comm(comm);
        rec_put_i32s(remain, dimensions);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                     MPI_Comm *new_comm) {
    struct call call = rec_enter(101);
    int result = PMPI_Graph_create(comm, nodes, index, edges, reorder, new_comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int count = nodes > 0 ? index[nodes - 1] : 0;
        rec_put_i32(count);
        rec_put_comm(comm);
        rec_put_i32(nodes);
        rec_put_i32s(index, nodes);
        rec_put_i32s(edges, count);
        rec_put_i32(reorder);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

int MPI_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag,
                         MPI_Comm *new_comm) {
    struct call call = rec_enter(91);
    int result = PMPI_Intercomm_create(local, local_leader, peer, remote_leader, tag, new_comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        int rank = 0;
        PMPI_Comm_rank(local, &rank);
        rec_put_comm(local);
        rec_put_i32(local_leader);
        rec_put_comm(rank == local_leader ? peer : MPI_COMM_NULL); /* significant at the leader alone */
        rec_put_i32(remote_leader);
        rec_put_i32(tag);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm *new_comm) {
    struct call call = rec_enter(92);
    int result = PMPI_Intercomm_merge(comm, high, new_comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_comm(comm);
        rec_put_i32(high);
        rec_put_comm(*new_comm);
        rec_end();
    }
    return result;
}

/* Forgets the handle before the library may give it to another object in another thread. */
#define COMM_END(number, name)                                    \
    int MPI_##name(MPI_Comm *comm) {                              \
        struct call call = rec_enter(number);                     \
        rec_lock();                                               \
        unsigned known = rec_comm(*comm);                         \
        rec_forget_comm(*comm);                                   \
        rec_unlock();                                             \
        int result = PMPI_##name(comm);                           \
        if (rec_leave(&call, result == MPI_SUCCESS)) {            \
            rec_put_u16(known);                                   \
            rec_end();                                            \
        }                                                         \
        return result;                                            \
    }

COMM_END(87, Comm_free)
COMM_END(132, Comm_disconnect)

/* ---- groups ---- */

#define GROUP_OF_COMM(number, name)                               \
    int MPI_##name(MPI_Comm comm, MPI_Group *group) {             \
        struct call call = rec_enter(number);                     \
        int result = PMPI_##name(comm, group);                    \
        if (rec_leave(&call, result == MPI_SUCCESS)) {            \
            rec_put_comm(comm);                                   \
            rec_put_group(*group);                                \
            rec_end();                                            \
        }                                                         \
        return result;                                            \
    }

GROUP_OF_COMM(72, Comm_group)
GROUP_OF_COMM(90, Comm_remote_group)

#define GROUP_OF_TWO(number, name)                                             \
    int MPI_##name(MPI_Group first, MPI_Group second, MPI_Group *group) {      \
        struct call call = rec_enter(number);                                  \
        int result = PMPI_##name(first, second, group);                        \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                         \
            rec_put_group(first);                                              \
            rec_put_group(second);                                             \
            rec_put_group(*group);                                             \
            rec_end();                                                         \
        }                                                                      \
        return result;                                                         \
    }

GROUP_OF_TWO(73, Group_union)
GROUP_OF_TWO(74, Group_intersection)
GROUP_OF_TWO(75, Group_difference)

#define GROUP_OF_RANKS(number, name)                                                       \
    int MPI_##name(MPI_Group from, int count, const int ranks[], MPI_Group *group) {       \
        struct call call = rec_enter(number);                                              \
        int result = PMPI_##name(from, count, ranks, group);                               \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                     \
            rec_put_group(from);                                                           \
            rec_put_i32(count);                                                            \
            rec_put_i32s(ranks, count);                                                    \
            rec_put_group(*group);                                                         \
            rec_end();                                                                     \
        }                                                                                  \
        return result;                                                                     \
    }

GROUP_OF_RANKS(76, Group_incl)
GROUP_OF_RANKS(77, Group_excl)

#define GROUP_OF_RANGES(number, name)                                                      \
    int MPI_##name(MPI_Group from, int count, int ranges[][3], MPI_Group *group) {         \
        struct call call = rec_enter(number);                                              \
        int result = PMPI_##name(from, count, ranges, group);                              \
        if (rec_leave(&call, result == MPI_SUCCESS)) {                                     \
            rec_put_group(from);                                                           \
            rec_put_i32(count);                                                            \
            rec_put_i32(count);                                                            \
            for (int k = 0; k < count; k++) {                                              \
                rec_put_i32s(ranges[k], 3);                                                \
            }                                                                              \
            rec_put_group(*group);                                                         \
            rec_end();                                                                     \
        }                                                                                  \
        return result;                                                                     \
    }

GROUP_OF_RANGES(78, Group_range_incl)
GROUP_OF_RANGES(79, Group_range_excl)

int MPI_Group_free(MPI_Group *group) {
    struct call call = rec_enter(80);
    rec_lock();
    unsigned known = rec_group(*group);
    rec_forget_group(*group);
    rec_unlock();
    int result = PMPI_Group_free(group);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        rec_put_u16(known);
        rec_end();
    }
    return result;
}

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

static void put_side(bool significant, MPI_Count count, MPI_Datatype datatype) {
    rec_put_amount(significant ? count : 0, significant ? datatype : MPI_DATATYPE_NULL);
}
static void put_type(bool significant, MPI_Datatype datatype) {
    rec_put_datatype(significant ? datatype : MPI_DATATYPE_NULL);
}


int MPI_Barrier(MPI_Comm comm) {
    struct call call = rec_enter(52);
    int result = PMPI_Barrier(comm);
    if (rec_leave(&call, result == MPI_SUCCESS)) {
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

#define PUT_COUNTS(significant, values, count) rec_put_i32s(significant ? values : NULL, count)
#define PUT_DISPLACEMENTS PUT_COUNTS
#define NAME(name) name
#define COUNT int
#define DISPLACEMENT int
#include "collective_counts.h"
#undef NAME
#undef COUNT
#undef DISPLACEMENT
#undef PUT_COUNTS
#undef PUT_DISPLACEMENTS

#ifdef HAVE_MPI_Bcast_c
/* The format has 32 bits for each entry of a list. Larger ones end there, and the trace says so. */
static void put_counts(const MPI_Count *values, int count) {
    rec_put_i32(values == NULL ? 0 : count);
    for (int k = 0; values != NULL && k < count; k++) {
        rec_put_i32(rec_at_least(values[k]));
    }
}
/* Displacements say nothing about the size of a message: what does not fit becomes the largest number. */
static void put_displacements(const MPI_Aint *values, int count) {
    rec_put_i32(values == NULL ? 0 : count);
    for (int k = 0; values != NULL && k < count; k++) {
        rec_put_i32(values[k] > INT32_MAX ? INT32_MAX : values[k] < INT32_MIN ? INT32_MIN : values[k]);
    }
}
#define PUT_COUNTS(significant, values, count) put_counts(significant ? values : NULL, count)
#define PUT_DISPLACEMENTS(significant, values, count) put_displacements(significant ? values : NULL, count)
#define NAME(name) name##_c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#include "collective_counts.h"
#endif

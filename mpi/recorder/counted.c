/* Calls of which only the number is kept: nothing in them bears on matching. The footer says how many there were, and
 * that none of them has a record.
 *
 * counted.def has a line per function: number in the format, name, parameters, their names. MPI functions that are
 * younger than the format have no number, those that MPI-3 removed have no declaration: neither are intercepted. */

#include "record.h"

#define COUNTED(number, name, parameters, names)      \
    int name parameters {                             \
        struct call this_call = rec_enter(number);    \
        int result = P##name names;                   \
        rec_leave(&this_call, false);                 \
        return result;                                \
    }
#include "counted.def"
#undef COUNTED

/* A freed datatype's handle may come back as another one. */
int MPI_Type_free(MPI_Datatype *datatype) {
    struct call call = rec_enter(47);
    rec_lock();
    rec_forget_datatype(*datatype);
    rec_unlock();
    int result = PMPI_Type_free(datatype);
    rec_leave(&call, false);
    return result;
}

#define CLOCK(number, name)                           \
    double name(void) {                               \
        struct call call = rec_enter(number);         \
        double seconds = P##name();                   \
        rec_leave(&call, false);                      \
        return seconds;                               \
    }

CLOCK(122, MPI_Wtime)
CLOCK(123, MPI_Wtick)

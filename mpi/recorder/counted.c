/* Calls that the recorder only counts, because they do not affect matching. The footer has their number, and says that
 * none of them has a record.
 *
 * counted.def has a line per function: number in the format, name, parameters, their names. MPI functions
 * newer than the format have no number, and functions that MPI-3 removed have no declaration: neither are
 * intercepted. */

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

/* A freed datatype's handle may return as another datatype's. */
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

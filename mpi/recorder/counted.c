/* Calls that have no record.
 *
 * counted.def names functions that have a number in the format and do not affect matching: the footer has their number,
 * and says that none of them has a record. All other functions that mpi.h declares and no other file wraps have no
 * number: notes.c counts them by name. The build makes both wrappers from the declarations; see wrappers.awk. */

#include "record.h"

#define NUMBERED(number, result, name, parameters, arguments) \
    result name parameters {                                  \
        struct call this_call = rec_enter(number);            \
        result its_result = P##name arguments;                \
        rec_leave(&this_call, false);                         \
        rec_note_numbered(number);                            \
        return its_result;                                    \
    }
#define UNNUMBERED(at, result, name, parameters, arguments)   \
    result name parameters {                                  \
        struct call this_call = rec_enter(0);                 \
        result its_result = P##name arguments;                \
        rec_leave_unnumbered(&this_call, at);                 \
        return its_result;                                    \
    }
#include "generated.h"

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

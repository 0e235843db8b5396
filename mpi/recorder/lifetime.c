/* MPI_Init to MPI_Finalize. */

#include "record.h"

static void put_init(int *argc, char ***argv) {
    int count = argc != NULL && argv != NULL ? *argc : 0;
    rec_put_i32(count);
    for (int k = 0; k < count; k++) {
        rec_put_text((*argv)[k]);
    }
}

static unsigned thread_level(int level) {
    return level == MPI_THREAD_SINGLE ? 1 : level == MPI_THREAD_FUNNELED ? 2 : level == MPI_THREAD_SERIALIZED ? 3 : 4;
}

int MPI_Init(int *argc, char ***argv) {
    struct call call = rec_enter(124);
    int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS) {
        rec_begin_session(&call);
    }
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        put_init(argc, argv);
        rec_end();
    }
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    struct call call = rec_enter(171);
    int result = PMPI_Init_thread(argc, argv, required, provided);
    if (result == MPI_SUCCESS) {
        rec_begin_session(&call);
    }
    if (rec_leave(&call, result == MPI_SUCCESS)) {
        put_init(argc, argv);
        rec_put_u8(thread_level(required));
        rec_put_u8(thread_level(*provided));
        rec_end();
    }
    return result;
}

/* Completes the file before the library ends, which may fail. */
int MPI_Finalize(void) {
    struct call call = rec_enter(125);
    if (rec_leave(&call, true)) {
        rec_end();
    }
    rec_end_session();
    return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm comm, int code) {
    struct call call = rec_enter(127);
    if (rec_leave(&call, true)) {
        rec_put_comm(comm);
        rec_put_i32(code);
        rec_end();
    }
    rec_end_session();
    return PMPI_Abort(comm, code);
}

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

static bool world_is_started;

int MPI_Init(int *argc, char ***argv) {
    struct call call = rec_enter(124);
    int result = PMPI_Init(argc, argv);
    if (result == MPI_SUCCESS) {
        world_is_started = true;
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
        world_is_started = true;
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
    rec_end_session(true);
    return PMPI_Finalize();
}

int MPI_Abort(MPI_Comm comm, int code) {
    struct call call = rec_enter(127);
    if (rec_leave(&call, true)) {
        rec_put_comm(comm);
        rec_put_i32(code);
        rec_end();
    }
    rec_end_session(false);
    return PMPI_Abort(comm, code);
}

/* Sessions. A program with sessions alone never calls MPI_Init, so the file begins at its first communicator from a
 * group: before it no process may communicate, which a common file name needs. If that communicator has all processes
 * of the run, it takes the place of MPI_COMM_WORLD. */
#ifdef HAVE_MPI_Session_init
static int sessions;
static MPI_Session last_session = MPI_SESSION_NULL;

int MPI_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
    rec_enter(0);
    int result = PMPI_Session_init(info, handler, session);
    if (result == MPI_SUCCESS) {
        rec_lock();
        sessions++;
        last_session = *session;
        rec_unlock();
    }
    rec_leave_known();
    return result;
}

int MPI_Session_finalize(MPI_Session *session) {
    struct call call = rec_enter(125);
    rec_lock();
    bool is_last = --sessions == 0 && !world_is_started;
    last_session = MPI_SESSION_NULL;
    rec_unlock();
    if (is_last) {
        if (rec_leave(&call, true)) {
            rec_end();
        }
        rec_end_session(false);
    } else {
        rec_leave_known();
    }
    return PMPI_Session_finalize(session);
}

/* The caller's place among all processes; false if the library does not know it. */
static bool place_in_world(MPI_Group *world, int *rank, int *ranks) {
    if (last_session == MPI_SESSION_NULL ||
        PMPI_Group_from_session_pset(last_session, "mpi://WORLD", world) != MPI_SUCCESS) {
        return false;
    }
    PMPI_Group_rank(*world, rank);
    PMPI_Group_size(*world, ranks);
    return true;
}

int MPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info, MPI_Errhandler handler,
                               MPI_Comm *comm) {
    static bool has_world;
    MPI_Group world = MPI_GROUP_NULL;
    int rank = 0, ranks = 0, order = MPI_UNEQUAL;
    struct call call = rec_enter(124);
    int result = PMPI_Comm_create_from_group(group, tag, info, handler, comm);
    bool is_first = result == MPI_SUCCESS && !rec_has_begun();
    if (result == MPI_SUCCESS && place_in_world(&world, &rank, &ranks)) {
        PMPI_Group_compare(group, world, &order);
        PMPI_Group_free(&world);
    }
    if (is_first && ranks > 0) {
        rec_begin_session_without_world(&call, *comm, rank, ranks);
        rec_note(NOTE_SESSIONS);
        rec_lock();
        has_world = order == MPI_IDENT;
        if (has_world) {
            rec_comm_is_world(*comm);
        }
        rec_unlock();
        if (rec_leave(&call, true)) {
            put_init(NULL, NULL);
            rec_end();
        }
    } else if (result == MPI_SUCCESS && order == MPI_IDENT && (has_world || world_is_started)) {
        /* As a copy of the first, which all processes make, too. */
        call.function = 84;
        if (rec_leave(&call, true)) {
            rec_put_u16(2); /* MPI_COMM_WORLD */
            rec_put_comm(*comm);
            rec_end();
        }
    } else {
        rec_note(NOTE_FROM_GROUP);
        rec_leave_known();
    }
    return result;
}
#endif

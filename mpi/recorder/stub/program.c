/* Calls for the test of the recorder. Loaded as a plug-in, it has no main of its own. Argument: which part. */
#include <mpi.h>
#include <string.h>

/* What all messages hold. No trace may have it. */
#define WORDS 0x5ec2e75a, 0x0badc0de
static int x[8] = {WORDS, WORDS, WORDS, WORDS}, done, flag, at[4];
static MPI_Request r[4];
static MPI_Status s[4];

static void receives(void) {
    for (int k = 0; k < 4; k++) {
        MPI_Irecv(x, k + 1, MPI_INT, k + 5, k + 20, MPI_COMM_WORLD, &r[k]);
    }
}

static void large(void) {
    MPI_Send_c(x, 3, MPI_SHORT, 4, 9, MPI_COMM_WORLD);
    MPI_Send_c(x, 5000000000, MPI_BYTE, 4, 10, MPI_COMM_WORLD);
    MPI_Send_c(x, 2147483647, MPI_DOUBLE, 4, 11, MPI_COMM_WORLD);
    MPI_Send_c(x, 2147483648, MPI_DOUBLE, 4, 12, MPI_COMM_WORLD);
    MPI_Recv_c(x, 3000000000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast_c(x, 6, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Isend_c(x, 2, MPI_INT, 3, 8, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

static void completion(void) {
    receives();
    MPI_Waitsome(4, r, &done, at, s);
    MPI_Waitall(2, r + 1, MPI_STATUSES_IGNORE);
    receives();
    MPI_Testsome(4, r, &done, at, MPI_STATUSES_IGNORE);
    MPI_Testall(2, r + 1, &flag, s);
    receives();
    MPI_Waitany(4, r, at, MPI_STATUS_IGNORE);
    MPI_Testany(3, r, at, &flag, s);
    MPI_Test(&r[1], &flag, s);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

static void newer(void) {
    MPI_Message m;
    MPI_Comm parent;
    MPI_Isendrecv(x, 2, MPI_INT, 3, 4, x, 5, MPI_SHORT, 6, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], s);
    MPI_Precv_init(x, 3, 2, MPI_INT, 4, 31, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Start(&r[0]);
    MPI_Parrived(r[0], 0, &flag);
    MPI_Wait(&r[0], s);
    MPI_Mprobe(MPI_ANY_SOURCE, 50, MPI_COMM_WORLD, &m, s);
    MPI_Imrecv(x, 6, MPI_INT, &m, &r[1]);
    MPI_Wait(&r[1], s);
    MPI_Put(x, 2, MPI_INT, 1, 0, 2, MPI_INT, MPI_WIN_NULL);
    MPI_Comm_get_parent(&parent);
    MPI_Ibarrier(MPI_COMM_WORLD, &r[2]);
    MPI_Wait(&r[2], s);
}

/* Two of everything, unlike: communicators, plain and persistent requests of both kinds. A number and a handle that are
 * free again go to the next. */
static void two(void) {
    MPI_Comm a, b, c;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(a, &b);
    MPI_Isend(x, 2, MPI_INT, 3, 8, b, &r[0]);
    MPI_Irecv(x, 5, MPI_SHORT, 6, 9, a, &r[1]);
    MPI_Recv_init(x, 4, MPI_DOUBLE, 7, 10, b, &r[2]);
    MPI_Ssend_init(x, 1, MPI_BYTE, 2, 11, a, &r[3]);
    MPI_Request kept[] = {r[0], r[1], r[2], r[3]};
    MPI_Startall(2, r + 2);
    MPI_Cancel(&r[1]);
    MPI_Waitall(2, r + 2, s);
    r[2] = kept[2];
    MPI_Start(&r[2]);
    r[3] = kept[3];
    MPI_Request_free(&r[3]);
    MPI_Irecv(x, 7, MPI_BYTE, MPI_ANY_SOURCE, 12, b, &r[3]);
    MPI_Waitall(4, r, s);
    r[2] = kept[2];
    MPI_Request_free(&r[2]);
    MPI_Comm_free(&a);
    MPI_Comm_dup(b, &c);
    MPI_Isend(x, 3, MPI_INT, 4, 13, c, &r[0]);
    MPI_Irecv(x, 6, MPI_INT, 5, MPI_ANY_TAG, b, &r[1]);
    MPI_Wait(&r[1], s);
    MPI_Irecv(x, 1, MPI_INT, 8, 15, c, &r[1]);
    MPI_Waitsome(2, r, &done, at, s);
}

/* Tests of operations that are not complete, and messages that their buffers cut. */
static void incomplete(void) {
    MPI_Irecv(x, 2, MPI_INT, 3, 98, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(x, 4, MPI_SHORT, 5, 98, MPI_COMM_WORLD, &r[1]);
    at[0] = 1;
    MPI_Testany(2, r, at, &flag, s);
    MPI_Test(&r[0], &flag, s);
    MPI_Testall(2, r, &flag, s);
    MPI_Testsome(2, r, &done, at, s);
    MPI_Waitall(2, r, s);
    MPI_Irecv(x, 1, MPI_INT, 6, 99, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], s);
    MPI_Irecv(x, 3, MPI_INT, 7, 99, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(x, 2, MPI_BYTE, 8, 97, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, s);
    MPI_Isend(x, 1, MPI_INT, 2, 8, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(x, 5, MPI_INT, 9, 99, MPI_COMM_WORLD, &r[1]);
    MPI_Waitany(2, r, at, s);
    MPI_Test(&r[0], &flag, s);
}

static void session(void) {
    MPI_Session own;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &own);
    MPI_Group_from_session_pset(own, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Send(x, 3, MPI_INT, 4, 5, comm);
    MPI_Session_finalize(&own);
}

int run(const char *part) {
    if (strcmp(part, "session") == 0) {
        session();
        return 0;
    }
    if (strcmp(part, "sessions") == 0) {
        session();
        session();
        return 0;
    }
    MPI_Init(NULL, NULL);
    if (strcmp(part, "two") == 0) {
        two();
    } else if (strcmp(part, "incomplete") == 0) {
        incomplete();
    } else {
        strcmp(part, "large") == 0 ? large() : strcmp(part, "completion") == 0 ? completion() : newer();
    }
    MPI_Finalize();
    return 0;
}

/* Two ranks that use most features of matching. The output is equal with and without the recorder. */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, other;

static void expect(int got, int wanted, const char *what) {
    if (got != wanted) {
        fprintf(stderr, "rank %d: %s: %d instead of %d\n", rank, what, got, wanted);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rank 0 posts wildcards of all kinds; rank 1 sends. */
static void wildcards(MPI_Comm comm) {
    enum { MESSAGES = 4 };
    int values[MESSAGES] = {0};
    MPI_Request requests[MESSAGES];
    if (rank == 0) {
        MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 7, comm, &requests[0]);
        MPI_Irecv(&values[1], 1, MPI_INT, other, MPI_ANY_TAG, comm, &requests[1]);
        MPI_Irecv(&values[2], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[2]);
        MPI_Irecv(&values[3], 1, MPI_INT, other, 7, comm, &requests[3]);
        MPI_Barrier(comm);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        expect(values[0] * 1000 + values[1] * 100 + values[2] * 10 + values[3], 1324, "wildcards");
    } else {
        const int tags[MESSAGES] = {7, 9, 7, 7}, sent[MESSAGES] = {1, 3, 2, 4};
        MPI_Barrier(comm);
        for (int k = 0; k < MESSAGES; k++) {
            MPI_Send(&sent[k], 1, MPI_INT, other, tags[k], comm);
        }
    }
}

/* Messages that arrive before their receives, received in another order than they were sent. */
static void unexpected(void) {
    int values[3] = {10 * rank, 10 * rank + 1, 10 * rank + 2}, got[3], index, count, done[3];
    MPI_Request sends[3], receives[3];
    MPI_Status status;
    for (int k = 0; k < 3; k++) {
        MPI_Isend(&values[k], 1, MPI_INT, other, k, MPI_COMM_WORLD, &sends[k]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < 3; k++) {
        MPI_Irecv(&got[k], 1, MPI_INT, other, 2 - k, MPI_COMM_WORLD, &receives[k]);
    }
    MPI_Waitany(3, receives, &index, &status);
    expect(status.MPI_TAG, 2 - index, "tag of Waitany");
    MPI_Waitsome(3, receives, &count, done, MPI_STATUSES_IGNORE);
    MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 3; k++) {
        expect(got[k], 10 * other + 2 - k, "late receive");
        for (int flag = 0; !flag;) {
            MPI_Test(&sends[k], &flag, MPI_STATUS_IGNORE);
        }
    }
}

static void persistent(void) {
    int out, in;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, other, 20, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        int flag = 0;
        out = 100 * rank + round;
        if (round < 2) {
            MPI_Startall(2, requests);
        } else {
            MPI_Start(&requests[1]);
            MPI_Start(&requests[0]);
        }
        while (!flag) {
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        }
        expect(in, 100 * other + round, "persistent receive");
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Probes of messages with unknown length. Rank 0 replies with what it saw; a matched probe takes its message. */
static void probes(void) {
    int values[3] = {1, 2, 3};
    MPI_Status status;
    if (rank == 1) {
        for (int count = 1; count <= 3; count++) {
            MPI_Ssend(values, count, MPI_INT, other, 30, MPI_COMM_WORLD);
        }
        return;
    }
    int count, flag = 0;
    MPI_Message message;
    MPI_Probe(MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count, 1, "probed count");
    MPI_Recv(values, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!flag) {
        MPI_Iprobe(other, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count, 2, "count of the matched probe");
    MPI_Mrecv(values, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Recv(values, 3, MPI_INT, other, 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void nowhere_and_cancelled(void) {
    int value = rank, in = -1, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Sendrecv(&value, 1, MPI_INT, other, 40, &in, 1, MPI_INT, other, 40, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(in, other, "Sendrecv");
    MPI_Sendrecv_replace(&value, 1, MPI_INT, MPI_PROC_NULL, 41, MPI_PROC_NULL, 41, MPI_COMM_WORLD, &status);
    expect(status.MPI_SOURCE, MPI_PROC_NULL, "source of a receive from nobody");
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 42, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    expect(flag, 1, "cancelled");
}

static void communicators(void) {
    int sum = rank, all[2], size;
    MPI_Comm copy, node;
    MPI_Request barrier;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split_type(copy, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &node); /* ranks the other way round */
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, copy);
    expect(sum, 1, "sum");
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 1, copy);
    MPI_Ibarrier(copy, &barrier); /* a call that the trace does not have */
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    MPI_Comm_size(node, &size);
    if (size == 2) {
        int in = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, rank, 50, &in, 1, MPI_INT, MPI_ANY_SOURCE, 50, node, MPI_STATUS_IGNORE);
        expect(in, other, "message on the other communicator");
    }
    wildcards(copy);
    MPI_Comm_free(&node);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "the example needs two ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    other = 1 - rank;
    wildcards(MPI_COMM_WORLD);
    unexpected();
    persistent();
    probes();
    nowhere_and_cancelled();
    communicators();
    if (rank == 0) {
        printf("all messages were right\n");
    }
    MPI_Finalize();
    return 0;
}

/* Neighbours on a ring exchange borders, once well and once badly: `early` posts its receives before any rank sends,
 * `late` after all messages have arrived. The recorder distinguishes the two by their call sites. */

#include <mpi.h>
#include <stdio.h>

enum { BORDERS = 8, ROUNDS = 20 };

static int rank, ranks;

static void send_all(const int *values, MPI_Request *requests) {
    for (int k = 0; k < BORDERS; k++) {
        MPI_Isend(&values[k], 1, MPI_INT, (rank + 1) % ranks, k, MPI_COMM_WORLD, &requests[k]);
    }
}

static int early(const int *values) {
    int got[BORDERS], sum = 0;
    MPI_Request requests[2 * BORDERS];
    for (int k = 0; k < BORDERS; k++) {
        MPI_Irecv(&got[k], 1, MPI_INT, (rank + ranks - 1) % ranks, k, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    send_all(values, &requests[BORDERS]);
    MPI_Waitall(2 * BORDERS, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < BORDERS; k++) {
        sum += got[k];
    }
    return sum;
}

static int late(const int *values) {
    int got[BORDERS], sum = 0;
    MPI_Request requests[2 * BORDERS];
    send_all(values, &requests[BORDERS]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = BORDERS - 1; k >= 0; k--) {
        MPI_Irecv(&got[k], 1, MPI_INT, (rank + ranks - 1) % ranks, k, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(2 * BORDERS, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < BORDERS; k++) {
        sum += got[k];
    }
    return sum;
}

int main(int argc, char **argv) {
    int values[BORDERS], sum = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int k = 0; k < BORDERS; k++) {
        values[k] = rank * BORDERS + k;
    }
    for (int round = 0; round < ROUNDS; round++) {
        sum += early(values) + late(values);
    }
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    int borders = ranks * BORDERS;
    if (rank == 0) {
        printf("sum %d, expected %d\n", all, 2 * ROUNDS * borders * (borders - 1) / 2);
    }
    MPI_Finalize();
    return 0;
}

/* Deep queues: rank 0 posts all its receives at once, and the others send them in the reverse order, as
 * in a table that many processes fill at one. Arguments: receives from each rank, rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int each = argc > 1 ? atoi(argv[1]) : 250;
    int rounds = argc > 2 ? atoi(argv[2]) : 4;
    int count = each * (size - 1);
    long *values = calloc(count > 0 ? count : 1, sizeof *values);
    MPI_Request *requests = malloc((count > 0 ? count : 1) * sizeof *requests);
    if (each < 1 || rounds < 1 || !values || !requests) {
        fprintf(stderr, "fan_in: needs receives from each rank and rounds, both from 1 on\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
        if (rank == 0)
            for (int i = 0; i < count; i++)
                MPI_Irecv(&values[i], 1, MPI_LONG, 1 + i % (size - 1), i / (size - 1), MPI_COMM_WORLD, &requests[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
            for (int i = 0; i < count; i++)
                sum += values[i];
        } else {
            for (int tag = each - 1; tag >= 0; tag--) {
                long value = (long)rank * each + tag;
                MPI_Send(&value, 1, MPI_LONG, 0, tag, MPI_COMM_WORLD);
            }
        }
    }
    if (rank == 0)
        printf("sum %ld\n", sum);
    free(values);
    free(requests);
    MPI_Finalize();
    return 0;
}

/* Collective operations only, as in a parallel FFT: transposes by MPI_Alltoall and MPI_Alltoallv between
 * sums, with a broadcast at the beginning. Arguments: elements per pair of ranks, rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int shape[2] = {argc > 1 ? atoi(argv[1]) : 16, argc > 2 ? atoi(argv[2]) : 8};
    MPI_Bcast(shape, 2, MPI_INT, 0, MPI_COMM_WORLD);
    int each = shape[0], rounds = shape[1];
    if (each < 1 || rounds < 1) {
        fprintf(stderr, "transpose: needs elements and rounds, both from 1 on\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    double *mine = calloc((size_t)each * size, sizeof *mine);
    double *theirs = calloc((size_t)each * size, sizeof *theirs);
    int *counts = malloc(3 * sizeof *counts * size);
    for (int peer = 0; peer < size; peer++) {
        mine[peer * each] = rank + peer;
        /* Uneven blocks, and none between ranks that are three apart. */
        counts[peer] = (rank + size - peer) % 3 ? each : each * (rank == peer);
        counts[size + peer] = (peer + size - rank) % 3 ? each : each * (rank == peer);
        counts[2 * size + peer] = peer * each;
    }
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
        double part = 0;
        MPI_Alltoall(mine, each, MPI_DOUBLE, theirs, each, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Alltoallv(theirs, counts, counts + 2 * size, MPI_DOUBLE, mine, counts + size, counts + 2 * size,
                      MPI_DOUBLE, MPI_COMM_WORLD);
        for (int at = 0; at < each * size; at++)
            part += mine[at];
        MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("sum %g\n", sum);
    free(mine);
    free(theirs);
    free(counts);
    MPI_Finalize();
    return 0;
}

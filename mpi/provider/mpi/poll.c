/*
 * Time of a poll that finds nothing: poll
 *
 * Every process sends a message to every other one, so that all are connected. Then rank 0 probes
 * in vain, and the others are silent. The best of 3,000 windows of 100 probes counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WINDOWS 3000
#define PROBES 100

int main(int argc, char **argv)
{
	int rank, size, found;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Request *requests = malloc(2 * size * sizeof *requests);
	for (int peer = 0; peer < size; peer++)
		MPI_Irecv(NULL, 0, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &requests[peer]);
	for (int peer = 0; peer < size; peer++)
		MPI_Isend(NULL, 0, MPI_CHAR, peer, 2, MPI_COMM_WORLD, &requests[size + peer]);
	MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
	free(requests);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank > 0) {
		sleep(2);
	} else {
		double best = 1;
		for (int window = 0; window < WINDOWS; window++) {
			double begin = MPI_Wtime();
			for (int probe = 0; probe < PROBES; probe++)
				MPI_Iprobe(size - 1, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
			double took = (MPI_Wtime() - begin) / PROBES;
			best = took < best ? took : best;
		}
		printf("%d processes: %.0f ns an empty probe\n", size, best * 1e9);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}

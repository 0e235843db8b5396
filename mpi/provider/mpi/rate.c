/*
 * Message rate between two processes, one line for all patterns: rate [messages]
 *
 * in-order: 64 receives posted in the order of the messages. reverse: 1,024 receives of different
 * tags posted, the messages in the opposite order. any-source: the same with receives from anybody.
 * ping-pong: 8 bytes, half a round trip.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define DEPTH 1024

static int rank;

static double window(int depth, int windows, int reverse, int source)
{
	static char buffers[DEPTH][8];
	static MPI_Request requests[DEPTH];
	char token = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	double begin = MPI_Wtime();
	for (int w = 0; w < windows; w++) {
		if (rank == 0) {
			for (int i = 0; i < depth; i++)
				MPI_Irecv(buffers[i], 8, MPI_CHAR, source, i, MPI_COMM_WORLD,
					  &requests[i]);
			MPI_Send(&token, 1, MPI_CHAR, 1, DEPTH, MPI_COMM_WORLD);
		} else {
			MPI_Recv(&token, 1, MPI_CHAR, 0, DEPTH, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			for (int i = 0; i < depth; i++)
				MPI_Isend(buffers[i], 8, MPI_CHAR, 0, reverse ? depth - 1 - i : i,
					  MPI_COMM_WORLD, &requests[i]);
		}
		MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
	}
	return (MPI_Wtime() - begin) / ((double) windows * depth);
}

static double ping_pong(int rounds)
{
	char buffer[8] = { 0 };
	MPI_Barrier(MPI_COMM_WORLD);
	double begin = MPI_Wtime();
	for (int i = 0; i < rounds; i++) {
		if (rank == 0)
			MPI_Send(buffer, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(buffer, 8, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(buffer, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / (2.0 * rounds);
}

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 200000;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int warm = 0; warm < 2; warm++) {
		int count = warm ? messages : messages / 10;
		double in_order = window(64, count / 64 + 1, 0, rank ? 0 : 1);
		double reverse = window(DEPTH, count / DEPTH + 1, 1, rank ? 0 : 1);
		double any = window(DEPTH, count / DEPTH + 1, 1, MPI_ANY_SOURCE);
		double latency = ping_pong(count / 10 + 1);
		if (rank == 0 && warm)
			printf("rate: in-order %.0f ns, reverse %.0f ns, any-source %.0f ns a message, "
			       "ping-pong %.2f us\n",
			       in_order * 1e9, reverse * 1e9, any * 1e9, latency * 1e6);
	}
	MPI_Finalize();
	return 0;
}

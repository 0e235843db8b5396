/*
 * Message rate between two processes, one line for all patterns: rate [messages [pause depth]]
 *
 * in-order: 64 receives posted in the order of the messages. reverse: 1,024 receives of different
 * tags posted, the messages in the opposite order. any-source: the same with receives from anybody.
 * ping-pong: half a round trip of 8 bytes, 64 KiB and 1 MiB, always from and to one buffer.
 *
 * With a pause, only windows of `depth` messages in order, whose receiver waits so many microseconds
 * before it polls.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEPTH 1024

static int rank, pause_us;

/* A function of its own, which callgrind counts. */
static __attribute__((noinline)) double window(int depth, int windows, int reverse,
					       int source)
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
			if (pause_us)
				usleep(pause_us);
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

static double ping_pong(int rounds, int bytes)
{
	static char buffer[1 << 20];
	MPI_Barrier(MPI_COMM_WORLD);
	double begin = MPI_Wtime();
	for (int i = 0; i < rounds; i++) {
		if (rank == 0)
			MPI_Send(buffer, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
		MPI_Recv(buffer, bytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
		if (rank == 1)
			MPI_Send(buffer, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - begin) / (2.0 * rounds);
}

int main(int argc, char **argv)
{
	int messages = argc > 1 ? atoi(argv[1]) : 200000;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc > 3) {
		int depth = atoi(argv[3]);
		pause_us = atoi(argv[2]);
		window(depth, messages / depth, 0, rank ? 0 : 1);
		return MPI_Finalize();
	}
	for (int warm = 0; warm < 2; warm++) {
		int count = warm ? messages : messages / 10;
		double in_order = window(64, count / 64 + 1, 0, rank ? 0 : 1);
		double reverse = window(DEPTH, count / DEPTH + 1, 1, rank ? 0 : 1);
		double any = window(DEPTH, count / DEPTH + 1, 1, MPI_ANY_SOURCE);
		double latency = ping_pong(count / 10 + 1, 8);
		double middle = ping_pong(count / 100 + 1, 1 << 16);
		double large = ping_pong(count / 1000 + 1, 1 << 20);
		if (rank == 0 && warm)
			printf("rate: in-order %.0f ns, reverse %.0f ns, any-source %.0f ns a message, "
			       "ping-pong %.2f us, 64-KiB %.2f us, 1-MiB %.1f us\n",
			       in_order * 1e9, reverse * 1e9, any * 1e9, latency * 1e6,
			       middle * 1e6, large * 1e6);
	}
	MPI_Finalize();
	return 0;
}

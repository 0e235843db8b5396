/*
 * Programs that hang, one for each argument, to be looked at while they do: hang HOW
 *
 * tag: every process sends tag 5 to its right and waits for tag 6 from its left.
 * cycle: every process sends a long message to its right before it receives.
 * synchronous: the same with a short synchronous send.
 * lost: process 1 never comes to its send, but sleeps outside of MPI.
 * gone: process 1 leaves without a word.
 * collective: all but process 1 enter a broadcast from process 1, which waits for a message.
 * stolen: process 0's receive from any source takes the message that its next receive needs.
 * communicator: process 1 sends in a duplicate of the communicator in which process 0 receives.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG 100000

static int rank, size;

static void receive(int from, int tag, MPI_Comm comm)
{
	static char buffer[LONG];
	MPI_Recv(buffer, LONG, MPI_CHAR, from, tag, comm, MPI_STATUS_IGNORE);
}

static void send(int to, int tag, MPI_Comm comm)
{
	MPI_Send("12345678", 8, MPI_CHAR, to, tag, comm);
}

int main(int argc, char **argv)
{
	static char buffer[LONG];
	const char *how = argc > 1 ? argv[1] : "";
	MPI_Comm world = MPI_COMM_WORLD, other;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	int right = (rank + 1) % size, left = (rank + size - 1) % size;
	MPI_Comm_dup(world, &other);
	for (int round = 0; round < 300; round++)
		MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, buffer, 1, MPI_INT, left, 1, world,
			     MPI_STATUS_IGNORE);
	if (!strcmp(how, "tag")) {
		send(right, 5, world);
		receive(left, 6, world);
	} else if (!strcmp(how, "cycle")) {
		MPI_Send(buffer, LONG, MPI_CHAR, right, 7, world);
		receive(left, 7, world);
	} else if (!strcmp(how, "synchronous")) {
		MPI_Ssend(buffer, 8, MPI_CHAR, right, 7, world);
		receive(left, 7, world);
	} else if (!strcmp(how, "lost") || !strcmp(how, "gone")) {
		if (rank == 1 && *how == 'g')
			_exit(0);
		if (rank == 1)
			sleep(1000);
		receive(left, 2, world);
		send(right, 2, world);
	} else if (!strcmp(how, "collective")) {
		if (rank == 1)
			receive(0, 4, world);
		MPI_Bcast(buffer, 8, MPI_CHAR, 1, world);
	} else if (!strcmp(how, "stolen")) {
		if (rank == 1)
			send(0, 3, world);
		if (rank == 0) {
			receive(MPI_ANY_SOURCE, MPI_ANY_TAG, world);
			receive(1, 3, world);
		}
		MPI_Barrier(world);
	} else if (!strcmp(how, "communicator")) {
		if (rank == 1)
			send(0, 3, other);
		if (rank == 0)
			receive(1, 3, world);
		MPI_Barrier(world);
	}
	MPI_Finalize();
	printf("hang: came to its end\n");
	return 0;
}

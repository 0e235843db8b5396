/* Calls each collective operation on a communicator of its own. A ring of messages with the
   call's number as tag tells which communicator of an order log belongs to which call. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static const char *KINDS[] = {"nothing", "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv",
    "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter",
    "scan", "exscan"};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

static int part(int i, int n) { return (3 * i + 1) % 5 * n; }
static int pair(int i, int j, int n) { return (i + 2 * j) % 4 * n; }

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size, number = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long most = 0;
  for (int arg = 1; arg < argc; arg++) most = atol(argv[arg]) > most ? atol(argv[arg]) : most;
  size_t room = (size_t)most * 4 * (size + 1) + 64;
  int *in = calloc(room, sizeof(int)), *out = calloc(room, sizeof(int));
  int *a = calloc(4 * size, sizeof(int)), *b = a + size, *c = b + size, *d = c + size;
  for (int kind = 0; kind < N_KINDS; kind++)
    for (int arg = 1; arg < argc; arg++) {
      if (kind < 2 && arg > 1) break;
      int n = atoi(argv[arg]), root = (kind + arg) % size, sa = 0, sc = 0;
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      number++;
      int token = 0;
      MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, number, &token, 1, MPI_INT,
                   (rank + size - 1) % size, number, comm, MPI_STATUS_IGNORE);
      for (int i = 0; i < size; i++) {
        a[i] = kind == 12 ? pair(rank, i, n) : part(i, n);
        c[i] = kind == 12 ? pair(i, rank, n) : part(i, n);
        b[i] = sa, sa += a[i];
        d[i] = sc, sc += c[i];
      }
      switch (kind) {
      case 1: MPI_Barrier(comm); break;
      case 2: MPI_Bcast(in, n, MPI_INT, root, comm); break;
      case 3: MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm); break;
      case 4: MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm); break;
      case 5: MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm); break;
      case 6: MPI_Gatherv(in, a[rank], MPI_INT, out, a, b, MPI_INT, root, comm); break;
      case 7: MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm); break;
      case 8: MPI_Scatterv(in, a, b, MPI_INT, out, a[rank], MPI_INT, root, comm); break;
      case 9: MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm); break;
      case 10: MPI_Allgatherv(in, a[rank], MPI_INT, out, a, b, MPI_INT, comm); break;
      case 11: MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm); break;
      case 12: MPI_Alltoallv(in, a, b, MPI_INT, out, c, d, MPI_INT, comm); break;
      case 13: MPI_Reduce_scatter(in, out, a, MPI_INT, MPI_SUM, comm); break;
      case 14: MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm); break;
      case 15: MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm); break;
      }
      if (rank == 0) printf("%d %s %d %d\n", number, KINDS[kind], n, root), fflush(stdout);
    }
  MPI_Finalize();
  return 0;
}

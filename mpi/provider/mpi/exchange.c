/*
 * Random traffic that checks itself: exchange [rounds] [seed] [die|rubbish]
 *
 * In every round all processes draw the same list of messages from the same seed. The receives of
 * one process in one round are of one kind: exact, any source, any tag, or both; so that no receive
 * can take what another needs. Every message says who sent it, with what tag, how long it is and
 * which it is of its kind: status, order and content are checked. Every few rounds there is a
 * collective operation, a probe, a cancelled receive.
 *
 * With "die", the last process kills itself in the middle of a round; with "rubbish", it overwrites
 * all memory that it shares with the others.
 */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES 48
#define LENGTH_MAX 60000

struct message { int from, to, tag, length, synchronous, number; };
struct head { int from, tag, length, number; };

static uint64_t state;
static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % below;
}

static int rank, size, wrong;
static uint64_t messages, sum;

static void expect(int good, const char *what, int round)
{
	if (good)
		return;
	wrong++;
	fprintf(stderr, "exchange: rank %d, round %d: %s\n", rank, round, what);
}

static unsigned char byte_of(const struct head *h, int at)
{
	return (unsigned char) (h->from * 17 + h->tag * 5 + h->number * 3 + at);
}

static void fill(char *buffer, const struct message *m)
{
	struct head h = { m->from, m->tag, m->length, m->number };
	memcpy(buffer, &h, sizeof h);
	for (int at = sizeof h; at < m->length; at++)
		buffer[at] = (char) byte_of(&h, at);
}

static void check(const char *buffer, MPI_Status *status, int round)
{
	struct head h;
	int count, good = 1;
	memcpy(&h, buffer, sizeof h);
	MPI_Get_count(status, MPI_CHAR, &count);
	int named = h.from == status->MPI_SOURCE && h.tag == status->MPI_TAG;
	expect(named, "status names another message", round);
	expect(h.length == count, "wrong length", round);
	for (int at = sizeof h; at < h.length; at++)
		good &= (unsigned char) buffer[at] == byte_of(&h, at);
	expect(good, "wrong content", round);
	messages++;
	sum += (uint64_t) (h.from + 1) * 1000003 + (uint64_t) h.tag * 10007 +
	       (uint64_t) h.length * 101 + (uint64_t) h.number;
}

enum end { GOOD_END, DIE, RUBBISH };

static void end_badly(enum end end)
{
	char line[512], permissions[5];
	unsigned char *from, *to;
	FILE *maps = end == RUBBISH ? fopen("/proc/self/maps", "r") : NULL;
	if (end == DIE)
		raise(SIGKILL);
	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "memfd:dpamatch") &&
		    sscanf(line, "%p-%p %4s", (void **) &from, (void **) &to, permissions) == 3)
			for (; from < to; from++)
				*from = (unsigned char) draw(256);
	sleep(10);
	_exit(7);
}

static int draw_length(void)
{
	switch (draw(8)) {
	case 0: return (int) sizeof(struct head) + (int) draw(LENGTH_MAX - sizeof(struct head));
	case 1: return (int) sizeof(struct head) + (int) draw(8000);
	default: return (int) sizeof(struct head) + (int) draw(64);
	}
}

static void one_round(MPI_Comm comm, int round, enum end end)
{
	static struct message list[MESSAGES];
	static char *in[MESSAGES], *out[MESSAGES];
	MPI_Request receives[MESSAGES], sends[MESSAGES];
	MPI_Status statuses[MESSAGES];
	int last[64][8], got = 0, sent = 0;
	int kind = (int) draw(4), late = (int) draw(2), probing = draw(4) == 0;
	memset(last, -1, sizeof last);
	for (int i = 0; i < MESSAGES; i++) {
		struct message *m = &list[i];
		*m = (struct message) { .from = (int) draw(size), .to = (int) draw(size), .number = i };
		m->tag = kind == 1 ? 3 : (int) draw(8);
		m->length = draw_length();
		m->synchronous = draw(6) == 0;
	}
	for (int pass = 0; pass < 2; pass++) {
		if (pass == late && !probing) {
			for (int i = 0; i < MESSAGES; i++) {
				struct message *m = &list[i];
				if (m->to != rank)
					continue;
				in[got] = in[got] ? in[got] : malloc(LENGTH_MAX);
				int from = kind & 1 ? MPI_ANY_SOURCE : m->from;
				int tag = kind & 2 ? MPI_ANY_TAG : m->tag;
				MPI_Irecv(in[got], LENGTH_MAX, MPI_CHAR, from, tag, comm, &receives[got]);
				got++;
			}
		}
		if (pass != late) {
			for (int i = 0; i < MESSAGES; i++) {
				struct message *m = &list[i];
				if (end && i == MESSAGES / 2 && rank == size - 1)
					end_badly(end);
				if (m->from != rank)
					continue;
				out[sent] = out[sent] ? out[sent] : malloc(LENGTH_MAX);
				fill(out[sent], m);
				if (m->synchronous)
					MPI_Issend(out[sent], m->length, MPI_CHAR, m->to, m->tag, comm,
						   &sends[sent]);
				else
					MPI_Isend(out[sent], m->length, MPI_CHAR, m->to, m->tag, comm,
						  &sends[sent]);
				sent++;
			}
		}
	}
	if (probing) {
		for (int i = 0; i < MESSAGES; i++) {
			MPI_Message message;
			MPI_Status seen;
			if (list[i].to != rank)
				continue;
			in[got] = in[got] ? in[got] : malloc(LENGTH_MAX);
			if (got % 2) {
				MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &seen);
				MPI_Imrecv(in[got], LENGTH_MAX, MPI_CHAR, &message, &receives[got]);
			} else {
				MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &seen);
				MPI_Irecv(in[got], LENGTH_MAX, MPI_CHAR, seen.MPI_SOURCE, seen.MPI_TAG, comm,
					  &receives[got]);
			}
			got++;
		}
	}
	MPI_Waitall(got, receives, statuses);
	for (int i = 0; i < got; i++) {
		struct head h;
		check(in[i], &statuses[i], round);
		memcpy(&h, in[i], sizeof h);
		/* Messages of one sender with one tag, in the order in which they were sent. */
		if (h.from >= 0 && h.from < 64 && h.tag >= 0 && h.tag < 8) {
			expect(h.number > last[h.from][h.tag], "a message overtook another", round);
			last[h.from][h.tag] = h.number;
		}
	}
	MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	enum end end = argc <= 3 ? GOOD_END : !strcmp(argv[3], "die") ? DIE : RUBBISH;
	MPI_Comm comms[3];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	state = argc > 2 ? (uint64_t) atoll(argv[2]) : 1;
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[2]);
	for (int round = 0; round < rounds; round++) {
		MPI_Comm comm = comms[draw(3)];
		one_round(comm, round, round == rounds / 2 ? end : GOOD_END);
		if (round % 5 == 0) {
			int mine = rank + round, all = 0;
			MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
			expect(all == size * (size - 1) / 2 + size * round, "wrong sum of all", round);
		}
		if (round % 7 == 0) {
			int nothing, cancelled;
			MPI_Request request;
			MPI_Status status;
			MPI_Irecv(&nothing, 1, MPI_INT, MPI_ANY_SOURCE, 99, comm, &request);
			MPI_Cancel(&request);
			MPI_Wait(&request, &status);
			MPI_Test_cancelled(&status, &cancelled);
			expect(cancelled, "a receive was not cancelled", round);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	uint64_t mine[3] = { messages, sum, (uint64_t) wrong }, all[3] = { 0, 0, 0 };
	MPI_Reduce(mine, all, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Comm_free(&comms[1]);
	MPI_Comm_free(&comms[2]);
	MPI_Finalize();
	if (rank == 0)
		printf("exchange: %s, %llu messages, sum %016llx\n", all[2] ? "WRONG" : "ok",
		       (unsigned long long) all[0], (unsigned long long) all[1]);
	return wrong != 0;
}

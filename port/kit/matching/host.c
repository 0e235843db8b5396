/* The host: makes both processes and their queues, then plays a recorded stream.
 *
 *     matching STREAM OUTCOMES [NAME=VALUE]...
 *
 * Names: handlers, workers, receives, unexpected, bins, queue, barrier, removal, fast. The card is
 * one process, the wire's sender another; both belong to this program. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include "../dpamatch_host.h"
#include "common.h"
#include "../../emulator/examples/counter/queues/host.h"

extern struct flexio_app *matching;
extern flexio_func_t leader, worker, set_up, ring_bell, send_messages, cycles;

/* Longer messages go by rendezvous. */
#define EAGER 128u
#define ARENA (64u << 20)
/* Host's memory for a stream: at most so much for an operation. */
#define OPERATION 48u
#define ARENA_OF_OPERATION 2048u
/* Messages that are leaving, and the bytes of one. */
#define LOG_WIRE 6
#define WIRE (1u << LOG_WIRE)
/* Seconds without progress after which the card counts as dead. */
#define PATIENCE 60

_Static_assert(EAGER + sizeof(struct trailer) <= SLOT_OF_MESSAGE, "a message fits");

/* The host's memory, one region: every part begins with a line. */
static struct memory {
	uint64_t *asleep;
	uint8_t *outgoing;
	uint64_t *over; /* by arrival: the card has read it */
	void *arena; /* of the library */
} memory;

static struct ibv_pd *pd;
static struct ibv_mr *region;
static struct flexio_process *card_process, *wire_process;
static struct card card = {
	.config = { .handlers = 8, .workers = 1, .receives = 4096, .unexpected = 4096, .bins = 64,
		    .communicators = 64, .queue = 128, .buffer_bytes = EAGER + sizeof(struct trailer),
		    .fast_path = 3, .stamped = 1 },
};
static uint64_t card_daddr, wire_daddr, wire_bytes, sent, left, released, rendezvous;
static uint64_t *keys; /* by arrival: of a rendezvous message */
static dpamatch_host *host;

static void fail(const char *what)
{
	fprintf(stderr, "host: %s\n", what);
	exit(1);
}

void dpamatch_panicked(void)
{
	fail("the library panicked");
	abort();
}

static struct flexio_qp *make_qp(struct flexio_process *process, uint32_t log_rq, uint64_t *rq,
				 uint64_t *record, uint32_t rq_cqn, uint32_t log_sq, uint64_t *sq,
				 uint32_t sq_cqn)
{
	struct flexio_qp_attr attr = { .transport_type = FLEXIO_QPC_ST_RC, .pd = pd };
	uint64_t rq_bytes = ((16u << log_rq) + 63u) & ~63ull;
	struct flexio_qp *qp;

	*rq = device_memory(process, rq_bytes + (64u << log_sq));
	*sq = *rq + rq_bytes;
	*record = device_memory(process, 8);
	attr.qp_access_mask = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	attr.ops_flag = FLEXIO_QP_WR_RDMA_WRITE | FLEXIO_QP_WR_RDMA_READ;
	attr.uar_id = flexio_uar_get_id(flexio_process_get_uar(process));
	attr.log_rq_depth = (uint8_t)log_rq;
	attr.log_sq_depth = (uint8_t)log_sq;
	attr.rq_cqn = rq_cqn;
	attr.sq_cqn = sq_cqn;
	attr.qp_wq_buff_qmem.daddr = *rq;
	attr.qp_wq_dbr_qmem.daddr = *record;
	CHECK(flexio_qp_create(process, NULL, &attr, &qp));
	return qp;
}

static void connect_one(struct flexio_qp *qp, struct flexio_qp *other)
{
	struct flexio_qp_attr attr = { .remote_qp_num = flexio_qp_get_qp_num(other),
				       .path_mtu = FLEXIO_QP_QPC_MTU_BYTES_4K, .rnr_retry = 7 };
	struct flexio_qp_attr_opt_param_mask mask = { 0, 0 };

	for (int state = FLEXIO_QP_STATE_INIT; state <= FLEXIO_QP_STATE_RTS; state++) {
		attr.next_state = (enum flexio_qp_state)state;
		CHECK(flexio_qp_modify(qp, &attr, &mask));
	}
}

static void connect_both(struct flexio_qp *qp, struct flexio_qp *other)
{
	connect_one(qp, other);
	connect_one(other, qp);
}

/* A thread with a queue pair of its own for rendezvous, whose ends the leader takes. */
static struct flexio_event_handler *make_thread(flexio_func_t *function, uint32_t thread,
						struct flexio_event_handler *leader)
{
	uint64_t one = 1, rq, record, peer_rq, peer_record, peer_sq;
	struct reader reader = { .host = card.host, .over = (uint64_t)memory.over,
				 .reads = card.reads, .thread = thread,
				 .log_depth = card.log_depth + 1 };
	struct flexio_event_handler_attr attr = { .host_stub_func = function };
	struct flexio_event_handler *handler;
	struct queue peer_queue;

	attr.thread_local_storage_daddr = device_memory(card_process, sizeof(reader));
	CHECK(flexio_event_handler_create(card_process, &attr, &handler));
	make_cq(wire_process, LOG_SMALL, NULL, &peer_queue);
	make_cq(card_process, reader.log_depth, leader ? leader : handler, &reader.done);
	reader.positions = device_memory(card_process, 8u << reader.log_depth);
	CHECK(flexio_copy_from_host(card_process, &one, sizeof(one), &reader.one));
	reader.one_key = flexio_mkey_get_id(make_key(card_process, pd, reader.one, sizeof(one)));
	struct flexio_qp *qp = make_qp(card_process, 0, &rq, &record, reader.done.number,
				       reader.log_depth + 1, &reader.ring, reader.done.number);
	struct flexio_qp *peer = make_qp(wire_process, 0, &peer_rq, &peer_record, peer_queue.number,
					 0, &peer_sq, peer_queue.number);
	connect_both(qp, peer);
	reader.number = flexio_qp_get_qp_num(qp);
	card.readers[thread] = attr.thread_local_storage_daddr;
	CHECK(flexio_host2dev_memcpy(card_process, &reader, sizeof(reader), card.readers[thread]));
	return handler;
}

static void *part(uint8_t **next, uint64_t bytes)
{
	void *begin = *next;

	*next += (bytes + 63) / 64 * 64;
	return begin;
}

static void make_memory(dpamatch_bytes stream)
{
	uint64_t count = stream.length / OPERATION, arena = (8u << 20) + count * ARENA_OF_OPERATION;
	uint64_t bytes = arena + WIRE * SLOT_OF_MESSAGE + (count + 1) * 8 + 64 * 4;
	uint8_t *next;

	if (posix_memalign((void **)&next, 4096, bytes))
		fail("no memory");
	memset(next, 0, bytes);
	card.host.base = (uint64_t)next;
	region = ibv_reg_mr(pd, next, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
						     IBV_ACCESS_REMOTE_WRITE);
	if (!region)
		fail("no memory region");
	card.host.key = region->lkey;
	memory.asleep = part(&next, 8);
	memory.outgoing = part(&next, WIRE * SLOT_OF_MESSAGE);
	memory.over = part(&next, (count + 1) * 8);
	memory.arena = part(&next, arena);
	card.asleep = (uint64_t)memory.asleep;
	keys = calloc(count + 1, sizeof(*keys));
	CHECK(!keys);
	host = dpamatch_host_new(memory.arena, arena, stream, card.config.queue, EAGER,
				 card.config.unexpected);
	if (!host)
		fail("no stream, or no rings of that size");
	dpamatch_host_map(host, &card.far);
}

static void make_card(void)
{
	struct flexio_event_handler *threads[WORKERS_MOST];
	uint64_t sq, unused_rq, unused_record, result = 1, start;
	struct wire wire = { .log_depth = LOG_WIRE, .key = region->lkey };
	struct flexio_window *window;
	struct queue nothing;

	CHECK(flexio_window_create(card_process, pd, &window));
	card.host.window = flexio_window_get_id(window);
	card.log_depth = (uint32_t)__builtin_ctz(card.config.queue);
	card.arena_bytes = ARENA;
	card.arena = device_memory(card_process, ARENA);
	card.arena_key = flexio_mkey_get_id(make_key(card_process, pd, card.arena, ARENA));
	card.reads = device_memory(card_process, 16u << card.log_depth);
	card.late = device_memory(card_process, 8u << card.log_depth);
	threads[0] = make_thread(&leader, 0, NULL);
	make_cq(card_process, card.log_depth, threads[0], &card.arrivals);
	make_cq(card_process, LOG_SMALL, threads[0], &card.bell);
	for (uint32_t at = 1; at < card.config.workers; at++) {
		threads[at] = make_thread(&worker, at, threads[0]);
		make_cq(card_process, LOG_SMALL, threads[at], &card.workers[at].bell);
	}
	make_cq(card_process, LOG_SMALL, NULL, &nothing);
	struct flexio_qp *qp = make_qp(card_process, card.log_depth, &card.rq_ring, &card.rq_record,
				       card.arrivals.number, 0, &sq, nothing.number);
	wire.bytes = wire_bytes = device_memory(wire_process, WIRE * sizeof(uint32_t));
	wire.outgoing = (uint64_t)memory.outgoing;
	make_cq(wire_process, LOG_WIRE, NULL, &wire.sent);
	struct flexio_qp *peer = make_qp(wire_process, 0, &unused_rq, &unused_record,
					 wire.sent.number, LOG_WIRE, &wire.ring, wire.sent.number);
	wire.number = flexio_qp_get_qp_num(peer);
	CHECK(flexio_copy_from_host(card_process, &card, sizeof(card), &card_daddr));
	CHECK(flexio_copy_from_host(wire_process, &wire, sizeof(wire), &wire_daddr));
	CHECK(flexio_process_call(card_process, &set_up, &result, card_daddr));
	if (result)
		fail("no card of that size");
	start = card_daddr + offsetof(struct card, workers);
	for (uint32_t at = 1; at < card.config.workers; at++)
		CHECK(flexio_event_handler_run(threads[at], start + at * sizeof(struct worker_state)));
	CHECK(flexio_event_handler_run(threads[0], card_daddr));
	*memory.asleep = 1;
	connect_both(qp, peer);
}

/* ordering: one release, one acquire: a slot's state and a ring's head publish what was written before. */
static int is_ready(const struct dpamatch_ring *ring, uint64_t position)
{
	const struct dpamatch_slot *slot = (const struct dpamatch_slot *)ring->slots;
	uint64_t state = __atomic_load_n(&slot[position & (ring->depth - 1)].state, __ATOMIC_ACQUIRE);

	return (state & 1) == ((position & ring->depth) == 0);
}

/* ordering: as in `is_ready`. */
static uint64_t head(const struct dpamatch_ring *ring)
{
	return __atomic_load_n((uint64_t *)ring->head, __ATOMIC_ACQUIRE);
}

/* Lays the library's next message down: its bytes, then the trailer. Returns its length. */
static uint32_t lay_down_next(void)
{
	uint64_t place = sent & (card.far.arrivals.depth - 1), bytes;
	const struct dpamatch_slot *slot = (const struct dpamatch_slot *)card.far.arrivals.slots + place;
	const struct dpamatch_entry *entry = &slot->entry.message;
	uint8_t *message = memory.outgoing + (sent & (WIRE - 1)) * SLOT_OF_MESSAGE;
	struct trailer trailer;

	memcpy(&trailer, entry, offsetof(struct trailer, stamp));
	trailer.stamp = slot->state >> 1;
	bytes = entry->length;
	if (entry->protocol == DPAMATCH_RENDEZVOUS) {
		uint64_t words[3] = { 0, 0, region->rkey | sent << 32 };

		memcpy(words, entry->payload, sizeof(*words));
		words[1] = dpamatch_host_region(host, words[0]);
		keys[sent] = words[0];
		rendezvous++;
		bytes = sizeof(words);
		memcpy(message, words, bytes);
	} else if (entry->protocol == DPAMATCH_BUFFERED) {
		const struct dpamatch_buffers *bounce = &card.far.bounce;

		memcpy(message, (const void *)(bounce->first + place * bounce->stride), bytes);
	} else {
		memcpy(message, entry->payload, bytes);
	}
	bytes = (bytes + 7) / 8 * 8;
	memcpy(message + bytes, &trailer, sizeof(trailer));
	return (uint32_t)(bytes + sizeof(trailer));
}

static void watch(void)
{
	static uint64_t seen = UINT64_MAX;
	static time_t since;
	uint64_t now = sent + head(&card.far.commands) + head(&card.far.arrivals) +
		       head(&card.far.completions);

	if (now != seen) {
		seen = now;
		since = time(NULL);
	}
	if (time(NULL) - since > PATIENCE)
		fail("the card does not answer");
	if (flexio_err_status_get(card_process) || flexio_err_status_get(wire_process))
		fail("a process has ended");
}

/* Sends messages, and wakes the leader for a command or for room for results. */
/* ordering: the exchange finds the flag, or the leader, which sets it and looks once more, the command. */
static void work(void)
{
	static uint32_t bytes[WIRE];
	uint64_t result;

	for (; sent - left < WIRE && is_ready(&card.far.arrivals, sent); sent++)
		bytes[sent & (WIRE - 1)] = lay_down_next();
	if (sent != left) {
		CHECK(flexio_host2dev_memcpy(wire_process, bytes, sizeof(bytes), wire_bytes));
		CHECK(flexio_process_call(wire_process, &send_messages, &left, wire_daddr, sent));
	}
	if ((is_ready(&card.far.commands, head(&card.far.commands)) ||
	     head(&card.far.completions) != released) &&
	    __atomic_exchange_n(memory.asleep, 0, __ATOMIC_SEQ_CST)) {
		released = head(&card.far.completions);
		CHECK(flexio_process_call(card_process, &ring_bell, &result,
					  (uint64_t)card.bell.number));
	}
	watch();
	usleep(20);
}

static dpamatch_bytes map_file(const char *name)
{
	struct stat about;
	int file = open(name, O_RDONLY);

	if (file < 0 || fstat(file, &about) != 0)
		fail("cannot open a file");
	dpamatch_bytes bytes = { .length = (size_t)about.st_size };
	bytes.start = mmap(NULL, bytes.length, PROT_READ, MAP_SHARED, file, 0);
	if (bytes.start == MAP_FAILED)
		fail("cannot map a file");
	close(file);
	return bytes;
}

static void write_file(const char *name, dpamatch_bytes bytes)
{
	FILE *out = fopen(name, "wb");

	if (!out || fwrite(bytes.start, 1, bytes.length, out) != bytes.length || fclose(out) != 0)
		fail("cannot write the outcomes");
}

static void read_option(const char *word)
{
	static const struct {
		const char *name;
		uint32_t *value;
	} options[] = {
		{ "handlers", &card.config.handlers }, { "workers", &card.config.workers },
		{ "receives", &card.config.receives }, { "unexpected", &card.config.unexpected },
		{ "bins", &card.config.bins },	       { "queue", &card.config.queue },
		{ "barrier", &card.config.barrier },   { "removal", &card.config.removal },
		{ "fast", &card.config.fast_path },
	};
	for (size_t at = 0; at < sizeof(options) / sizeof(*options); at++) {
		size_t length = strlen(options[at].name);
		if (!strncmp(word, options[at].name, length) && word[length] == '=') {
			*options[at].value = (uint32_t)strtoul(word + length + 1, NULL, 10);
			return;
		}
	}
	fail("an unknown option");
}

int main(int count, char **words)
{
	if (count < 3)
		fail("use: matching STREAM OUTCOMES [NAME=VALUE]...");
	dpamatch_bytes stream = map_file(words[1]);
	uint64_t result;
	for (int at = 3; at < count; at++)
		read_option(words[at]);
	if (card.config.workers == 0 || card.config.workers > WORKERS_MOST ||
	    card.config.queue == 0 || (card.config.queue & (card.config.queue - 1)))
		fail("1 to 16 workers, and a queue whose depth is a power of two");
	open_device();
	pd = ibv_alloc_pd(context);
	CHECK(!pd);
	CHECK(flexio_process_create(context, matching, NULL, &card_process));
	CHECK(flexio_process_create(context, matching, NULL, &wire_process));
	make_memory(stream);
	make_card();
	dpamatch_bytes error = dpamatch_host_play(host, card.config.bins, work);
	if (error.length) {
		fprintf(stderr, "host: %.*s\n", (int)error.length, (const char *)error.start);
		return 1;
	}
	write_file(words[2], dpamatch_host_outcomes(host));
	/* Each rendezvous message that was taken, and no other, is over. */
	for (uint64_t arrival = 0; arrival < sent; arrival++) {
		if (keys[arrival] && (memory.over[arrival] || !dpamatch_host_region(host, keys[arrival])) !=
					     dpamatch_host_was_taken(host, arrival))
			fail("a rendezvous message is over too early or not at all");
	}
	CHECK(flexio_process_call(card_process, &cycles, &result, card_daddr));
	printf("%lu messages, %lu of them by rendezvous\ncycles of the leader: %lu\n", sent, rendezvous,
	       result);
	CHECK(flexio_process_destroy(wire_process));
	CHECK(flexio_process_destroy(card_process));
	ibv_dereg_mr(region);
	ibv_dealloc_pd(pd);
	close_device();
	return 0;
}

/* The host's part for DOCA. Card and sender are threads and connections of one context. */
#include <doca_ctx.h>
#include <doca_dpa.h>
#include <doca_rdma.h>
#include "common.h"

extern struct doca_dpa_app *matching;
doca_dpa_func_t leader, worker, set_up, ring_bell, send_messages, cycles;

#define CHECK(call)                                                                             \
	do {                                                                                    \
		doca_error_t error_of_call = (call);                                            \
		if (error_of_call != DOCA_SUCCESS) {                                            \
			fprintf(stderr, "%s: %s\n", #call, doca_error_get_name(error_of_call)); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

static struct card card;
static struct wire wire;

#include "../matching/play.h"

static struct doca_dev *device;
static struct doca_dpa *dpa;
static uint64_t card_daddr, wire_daddr;

static uint64_t block(size_t bytes)
{
	uint64_t address;

	CHECK(doca_dpa_mem_alloc(dpa, bytes, &address));
	CHECK(doca_dpa_memset(dpa, address, 0, bytes));
	return address;
}

/* The handle of a map of host memory, or of a block of the heap. */
static uint32_t map(void *start, uint64_t address, size_t bytes)
{
	struct doca_mmap *made;
	uint32_t handle;

	CHECK(doca_mmap_create(&made));
	CHECK(doca_mmap_set_permissions(made, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						      DOCA_ACCESS_FLAG_RDMA_READ |
						      DOCA_ACCESS_FLAG_RDMA_WRITE));
	if (start) {
		CHECK(doca_mmap_set_memrange(made, start, bytes));
		CHECK(doca_mmap_add_dev(made, device));
	} else {
		CHECK(doca_mmap_set_dpa_memrange(made, dpa, address, bytes));
	}
	CHECK(doca_mmap_start(made));
	CHECK(doca_mmap_dev_get_dpa_handle(made, device, &handle));
	return handle;
}

/* A completion context, which wakes a thread if one is named. */
static struct doca_dpa_completion *completion(struct doca_dpa_thread *thread, uint32_t depth,
					      uint64_t *handle)
{
	struct doca_dpa_completion *made;

	CHECK(doca_dpa_completion_create(dpa, depth, &made));
	if (thread)
		CHECK(doca_dpa_completion_set_thread(made, thread));
	CHECK(doca_dpa_completion_start(made));
	CHECK(doca_dpa_completion_get_dpa_handle(made, handle));
	return made;
}

static struct doca_rdma *rdma(struct doca_dpa_completion *completes, uint32_t sends,
			      uint32_t receives, uint64_t *handle)
{
	struct doca_rdma *made;

	CHECK(doca_rdma_create(device, &made));
	CHECK(doca_rdma_set_permissions(made, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE |
						      DOCA_ACCESS_FLAG_RDMA_READ |
						      DOCA_ACCESS_FLAG_RDMA_WRITE));
	CHECK(doca_rdma_set_send_queue_size(made, sends));
	CHECK(doca_rdma_set_recv_queue_size(made, receives));
	CHECK(doca_ctx_set_datapath_on_dpa(doca_rdma_as_ctx(made), dpa));
	CHECK(doca_rdma_dpa_completion_attach(made, completes));
	CHECK(doca_ctx_start(doca_rdma_as_ctx(made)));
	CHECK(doca_rdma_get_dpa_handle(made, handle));
	return made;
}

static void connect_both(struct doca_rdma *one, struct doca_rdma *other)
{
	struct doca_rdma *ends[2] = { one, other };
	struct doca_rdma_connection *connections[2];
	const void *details[2];
	size_t bytes[2];

	for (int at = 0; at < 2; at++)
		CHECK(doca_rdma_export(ends[at], &details[at], &bytes[at], &connections[at]));
	for (int at = 0; at < 2; at++)
		CHECK(doca_rdma_connect(ends[at], details[!at], bytes[!at], connections[at]));
}

/* A thread with its notification, and a connection for rendezvous whose ends the leader takes. */
static struct doca_dpa_thread *make_thread(doca_dpa_func_t *function, uint64_t argument,
					   uint32_t number, struct doca_dpa_thread *takes)
{
	uint64_t one = 1, peer, unused;
	struct doca_dpa_notification_completion *bell;
	struct doca_dpa_completion *done;
	struct doca_dpa_thread *thread;
	struct reader reader = { .host = card.host, .over = (uint64_t)memory.over,
				 .reads = card.reads, .thread = number,
				 .log_depth = (uint32_t)__builtin_ctz(card.config.queue) + 1 };
	uint32_t depth = 1u << reader.log_depth;

	card.readers[number] = block(sizeof(reader));
	CHECK(doca_dpa_thread_create(dpa, &thread));
	CHECK(doca_dpa_thread_set_func_arg(thread, function, argument));
	CHECK(doca_dpa_thread_set_local_storage(thread, card.readers[number]));
	CHECK(doca_dpa_thread_start(thread));
	CHECK(doca_dpa_notification_completion_create(dpa, thread, &bell));
	CHECK(doca_dpa_notification_completion_start(bell));
	CHECK(doca_dpa_notification_completion_get_dpa_handle(bell, &card.bells[number]));
	reader.one = block(sizeof(one));
	CHECK(doca_dpa_h2d_memcpy(dpa, reader.one, &one, sizeof(one)));
	reader.one_map = map(NULL, reader.one, sizeof(one));
	reader.positions = block(8 * depth);
	done = completion(takes ? takes : thread, depth, &reader.done);
	connect_both(rdma(done, 2 * depth, 1, &reader.rdma),
		     rdma(completion(NULL, 1, &unused), 1, 1, &peer));
	CHECK(doca_dpa_h2d_memcpy(dpa, card.readers[number], &reader, sizeof(reader)));
	return thread;
}

static void open_card(void)
{
	struct doca_devinfo **list;
	uint32_t count;

	CHECK(doca_devinfo_create_list(&list, &count));
	for (uint32_t at = 0; at < count && !device; at++) {
		if (doca_dpa_cap_is_supported(list[at]) == DOCA_SUCCESS)
			CHECK(doca_dev_open(list[at], &device));
	}
	CHECK(doca_devinfo_destroy_list(list));
	if (!device)
		fail("no device with a DPA");
	CHECK(doca_dpa_create(device, &dpa));
	CHECK(doca_dpa_set_app(dpa, matching));
	CHECK(doca_dpa_start(dpa));
}

static uint32_t open_region(void *start, uint64_t bytes)
{
	card.host.map = map(start, 0, bytes);
	return card.host.map;
}

static void make_card(void)
{
	struct doca_dpa_thread *threads[WORKERS_MOST];
	struct doca_rdma *receives, *sends;
	uint64_t result = 1;

	card_daddr = block(sizeof(card));
	wire_daddr = block(sizeof(wire));
	card.arena_bytes = ARENA;
	card.arena = block(ARENA);
	card.arena_map = map(NULL, card.arena, ARENA);
	card.reads = block(16 * card.config.queue);
	card.late = block(8 * card.config.queue);
	threads[0] = make_thread(&leader, card_daddr, 0, NULL);
	for (uint32_t at = 1; at < card.config.workers; at++) {
		uint64_t own = offsetof(struct card, workers) + at * sizeof(struct worker_state);

		threads[at] = make_thread(&worker, card_daddr + own, at, threads[0]);
	}
	receives = rdma(completion(threads[0], card.config.queue, &card.arrivals), 1,
			card.config.queue, &card.rdma);
	sends = rdma(completion(NULL, WIRE, &wire.sent), WIRE, 1, &wire.rdma);
	connect_both(receives, sends);
	wire.bytes = block(WIRE * sizeof(uint32_t));
	wire.outgoing = (uint64_t)memory.outgoing;
	wire.map = region_key;
	wire.mask = WIRE - 1;
	CHECK(doca_dpa_h2d_memcpy(dpa, card_daddr, &card, sizeof(card)));
	CHECK(doca_dpa_h2d_memcpy(dpa, wire_daddr, &wire, sizeof(wire)));
	CHECK(doca_dpa_rpc(dpa, &set_up, &result, card_daddr));
	if (result)
		fail("no card of that size");
	*memory.asleep = 1;
	for (uint32_t at = 0; at < card.config.workers; at++)
		CHECK(doca_dpa_thread_run(threads[at]));
}

static uint64_t send_until(const uint32_t *bytes, uint64_t end)
{
	uint64_t gone;

	CHECK(doca_dpa_h2d_memcpy(dpa, wire.bytes, bytes, WIRE * sizeof(*bytes)));
	CHECK(doca_dpa_rpc(dpa, &send_messages, &gone, wire_daddr, end));
	return gone;
}

static void wake_leader(void)
{
	uint64_t result;

	CHECK(doca_dpa_rpc(dpa, &ring_bell, &result, card.bells[0]));
}

static int has_ended(void)
{
	return doca_dpa_peek_at_last_error(dpa) != DOCA_SUCCESS;
}

static uint64_t cycles_of_leader(void)
{
	uint64_t result;

	CHECK(doca_dpa_rpc(dpa, &cycles, &result, card_daddr));
	return result;
}

/* The end of the program frees the rest. */
static void close_card(void)
{
}

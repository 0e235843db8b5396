/* The card as a DOCA program: a leader, which completions of the network and the host's notification
 * start, and workers, which the leader notifies. Received messages lie in their bounce buffers;
 * results, and payloads of receives, go to the host's memory through an external pointer. */
#include <doca_dpa_dev.h>
#include <doca_dpa_dev_rdma.h>
#include <dpaintrin.h>
#include <stddef.h>
#include "common.h"

#define FLUSH DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH
#define QUIET DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS

static void give_up(int code)
{
	DOCA_DPA_DEV_LOG_ERR("the matching engine gives up: %d\n", code);
	__builtin_trap();
}

void dpamatch_panicked(void)
{
	give_up(PANICKED);
	__builtin_unreachable();
}

/* The pointer to the host's memory holds for one activation. All threads have the same. */
static uint64_t begin(void)
{
	struct reader *own = (struct reader *)doca_dpa_dev_thread_get_local_storage();

	own->pointer = doca_dpa_dev_mmap_get_external_ptr(own->host.map, own->host.base);
	return own->pointer - own->host.base;
}

/* Takes the ends of READs of which the leader knows. */
static void take_reads(struct reader *reader)
{
	uint64_t mask = (1u << reader->log_depth) - 1;
	doca_dpa_dev_completion_element_t element;

	while (reader->waits && doca_dpa_dev_get_completion(reader->done, &element)) {
		uint64_t position = ((uint64_t *)reader->positions)[reader->taken++ & mask];

		if (doca_dpa_dev_get_completion_type(element) != DOCA_DPA_DEV_COMP_SEND)
			give_up(BAD_COMPLETION);
		doca_dpa_dev_completion_ack(reader->done, 1);
		if (position != DPAMATCH_GIVEN_UP)
			((uint64_t *)reader->reads)[position & mask] = 0;
		reader->waits--;
	}
}

/* Rendezvous: a READ, then a WRITE that tells the sender, as in the FlexIO program. */
void dpamatch_begin_read(const uint64_t *descriptor, void *target, uint32_t bytes,
			 uint64_t position)
{
	struct reader *own = (struct reader *)doca_dpa_dev_thread_get_local_storage();
	uint64_t local = (uint64_t)target - own->pointer + own->host.base;
	uint32_t remote = (uint32_t)descriptor[2], mask = (1u << own->log_depth) - 1;
	uint64_t over = own->over + 8 * (descriptor[2] >> 32);

	if (position == DPAMATCH_GIVEN_UP) {
		/* Only the leader gives messages up. */
		while (own->waits > mask / 2)
			take_reads(own);
		own->waits++;
	} else {
		((uint64_t *)own->reads)[position & mask] = own->thread + 1;
	}
	((uint64_t *)own->positions)[own->posted++ & mask] = position;
	if (bytes)
		doca_dpa_dev_rdma_post_read(own->rdma, 0, own->host.map, local, remote, descriptor[1],
					    bytes, QUIET);
	doca_dpa_dev_rdma_post_write(own->rdma, 0, remote, over, own->one_map, own->one, 8, FLUSH);
}

static void wake_worker(struct card *card, uint32_t at)
{
	doca_dpa_dev_thread_notify(card->bells[at]);
}

#include "../matching/engine.h"

/* Gives the buffers of positions before `end` to the network. */
static void give_buffers(struct card *card, uint64_t end)
{
	for (; card->given != end; card->given++) {
		uint64_t place = card->given & (card->map.arrivals.depth - 1);

		doca_dpa_dev_rdma_post_receive(card->rdma, card->arena_map,
					       card->map.bounce.first + place * card->map.bounce.stride,
					       card->config.buffer_bytes);
	}
}

static int take_messages(struct card *card, uint64_t window)
{
	uint64_t first = card->arrived, depth = card->map.arrivals.depth;
	doca_dpa_dev_completion_element_t element;

	while (card->arrived - first < depth && doca_dpa_dev_get_completion(card->arrivals, &element)) {
		/* Receives are consumed in order: each position has its own buffer. */
		if (doca_dpa_dev_get_completion_type(element) != DOCA_DPA_DEV_COMP_RECV_SEND ||
		    doca_dpa_dev_completion_element_get_wqe_counter(element) != (card->arrived & 0xffff))
			give_up(BAD_COMPLETION);
		take_bytes(card, doca_dpa_dev_completion_element_get_received_bytes(element));
		doca_dpa_dev_completion_ack(card->arrivals, 1);
	}
	uint64_t free = load(card->map.arrivals.head) + depth;
	int worked = card->arrived != first || free != card->given;

	give_buffers(card, free);
	return worked | tell_released(card, window, free - depth);
}

__dpa_global__ void leader(uint64_t argument)
{
	struct card *card = (struct card *)argument;
	uint64_t window = begin(), asleep = window + card->asleep;
	uint64_t begun = __dpa_thread_cycles();
	uint32_t budget = ROUNDS_MOST;

	wake_workers(card);
	while (budget != 0 && round_of(card, window, card->config.workers))
		budget--;
	rest_workers(card);
	card->cycles += __dpa_thread_cycles() - begun;
	store(asleep, 1);
	__dpa_thread_window_writeback();
	doca_dpa_dev_completion_request_notification(card->arrivals);
	for (uint32_t at = 0; at < card->config.workers; at++) {
		struct reader *reader = (struct reader *)card->readers[at];

		if (reader->waits)
			doca_dpa_dev_completion_request_notification(reader->done);
	}
	/* What came before the request and the flag starts no activation: look once more. */
	__dpa_thread_fence(__DPA_SYSTEM, __DPA_RW, __DPA_RW);
	if (budget == 0 || round_of(card, window, 1)) {
		store(asleep, 0);
		__dpa_thread_window_writeback();
		doca_dpa_dev_thread_notify(card->bells[0]);
	}
	doca_dpa_dev_thread_reschedule();
}

/* ordering: as in `wake_workers`. */
__dpa_global__ void worker(uint64_t argument)
{
	struct worker_state *own = (struct worker_state *)argument;
	struct card *card = (struct card *)own->shared;

	begin();
	__atomic_fetch_add(&card->running, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&card->rest, __ATOMIC_ACQUIRE)) {
		if (!dpamatch_worker_round((dpamatch_worker_part *)own->part))
			dpamatch_pause();
	}
	/* A notification from here on starts another activation. */
	__atomic_fetch_sub(&card->running, 1, __ATOMIC_RELEASE);
	doca_dpa_dev_thread_reschedule();
}

/* Builds the tables, and gives their bounce buffers to the network. 0: done. */
__dpa_rpc__ uint64_t set_up(uint64_t argument)
{
	struct card *card = (struct card *)argument;

	if (!build_tables(card))
		return 1;
	give_buffers(card, card->map.arrivals.depth);
	__dpa_thread_memory_writeback();
	return 0;
}

__dpa_rpc__ uint64_t ring_bell(uint64_t bell)
{
	doca_dpa_dev_thread_notify(bell);
	return 0;
}

/* The wire: sends the host's messages before the `end`th. Returns how many have left so far. */
__dpa_rpc__ uint64_t send_messages(uint64_t argument, uint64_t end)
{
	struct wire *wire = (struct wire *)argument;
	doca_dpa_dev_completion_element_t element;

	while (wire->index != (uint32_t)end) {
		uint32_t place = wire->index++ & wire->mask;

		doca_dpa_dev_rdma_post_send(wire->rdma, 0, wire->map,
					    wire->outgoing + place * SLOT_OF_MESSAGE,
					    ((uint32_t *)wire->bytes)[place],
					    wire->index == (uint32_t)end ? FLUSH : 0);
	}
	while (doca_dpa_dev_get_completion(wire->sent, &element)) {
		if (doca_dpa_dev_get_completion_type(element) != DOCA_DPA_DEV_COMP_SEND)
			give_up(BAD_COMPLETION);
		doca_dpa_dev_completion_ack(wire->sent, 1);
		wire->left++;
	}
	return wire->left;
}

/* The card: a leader, which completions of the network and the host's bell start, and workers,
 * which the leader starts. Received messages lie in their bounce buffers; results, and payloads of
 * receives, go to the host's memory through a window. */
#include "common.h"
#include "../../emulator/examples/counter/queues/device.h"

#define RECEIVED 2 /* opcode of a completion */

void dpamatch_panicked(void)
{
	flexio_dev_error(PANICKED);
	for (;;)
		flexio_dev_thread_finish();
}

static void release(struct queue *queue)
{
	__dpa_thread_memory_fence(__DPA_RW, __DPA_W);
	flexio_dev_dbr_cq_set_ci((uint32_t *)queue->record, queue->index);
}

/* Takes what only wakes. */
static void quiet(struct queue *queue)
{
	while (next(queue))
		queue->index++;
	release(queue);
}

/* The window's pointer to the beginning of the host's memory. It holds until the thread configures
 * its window again. All threads configure theirs alike, so a pointer means the same to each. */
static uint64_t open_window(const struct host_memory *host)
{
	flexio_uintptr_t pointer = 0;

	flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_0, host->window, host->key);
	if (flexio_dev_window_ptr_acquire(FLEXIO_DEV_WINDOW_ENTITY_0, host->base, &pointer))
		flexio_dev_error(NO_WINDOW);
	return pointer;
}

static uint64_t begin(void)
{
	struct reader *own = (struct reader *)flexio_dev_get_thread_local_storage();

	own->pointer = open_window(&own->host);
	return own->pointer - own->host.base;
}

/* Takes the ends of READs of which the leader knows. */
static void take_reads(struct reader *reader)
{
	uint64_t mask = (1u << reader->log_depth) - 1;
	struct flexio_dev_cqe64 *done;

	while (reader->waits && (done = next(&reader->done))) {
		uint64_t position = ((uint64_t *)reader->positions)[reader->done.index++ & mask];

		if (flexio_dev_cqe_get_opcode(done) != 0)
			flexio_dev_error(BAD_COMPLETION);
		if (position != DPAMATCH_GIVEN_UP)
			((uint64_t *)reader->reads)[position & mask] = 0;
		reader->waits--;
		release(&reader->done);
	}
}

/* Rendezvous: a READ, then a WRITE that tells the sender. The responder does them in order. No more
 * READs are under way than there are positions of results, so there is room for a thread's. */
void dpamatch_begin_read(const uint64_t *descriptor, void *target, uint32_t bytes,
			 uint64_t position)
{
	struct reader *own = (struct reader *)flexio_dev_get_thread_local_storage();
	uint64_t local = (uint64_t)target - own->pointer + own->host.base;
	uint32_t remote_key = (uint32_t)descriptor[2], mask = (1u << own->log_depth) - 1;
	uint64_t over = own->over + 8 * (descriptor[2] >> 32);
	union flexio_dev_sqe_seg *entry;

	if (position == DPAMATCH_GIVEN_UP) {
		/* Only the leader gives messages up. */
		while (own->waits > mask / 2)
			take_reads(own);
		own->waits++;
	} else {
		((uint64_t *)own->reads)[position & mask] = own->thread + 1;
	}
	((uint64_t *)own->positions)[own->posted++ & mask] = position;
	if (bytes) {
		entry = send_entry(own->ring, own->index, own->log_depth + 1);
		flexio_dev_swqe_seg_ctrl_set(entry, own->index++, own->number,
					     MLX5_CTRL_SEG_CE_CQE_ON_CQE_ERROR,
					     FLEXIO_CTRL_SEG_RDMA_READ);
		flexio_dev_swqe_seg_rdma_set(entry + 1, remote_key, descriptor[1]);
		flexio_dev_swqe_seg_mem_ptr_data_set(entry + 2, bytes, own->host.key, local);
	}
	entry = send_entry(own->ring, own->index, own->log_depth + 1);
	flexio_dev_swqe_seg_ctrl_set(entry, own->index++, own->number, MLX5_CTRL_SEG_CE_CQE_ALWAYS,
				     FLEXIO_CTRL_SEG_RDMA_WRITE);
	flexio_dev_swqe_seg_rdma_set(entry + 1, remote_key, over);
	flexio_dev_swqe_seg_mem_ptr_data_set(entry + 2, 8, own->one_key, own->one);
	__dpa_thread_memory_writeback();
	flexio_dev_qp_sq_ring_db(own->index, own->number);
}

static void give_up(int code)
{
	flexio_dev_error((uint64_t)code);
}

static void wake_worker(struct card *card, uint32_t at)
{
	flexio_dev_msix_send(card->workers[at].bell.number);
}

#include "engine.h"

static void take_message(struct card *card, struct flexio_dev_cqe64 *entry)
{
	/* Receive entries are consumed in order: each position has its own buffer. */
	if (flexio_dev_cqe_get_opcode(entry) != RECEIVED ||
	    flexio_dev_cqe_get_wqe_counter(entry) != (card->arrived & 0xffff))
		give_up(BAD_COMPLETION);
	take_bytes(card, flexio_dev_cqe_get_byte_cnt(entry));
}

static int take_messages(struct card *card, uint64_t window)
{
	uint64_t first = card->arrived, depth = card->map.arrivals.depth;
	struct flexio_dev_cqe64 *entry;

	while (card->arrived - first < depth && (entry = next(&card->arrivals))) {
		take_message(card, entry);
		card->arrivals.index++;
	}
	if (card->arrived != first)
		release(&card->arrivals);
	/* Released entries give their buffers back to the network. */
	uint64_t free = load(card->map.arrivals.head) + depth;
	int worked = card->arrived != first || free != card->given;
	if (free != card->given) {
		card->given = free;
		__dpa_thread_memory_fence(__DPA_RW, __DPA_W);
		flexio_dev_dbr_rq_set_pi((uint32_t *)card->rq_record, (uint32_t)free);
	}
	return worked | tell_released(card, window, free - depth);
}

__dpa_global__ void leader(uint64_t argument)
{
	struct card *card = (struct card *)argument;
	uint64_t window = begin(), asleep = window + card->asleep;
	uint64_t begun = __dpa_thread_cycles();
	uint32_t budget = ROUNDS_MOST;

	quiet(&card->bell);
	wake_workers(card);
	while (budget != 0 && round_of(card, window, card->config.workers))
		budget--;
	rest_workers(card);
	card->cycles += __dpa_thread_cycles() - begun;
	store(asleep, 1);
	__dpa_thread_window_writeback();
	arm(&card->arrivals);
	arm(&card->bell);
	for (uint32_t at = 0; at < card->config.workers; at++) {
		if (((struct reader *)card->readers[at])->waits)
			arm(&((struct reader *)card->readers[at])->done);
	}
	/* What came before the arming and the flag starts no activation: look once more. */
	__dpa_thread_fence(__DPA_SYSTEM, __DPA_RW, __DPA_RW);
	if (budget == 0 || round_of(card, window, 1)) {
		store(asleep, 0);
		__dpa_thread_window_writeback();
		flexio_dev_thread_retrigger();
	}
	flexio_dev_thread_reschedule();
}

/* ordering: as in `wake_workers`. */
__dpa_global__ void worker(uint64_t argument)
{
	struct worker_state *own = (struct worker_state *)argument;
	struct card *card = (struct card *)own->shared;

	begin();
	quiet(&own->bell);
	__atomic_fetch_add(&card->running, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&card->rest, __ATOMIC_ACQUIRE)) {
		if (!dpamatch_worker_round((dpamatch_worker_part *)own->part))
			dpamatch_pause();
	}
	/* Armed before it counts as gone: from then on the leader may ring. */
	arm(&own->bell);
	__atomic_fetch_sub(&card->running, 1, __ATOMIC_RELEASE);
	flexio_dev_thread_reschedule();
}

/* Builds the tables, and fills the receive queue with their bounce buffers. 0: done. */
__dpa_rpc__ uint64_t set_up(uint64_t argument)
{
	struct card *card = (struct card *)argument;
	struct flexio_dev_wqe_rcv_data_seg *entries = (void *)card->rq_ring;

	if (!build_tables(card))
		return 1;
	card->given = card->map.arrivals.depth;
	for (uint64_t at = 0; at < card->given; at++) {
		entries[at].byte_count = cpu_to_be32(card->config.buffer_bytes);
		entries[at].lkey = cpu_to_be32(card->arena_key);
		entries[at].addr = cpu_to_be64(card->map.bounce.first + at * card->map.bounce.stride);
	}
	__dpa_thread_memory_writeback();
	flexio_dev_dbr_rq_set_pi((uint32_t *)card->rq_record, (uint32_t)card->given);
	return 0;
}

/* The host's bell: a completion of zeros. */
__dpa_rpc__ uint64_t ring_bell(uint64_t number)
{
	flexio_dev_msix_send((uint32_t)number);
	return 0;
}

/* The wire: sends the host's messages before the `end`th. Returns how many have left so far. */
__dpa_rpc__ uint64_t send_messages(uint64_t argument, uint64_t end)
{
	struct wire *wire = (struct wire *)argument;
	uint32_t first = wire->index, mask = (1u << wire->log_depth) - 1;
	struct flexio_dev_cqe64 *done;

	for (; wire->index != (uint32_t)end; wire->index++) {
		union flexio_dev_sqe_seg *entry = send_entry(wire->ring, wire->index, wire->log_depth);
		uint32_t place = wire->index & mask;

		flexio_dev_swqe_seg_ctrl_set(entry, wire->index, wire->number,
					     MLX5_CTRL_SEG_CE_CQE_ALWAYS, FLEXIO_CTRL_SEG_SEND_RC);
		flexio_dev_swqe_seg_mem_ptr_data_set(entry + 1, ((uint32_t *)wire->bytes)[place],
						     wire->key,
						     wire->outgoing + place * SLOT_OF_MESSAGE);
	}
	if (wire->index != first) {
		__dpa_thread_memory_writeback();
		flexio_dev_qp_sq_ring_db(wire->index, wire->number);
	}
	while ((done = next(&wire->sent))) {
		if (flexio_dev_cqe_get_opcode(done) != 0)
			flexio_dev_error(BAD_COMPLETION);
		wire->sent.index++;
	}
	release(&wire->sent);
	return wire->sent.index;
}

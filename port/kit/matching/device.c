/* The card: a leader, which completions of the network and the host's bell start, and workers,
 * which the leader starts. Received messages lie in their bounce buffers; results, and payloads of
 * receives, go to the host's memory through a window. */
#include "common.h"
#include "../../emulator/examples/counter/queues/device.h"

#define RECEIVED 2 /* opcode of a completion */
enum { PANICKED = 128, BAD_COMPLETION, BAD_MESSAGE, NO_WINDOW };

void dpamatch_panicked(void)
{
	flexio_dev_error(PANICKED);
	for (;;)
		flexio_dev_thread_finish();
}

void dpamatch_pause(void)
{
	__dpa_thread_memory_fence(__DPA_R, __DPA_R);
}

void dpamatch_write_back(void)
{
	__dpa_thread_window_writeback();
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

/* Rings of struct dpamatch_slot. */

static struct dpamatch_slot *slot(uint64_t slots, uint64_t position, uint64_t depth)
{
	return (struct dpamatch_slot *)slots + (position & (depth - 1));
}

static uint64_t owner(uint64_t position, uint64_t depth)
{
	return (position & depth) == 0;
}

/* ordering: one release, one acquire: a slot's state and a ring's head publish what was written before. */
static uint64_t load(uint64_t address)
{
	return __atomic_load_n((uint64_t *)address, __ATOMIC_ACQUIRE);
}

/* ordering: as in `load`. */
static void store(uint64_t address, uint64_t value)
{
	__atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
}

/* Copies a slot's entry by words, then its state. */
/* ordering: as in `load`. */
static void copy_slot(struct dpamatch_slot *to, const struct dpamatch_slot *from, uint64_t state)
{
	const uint64_t *source = (const uint64_t *)from;
	uint64_t *target = (uint64_t *)to;

	for (int at = 0; at < 7; at++)
		target[at] = source[at];
	__atomic_store_n(&to->state, state, __ATOMIC_RELEASE);
}

/* Host to card: commands. Buffers of receives become pointers of the window. */
/* ordering: as in `load`. */
static int take_commands(struct card *card, uint64_t window)
{
	uint64_t depth = card->map.commands.depth, first = card->commands_taken;
	uint64_t end = load(card->map.commands.head) + depth;

	__dpa_thread_window_read_inv();
	while (card->commands_taken < end) {
		struct dpamatch_slot *from = slot(window + card->far.commands.slots, card->commands_taken, depth);
		struct dpamatch_slot *to = slot(card->map.commands.slots, card->commands_taken, depth);
		uint64_t state = __atomic_load_n(&from->state, __ATOMIC_ACQUIRE);

		if ((state & 1) != owner(card->commands_taken, depth))
			break;
		struct dpamatch_slot own = *from;
		if (own.entry.command.what == DPAMATCH_POST)
			own.entry.command.words[DPAMATCH_POST_BUFFER] += window;
		if (own.entry.command.what == DPAMATCH_RECEIVE)
			own.entry.command.words[DPAMATCH_RECEIVE_BUFFER] += window;
		copy_slot(to, &own, state);
		card->commands_taken++;
	}
	if (card->commands_taken == first)
		return 0;
	store(window + card->far.commands.head, card->commands_taken);
	return 1;
}

/* Wire to card: a completion and the trailer behind its bytes become an entry. */
/* ordering: as in `load`. */
static void take_message(struct card *card, struct flexio_dev_cqe64 *entry)
{
	uint64_t depth = card->map.arrivals.depth, position = card->arrived;
	uint64_t buffer = card->map.bounce.first + (position & (depth - 1)) * card->map.bounce.stride;
	uint32_t bytes = flexio_dev_cqe_get_byte_cnt(entry);
	struct dpamatch_slot *place = slot(card->map.arrivals.slots, position, depth);
	struct dpamatch_entry *message = &place->entry.message;

	/* Receive entries are consumed in order: each position has its own buffer. */
	if (flexio_dev_cqe_get_opcode(entry) != RECEIVED ||
	    flexio_dev_cqe_get_wqe_counter(entry) != (position & 0xffff))
		flexio_dev_error(BAD_COMPLETION);
	if (bytes < sizeof(struct trailer) || bytes % 8 != 0)
		flexio_dev_error(BAD_MESSAGE);
	bytes -= sizeof(struct trailer);
	const struct trailer *trailer = (const struct trailer *)(buffer + bytes);
	if (trailer->protocol > DPAMATCH_RENDEZVOUS || trailer->has_hashes > 1 ||
	    (trailer->protocol == DPAMATCH_RENDEZVOUS ?
		     bytes != sizeof message->payload :
		     trailer->length > bytes || bytes - trailer->length > 7))
		flexio_dev_error(BAD_MESSAGE);
	__builtin_memcpy(message, trailer, offsetof(struct dpamatch_entry, payload));
	if (bytes <= sizeof message->payload) {
		__builtin_memcpy(message->payload, (const void *)buffer, bytes);
	} else {
		message->protocol = DPAMATCH_BUFFERED;
	}
	__atomic_store_n(&place->state, trailer->stamp << 1 | owner(position, depth),
			 __ATOMIC_RELEASE);
	card->arrived++;
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
	/* Released entries give their buffers back to the network. The host may take a message for
	 * done when its result is there. */
	uint64_t free = load(card->map.arrivals.head) + depth;
	int worked = card->arrived != first || free != card->given;
	if (free != card->given) {
		card->given = free;
		__dpa_thread_memory_fence(__DPA_RW, __DPA_W);
		flexio_dev_dbr_rq_set_pi((uint32_t *)card->rq_record, (uint32_t)free);
	}
	if (free != card->told && !card->late_count) {
		card->told = free;
		store(window + card->far.arrivals.head, free - depth);
		worked = 1;
	}
	return worked;
}

/* Passes a result on, after the payload of which it tells. 0: the host's ring is full. */
static int give_result(struct card *card, uint64_t window, uint64_t position)
{
	uint64_t depth = card->map.completions.depth, given = card->results_given;
	const struct dpamatch_slot *from = slot(card->map.completions.slots, position, depth);
	const struct dpamatch_forwarded *entry = &from->entry.forwarded;

	if (given - card->results_head >= depth) {
		__dpa_thread_window_read_inv();
		card->results_head = load(window + card->far.completions.head);
		if (given - card->results_head >= depth)
			return 0;
	}
	if (entry->what == DPAMATCH_ARRIVAL_FORWARDED && entry->protocol == DPAMATCH_BUFFERED) {
		const struct dpamatch_buffers *far = &card->far.staging, *own = &card->map.staging;

		__builtin_memcpy((void *)(window + far->first + (given & (depth - 1)) * far->stride),
				 (void *)(own->first + (position & (depth - 1)) * own->stride),
				 entry->length);
		__dpa_thread_window_writeback();
	}
	copy_slot(slot(window + card->far.completions.slots, given, depth), from,
		  (from->state & ~1ull) | owner(given, depth));
	card->results_given++;
	return 1;
}

/* Card to host: results. One whose READ is under way waits, and messages' results overtake it;
 * answers to commands keep their place behind it. */
static int give_results(struct card *card, uint64_t window)
{
	uint64_t depth = card->map.completions.depth, first = card->results_given, kept = 0;
	uint64_t *late = (uint64_t *)card->late, *reads = (uint64_t *)card->reads, mask = 2 * depth - 1;

	__dpa_thread_window_writeback();
	for (uint32_t at = 0; at < card->config.workers; at++)
		take_reads((struct reader *)card->readers[at]);
	for (uint64_t at = 0; at < card->late_count; at++) {
		if (reads[late[at] & mask] || !give_result(card, window, late[at]))
			late[kept++] = late[at];
	}
	card->late_count = kept;
	for (;; card->results++) {
		uint64_t position = card->results;
		const struct dpamatch_slot *from = slot(card->map.completions.slots, position, depth);

		if ((load((uint64_t)&from->state) & 1) != owner(position, depth))
			break;
		uint64_t thread = reads[position & mask];
		if (thread) {
			struct reader *reader = (struct reader *)card->readers[thread - 1];

			reader->waits++;
			take_reads(reader);
		}
		if (reads[position & mask]) {
			late[card->late_count++] = position;
		} else if ((card->late_count && from->entry.forwarded.what > DPAMATCH_RECEIVED) ||
			   !give_result(card, window, position)) {
			break;
		}
	}
	store(card->map.completions.head, card->late_count ? late[0] : card->results);
	__dpa_thread_window_writeback();
	return card->results_given != first;
}

static int round_of(struct card *card, uint64_t window, uint32_t awake)
{
	int worked = take_commands(card, window);

	worked |= take_messages(card, window);
	worked |= dpamatch_leader_round((dpamatch_card *)card->library, awake);
	return worked | give_results(card, window);
}

/* The leader waits for a block's slices, so only workers inside an activation get one. */
/* ordering: one release, one acquire of `rest` and of `running`, each with one meaning at a time. */
static void wake_workers(struct card *card)
{
	__atomic_store_n(&card->rest, 0, __ATOMIC_RELEASE);
	for (uint32_t at = 1; at < card->config.workers; at++)
		flexio_dev_msix_send(card->workers[at].bell.number);
	while (__atomic_load_n(&card->running, __ATOMIC_ACQUIRE) != card->config.workers - 1)
		dpamatch_pause();
}

/* ordering: as in `wake_workers`. */
static void rest_workers(struct card *card)
{
	__atomic_store_n(&card->rest, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&card->running, __ATOMIC_ACQUIRE) != 0)
		dpamatch_pause();
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
	dpamatch_card *library = dpamatch_new(&card->config, (void *)card->arena, card->arena_bytes);

	if (!library)
		return 1;
	card->library = (uint64_t)library;
	card->rest = 1;
	dpamatch_map(library, &card->map);
	for (uint32_t at = 1; at < card->config.workers; at++) {
		card->workers[at].shared = argument;
		card->workers[at].part = (uint64_t)dpamatch_worker(library, at);
	}
	card->given = card->told = card->map.arrivals.depth;
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

__dpa_rpc__ uint64_t cycles(uint64_t argument)
{
	return ((struct card *)argument)->cycles;
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

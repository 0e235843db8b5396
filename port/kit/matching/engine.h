/* The card's part that does not depend on how a program reaches network, host and threads: rings,
 * results, and the order of a leader's work. Its includer has struct card and struct reader, and
 * before it:
 *
 *     give_up(code)            ends the process
 *     take_reads(reader)       takes the ends of the READs for which the leader waits
 *     wake_worker(card, at)    starts an activation of a worker
 *
 * and after it take_messages(card, window), which answers whether there was work. */
#pragma once

void dpamatch_pause(void)
{
	__dpa_thread_memory_fence(__DPA_R, __DPA_R);
}

void dpamatch_write_back(void)
{
	__dpa_thread_window_writeback();
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

/* Wire to card: `bytes` of a message and its trailer, which have come into the next bounce buffer,
 * become an entry. */
/* ordering: as in `load`. */
static void take_bytes(struct card *card, uint32_t bytes)
{
	uint64_t depth = card->map.arrivals.depth, position = card->arrived;
	uint64_t buffer = card->map.bounce.first + (position & (depth - 1)) * card->map.bounce.stride;
	struct dpamatch_slot *place = slot(card->map.arrivals.slots, position, depth);
	struct dpamatch_entry *message = &place->entry.message;

	if (bytes < sizeof(struct trailer) || bytes % 8 != 0)
		give_up(BAD_MESSAGE);
	bytes -= sizeof(struct trailer);
	const struct trailer *trailer = (const struct trailer *)(buffer + bytes);
	if (trailer->protocol > DPAMATCH_RENDEZVOUS || trailer->has_hashes > 1 ||
	    (trailer->protocol == DPAMATCH_RENDEZVOUS ?
		     bytes != sizeof message->payload :
		     trailer->length > bytes || bytes - trailer->length > 7))
		give_up(BAD_MESSAGE);
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

/* Released entries are the host's again: it may take a message for done when its result is there.
 * Returns whether the host was told. */
static int tell_released(struct card *card, uint64_t window, uint64_t released)
{
	if (released == card->told || card->late_count)
		return 0;
	card->told = released;
	store(window + card->far.arrivals.head, released);
	return 1;
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

static int take_messages(struct card *card, uint64_t window);

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
		wake_worker(card, at);
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

/* Builds the tables in the card's arena, and the workers' parts. 0: it is too small. */
static int build_tables(struct card *card)
{
	dpamatch_card *library = dpamatch_new(&card->config, (void *)card->arena, card->arena_bytes);

	if (!library)
		return 0;
	card->library = (uint64_t)library;
	card->rest = 1;
	dpamatch_map(library, &card->map);
	for (uint32_t at = 1; at < card->config.workers; at++) {
		card->workers[at].shared = (uint64_t)card;
		card->workers[at].part = (uint64_t)dpamatch_worker(library, at);
	}
	card->told = 0;
	return 1;
}

__dpa_rpc__ uint64_t cycles(uint64_t argument)
{
	return ((struct card *)argument)->cycles;
}

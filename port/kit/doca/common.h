/* What host part and device part of the DOCA program share: in the DPA's heap. */
#pragma once

#include "../matching/shared.h"

/* The one memory region of the host, and its map. */
struct host_memory {
	uint64_t base;
	uint32_t map;
};

/* A thread's connection for rendezvous. Local storage of the thread. */
struct reader {
	struct host_memory host;
	uint64_t rdma, done; /* the leader takes its completions */
	uint64_t one, pointer;
	uint64_t over; /* address of the first message's word at the sender: its bytes are read */
	/* As in the FlexIO program: by position, the thread that reads for it, plus 1, or 0; by READ,
	 * the position of its result. */
	uint64_t reads, positions;
	uint32_t posted, one_map, thread, log_depth;
	/* The leader's. */
	uint64_t taken, waits;
};

struct worker_state {
	uint64_t shared, part; /* struct card, the library's worker */
};

struct card {
	dpamatch_config config;
	uint64_t arena, arena_bytes;
	struct host_memory host;
	struct dpamatch_map far; /* the host's rings and buffers */
	uint64_t asleep; /* address of the host's word: the leader waits for an event */
	uint64_t rdma, arrivals;
	uint64_t bells[WORKERS_MOST]; /* notification of each thread */
	uint32_t arena_map;
	/* The device part's own. */
	uint64_t library;
	struct dpamatch_map map;
	uint64_t commands_taken, arrived, given, told;
	uint64_t results, results_given, results_head;
	uint64_t readers[WORKERS_MOST]; /* struct reader of each thread */
	uint64_t reads;
	uint64_t late, late_count; /* positions before `results` whose READs are under way, in order */
	uint64_t cycles; /* of the leader's activations */
	struct worker_state workers[WORKERS_MOST];
	uint32_t running __attribute__((aligned(64))); /* workers inside an activation */
	uint32_t rest __attribute__((aligned(64))); /* not 0: workers leave their activations */
};

/* The sending side. */
struct wire {
	uint64_t rdma, sent;
	uint64_t bytes; /* array of each message's length, by its place */
	uint64_t outgoing; /* the host's messages, SLOT_OF_MESSAGE for each */
	uint32_t map, index, left, mask;
};

/* What host part and device part share: in the DPA's heap, but for struct words. */
#pragma once

#include "../../emulator/examples/counter/queues/shared.h"
#include "shared.h"

/* Entries of queues that only wake a thread or tell the end of a read. */
#define LOG_SMALL 3
#define SMALL (1u << LOG_SMALL)

/* The one memory region of the host, and how the DPA reaches it. */
struct host_memory {
	uint64_t base;
	uint32_t window, key;
};

/* A thread's queue pair for rendezvous. Local storage of the thread. */
struct reader {
	struct host_memory host;
	uint64_t ring, one, pointer;
	uint64_t over; /* address of the first message's word at the sender: its bytes are read */
	/* Two arrays of twice as many words as there are results: by position, the thread that reads
	 * for it, plus 1, or 0 (one array for all threads); by READ, the position of its result. */
	uint64_t reads, positions;
	uint32_t number, index, posted;
	uint32_t one_key, thread, log_depth; /* of the arrays */
	/* The leader's. */
	struct queue done;
	uint64_t waits; /* READs of which it knows, not ended */
};

struct worker_state {
	uint64_t shared, part; /* struct card, the library's worker */
	struct queue bell;
};

struct card {
	dpamatch_config config;
	uint64_t arena, arena_bytes;
	struct host_memory host;
	struct dpamatch_map far; /* the host's rings and buffers */
	uint64_t asleep; /* address of the host's word: the leader waits for an event */
	struct queue arrivals, bell;
	uint64_t rq_ring, rq_record;
	uint32_t arena_key, log_depth;
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

/* The sending side: another process. */
struct wire {
	struct queue sent;
	uint64_t ring, bytes; /* array of each message's length, by its place */
	uint64_t outgoing; /* the host's messages, SLOT_OF_MESSAGE for each */
	uint32_t number, index, key, log_depth;
};

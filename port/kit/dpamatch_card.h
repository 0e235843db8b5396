/* The card's side of dpamatch, for programs in C: dpamatch_bus.h has the rings that such a program
 * fills and reads.
 *
 * One thread runs the leader, every other thread one worker. */
#pragma once

#include "dpamatch_bus.h"

typedef struct dpamatch_card dpamatch_card;
typedef struct dpamatch_worker dpamatch_worker_part;

/* Sizes of the tables. Fast path: 0 never, 1 literal, 2 prefix, 3 sequence. Barrier: 0 words,
 * 1 bitmap. Removal: 0 when the bin is free, 1 eager, 2 deferred. */
typedef struct {
	uint32_t handlers;
	uint32_t workers; /* with the leader */
	uint32_t receives;
	uint32_t unexpected;
	uint32_t bins;
	uint32_t communicators;
	uint32_t queue; /* entries of each ring: a power of two, at least `handlers` */
	uint32_t buffer_bytes; /* of a bounce buffer */
	uint32_t fast_path;
	uint32_t barrier;
	uint32_t removal;
	uint32_t stamped; /* not 0: stamps order commands and messages */
} dpamatch_config;

_Static_assert(sizeof(dpamatch_config) == 48, "layout of dpamatch_config");

/* The program defines these four. The card's side calls the first to give up; it must not return. */
void dpamatch_panicked(void) __attribute__((noreturn));
/* A turn of a wait for another thread. */
void dpamatch_pause(void);
/* Writes this thread's stores to the host's memory back. */
void dpamatch_write_back(void);
/* Begins to read a rendezvous message from its sender, and to tell the sender that it is over.
 * `descriptor` is the payload of its entry, three words. The program passes the result at `position`
 * of the completions on when the bytes are there. DPAMATCH_GIVEN_UP: the message has no result. */
void dpamatch_begin_read(const uint64_t *descriptor, void *target, uint32_t bytes,
			 uint64_t position);
#define DPAMATCH_GIVEN_UP UINT64_MAX

/* Builds all tables in `arena`, which is zero and aligned to 64 bytes. NULL: impossible sizes, or
 * too little memory. Call it once. */
dpamatch_card *dpamatch_new(const dpamatch_config *config, void *arena, size_t bytes);

/* Says where the rings and the buffers of the tables are. */
void dpamatch_map(dpamatch_card *card, struct dpamatch_map *map);

/* The leader's part: admits commands and runs at most one block, shared with at most `awake`
 * workers (the leader is one of them). Those must be running. Returns whether it did any work. */
int dpamatch_leader_round(dpamatch_card *card, uint32_t awake);

/* Worker 1 .. workers - 1; call it before any of them runs. NULL: no such worker. */
dpamatch_worker_part *dpamatch_worker(dpamatch_card *card, uint32_t worker);

/* Runs the worker's slice of a new block. Returns whether there was one. */
int dpamatch_worker_round(dpamatch_worker_part *worker);

/* The card's side of dpamatch, for programs in C.
 *
 * One hart runs the leader, every other hart one worker. The host's end and the wire's end stand in
 * for the PCIe bus and the network of a card: a port replaces them. */
#ifndef DPAMATCH_CARD_H
#define DPAMATCH_CARD_H

#include <stddef.h>
#include <stdint.h>

typedef struct dpamatch_card dpamatch_card;
typedef struct dpamatch_worker dpamatch_worker_part;

/* Sizes of the tables. Fast path: 0 never, 1 literal, 2 prefix, 3 sequence. */
typedef struct {
    uint32_t handlers;
    uint32_t workers; /* with the leader */
    uint32_t receives;
    uint32_t bins;
    uint32_t queue; /* entries of the completion queue: a power of two */
    uint32_t eager_limit;
    uint32_t fast_path;
} dpamatch_config;

/* A received message. */
typedef struct {
    uint64_t arrival; /* its number among all arrivals */
    uint32_t request; /* what dpamatch_post returned */
    uint32_t comm;
    uint32_t source;
    uint32_t tag;
    uint32_t length;
    uint32_t reserved;
} dpamatch_received;

_Static_assert(sizeof(dpamatch_config) == 28, "layout of dpamatch_config");
_Static_assert(sizeof(dpamatch_received) == 32, "layout of dpamatch_received");

/* Any source, any tag. */
#define DPAMATCH_ANY UINT32_MAX

/* The program defines it. The card's side calls it to give up; it must not return. */
void dpamatch_panicked(void) __attribute__((noreturn));

/* Builds all tables in `arena`, which is zero and aligned to 64 bytes. NULL: impossible sizes, or
 * too little memory. Call it once. */
dpamatch_card *dpamatch_new(const dpamatch_config *config, void *arena, size_t bytes);

/* The leader's part: admits posts and runs at most one block, shared with at most `awake` workers
 * (the leader is one of them). Those must be running. Returns whether it did any work. */
int dpamatch_leader_round(dpamatch_card *card, uint32_t awake);

/* Worker 1 .. workers - 1; call it before any of them runs. NULL: no such worker. */
dpamatch_worker_part *dpamatch_worker(dpamatch_card *card, uint32_t worker);

/* Runs the worker's slice of a new block. Returns whether there was one. */
int dpamatch_worker_round(dpamatch_worker_part *worker);

/* The host's end. */
int dpamatch_create(dpamatch_card *card, uint32_t comm, uint32_t bins);
int64_t dpamatch_post(dpamatch_card *card, uint32_t comm, uint32_t source, uint32_t tag, uint32_t bytes);
int dpamatch_poll(dpamatch_card *card, dpamatch_received *received, void *data, uint32_t room);

/* The wire's end: 0 sent, 1 no room now, 2 never. */
int dpamatch_send(dpamatch_card *card, uint32_t comm, uint32_t source, uint32_t tag, const void *data,
                  uint32_t length);

#endif

/* The host's end of dpamatch, for programs in C: host and wire play a recorded stream on rings in
 * this program's memory, which has the layout of dpamatch_bus.h. The program moves commands and
 * messages from there to the card, and results from the card to there. */
#pragma once

#include "dpamatch_bus.h"

#include <stdbool.h>

typedef struct dpamatch_host dpamatch_host;

/* Bytes of the library, or of the program for dpamatch_host_new. */
typedef struct {
	const void *start;
	size_t length;
} dpamatch_bytes;

/* The program defines this. The library calls it to give up; it must not return. */
void dpamatch_panicked(void) __attribute__((noreturn));

/* Builds rings of `queue` entries, a power of two, in `arena`, which is zero and aligned to 64
 * bytes. Longer messages than `eager_limit` go by rendezvous. The card holds at most `unexpected`
 * messages. NULL: no such size, or `stream` is no stream. Call it once. */
dpamatch_host *dpamatch_host_new(void *arena, size_t bytes, dpamatch_bytes stream, uint32_t queue,
				 uint32_t eager_limit, uint32_t unexpected);

/* Says where the rings and buffers are. */
void dpamatch_host_map(const dpamatch_host *host, struct dpamatch_map *map);

/* Where the bytes of a rendezvous message are; `key` is the first word of its entry's payload.
 * 0: the message is over. */
uint64_t dpamatch_host_region(const dpamatch_host *host, uint64_t key);

/* Plays the stream on communicators of `bins` bins. Whenever the card has to work, `wait` runs.
 * Returns why it failed; no bytes: it did not. */
dpamatch_bytes dpamatch_host_play(dpamatch_host *host, uint32_t bins, void (*wait)(void));

/* The outcomes' records. */
dpamatch_bytes dpamatch_host_outcomes(const dpamatch_host *host);

/* Whether a receive or a matched probe took the message with this number. */
bool dpamatch_host_was_taken(const dpamatch_host *host, uint64_t arrival);

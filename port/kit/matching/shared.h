/* What all programs of the matching engine share. */
#pragma once

#include "../dpamatch_card.h"

#define WORKERS_MOST 16
#define SLOT_OF_MESSAGE 192u
/* Rounds of one activation. A card's system ends handlers that never leave: 12 s on a BlueField-3. */
#define ROUNDS_MOST 1000

/* Why the device part gives up. */
enum { PANICKED = 128, BAD_COMPLETION, BAD_MESSAGE, NO_WINDOW };

/* A message on the wire: its bytes, filled up to 8, then this. Its entry's head is that of
 * struct dpamatch_entry. A rendezvous message has three words as its bytes: the sender's name for
 * it, its address, and its number above its key. */
struct trailer {
	uint32_t comm, source, tag, length;
	uint32_t hashes[3];
	uint8_t protocol, has_hashes, gap[2];
	uint64_t stamp;
};

_Static_assert(sizeof(struct trailer) == 40, "trailer");

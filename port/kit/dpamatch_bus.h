/* The rings that host, wire and card share in the card's memory, in a layout independent of the
 * compiler. All numbers are little-endian, all addresses belong to the card.
 *
 * A ring has `depth` slots of 64 bytes, a power of two. Position p is slot p mod depth. The
 * producer fills position p only after it saw p - head < depth. It writes the entry, then `state`
 * with release: stamp << 1 | owner, where owner is 1 if p & depth is 0, else 0. The consumer waits
 * until bit 0 is that owner bit (acquire), and releases positions by a store of `head` (release).
 *
 * With Order::Stamped a command's stamp is the number of messages sent before it, a message's stamp
 * the number of commands before it without Discards, whose stamp is 0. So the card takes both in
 * the order in which they were issued. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dpamatch_ring {
    uint64_t slots; /* address of the first slot */
    uint64_t depth;
    uint64_t head; /* address of the word */
};

struct dpamatch_buffers {
    uint64_t first; /* address of the first buffer */
    uint64_t stride;
};

/* What a card's side has: arrivals' position p owns bounce buffer p mod depth, and completions'
 * position p staging buffer p mod depth. */
struct dpamatch_map {
    struct dpamatch_ring commands, arrivals, completions;
    struct dpamatch_buffers bounce, staging;
};

enum { /* protocols */
    DPAMATCH_INLINE = 0, /* in the payload */
    DPAMATCH_BUFFERED = 1, /* in the entry's buffer */
    DPAMATCH_RENDEZVOUS = 2, /* at the sender, which the payload describes */
};

/* A message: wire to card. */
struct dpamatch_entry {
    uint32_t comm, source, tag;
    uint32_t length;
    uint32_t hash_both, hash_tag, hash_source;
    uint8_t protocol; /* where the bytes are */
    uint8_t has_hashes;
    uint8_t gap[2];
    uint8_t payload[24];
};

/* A command: host to card. A host's library writes it; what moves it to the card finds the
 * addresses of buffers. */
struct dpamatch_command {
    uint8_t what;
    uint8_t gap[7];
    uint64_t words[6];
};

enum { /* commands with a buffer, and which word is its address */
    DPAMATCH_POST = 1,
    DPAMATCH_POST_BUFFER = 4,
    DPAMATCH_RECEIVE = 4,
    DPAMATCH_RECEIVE_BUFFER = 2,
};

enum { /* completions */
    DPAMATCH_RECEIVED = 1, /* 0: none */
    DPAMATCH_ARRIVAL_FORWARDED = 5, /* software matches the message */
};

struct dpamatch_forwarded { /* card to host: bytes in the payload or the staging buffer */
    uint8_t what;
    uint8_t protocol;
    uint8_t gap[6];
    uint64_t arrival;
    uint32_t comm, source, tag;
    uint32_t length;
    uint64_t payload[3];
};

union dpamatch_any {
    struct dpamatch_entry message;
    struct dpamatch_command command;
    struct dpamatch_forwarded forwarded;
};

struct dpamatch_slot {
    union dpamatch_any entry;
    uint64_t state;
};

_Static_assert(sizeof(struct dpamatch_slot) == 64, "a slot is a line");
_Static_assert(sizeof(struct dpamatch_entry) == 56, "entry");
_Static_assert(offsetof(struct dpamatch_entry, payload) == 32, "payload");
_Static_assert(sizeof(struct dpamatch_command) == 56, "command");
_Static_assert(sizeof(struct dpamatch_forwarded) == 56, "forwarded");
_Static_assert(offsetof(struct dpamatch_forwarded, payload) == 32, "forwarded payload");
_Static_assert(sizeof(struct dpamatch_map) == 104, "map");

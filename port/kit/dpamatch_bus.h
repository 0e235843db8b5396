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
#ifndef DPAMATCH_BUS_H
#define DPAMATCH_BUS_H

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

/* Classes: 0 source and tag given, 1 any source, 2 any tag, 3 both. A wild field is 0. */
struct dpamatch_target {
    uint8_t class_;
    uint8_t gap[3];
    uint32_t source, tag;
    uint32_t hash; /* of the class: of both, of the tag, of the source, 0 */
};

enum { /* commands: host to card */
    DPAMATCH_POST = 1,
    DPAMATCH_CANCEL = 2,
    DPAMATCH_PROBE = 3,
    DPAMATCH_DISCARD = 5,
    DPAMATCH_CREATE = 6,
};

struct dpamatch_command {
    uint8_t what;
    uint8_t gap[3];
    uint32_t entry; /* Discard */
    uint64_t request;
    uint32_t comm;
    union {
        struct dpamatch_target target;
        uint32_t bins; /* Create; no hints */
    };
    union {
        uint8_t take; /* Probe: take the message out of matching */
        uint32_t gap2;
    };
    uint64_t buffer;   /* Post */
    uint32_t capacity; /* Post */
    uint32_t gap3;
};

enum { /* completions: card to host */
    DPAMATCH_NONE = 0, /* reserved for a message that found no receive */
    DPAMATCH_RECEIVED = 1,
    DPAMATCH_POST_FORWARDED = 4, /* software matches it */
    DPAMATCH_ARRIVAL_FORWARDED = 5,
    DPAMATCH_CANCELLED = 7,
    DPAMATCH_TOO_LATE = 8,
    DPAMATCH_CANCEL_FORWARDED = 9,
    DPAMATCH_PROBED_NONE = 10,
    DPAMATCH_PROBED = 11,
    DPAMATCH_PROBED_TAKEN = 12,
    DPAMATCH_PROBE_FORWARDED = 13,
    DPAMATCH_CREATED = 14,
};

struct dpamatch_completion {
    uint8_t what;
    uint8_t late; /* Received: the message was unexpected */
    uint8_t gap[2];
    uint32_t entry; /* ProbedTaken */
    uint64_t request;
    uint64_t arrival; /* messages that arrived before it; Created: the low byte is 1 if on the card */
    uint32_t comm, source, tag;
    uint32_t length;
    uint8_t gap2[16];
};

struct dpamatch_forwarded { /* ArrivalForwarded: bytes in the payload or the staging buffer */
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
    struct dpamatch_completion completion;
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
_Static_assert(offsetof(struct dpamatch_command, target) == 20, "target");
_Static_assert(offsetof(struct dpamatch_command, take) == 36, "take");
_Static_assert(offsetof(struct dpamatch_command, buffer) == 40, "buffer");
_Static_assert(sizeof(struct dpamatch_completion) == 56, "completion");
_Static_assert(offsetof(struct dpamatch_completion, arrival) == 16, "arrival");
_Static_assert(offsetof(struct dpamatch_completion, length) == 36, "length");
_Static_assert(sizeof(struct dpamatch_forwarded) == 56, "forwarded");
_Static_assert(offsetof(struct dpamatch_forwarded, payload) == 32, "forwarded payload");
_Static_assert(sizeof(struct dpamatch_map) == 104, "map");

/* The hash that host, wire and card agree on: two rounds of multiply and fold. */
static inline uint32_t dpamatch_mix(uint64_t value)
{
    value *= 0x9E3779B97F4A7C15u;
    value = (value ^ value >> 32) * 0xBB67AE8584CAA73Bu;
    return (uint32_t)(value >> 32);
}

static inline uint32_t dpamatch_hash_both(uint32_t source, uint32_t tag)
{
    return dpamatch_mix((uint64_t)source << 32 | tag);
}

#endif

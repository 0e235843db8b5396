/* A player of recorded streams. */
#ifndef DPAMATCH_PLAYER_H
#define DPAMATCH_PLAYER_H

#include "../dpamatch_bus.h"

#include <stdio.h>

#define ANY UINT64_MAX
/* Bytes of the longest message; longer ones are cut. Also of a receive's buffer. */
#define BYTES_MOST 512u

struct operation {
    uint64_t what, name, comm, source, tag, bytes;
};

/* How a host reaches its card. */
struct player {
    struct dpamatch_ring commands, arrivals, completions; /* of `arrivals` only the head */
    uint64_t buffers; /* by request */
    /* Sends a message, whose length the entry has; 0: no room now. */
    int (*send)(uint64_t arrival, const struct dpamatch_entry *entry, const uint8_t *bytes,
                uint64_t stamp);
    /* Lets the card work. */
    void (*wait)(void);
    /* The staging buffer of a position of the completion ring. */
    const void *(*staged)(uint64_t position);
    /* Reads a rendezvous message and tells its sender. NULL: it is given up. */
    void (*read)(const uint64_t descriptor[3], void *target, uint32_t bytes);
};

void play_stream(const struct player *player, const struct operation *stream, uint64_t number,
                 const char *outcomes, uint32_t bins);
/* Whether a receive or a matched probe took the message. */
int was_taken(uint64_t arrival);

void fail(const char *what) __attribute__((noreturn));
const struct operation *map_stream(const char *name, uint64_t *number);
void *calloc_or_fail(uint64_t number, size_t bytes);

#endif

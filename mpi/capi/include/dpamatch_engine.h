/* A matching engine in a shared library, for `--engine PATH` and DPAMATCH_ENGINE=PATH.
 *
 * An engine keeps two queues: posted receives without a message, and unexpected messages without a
 * receive. Its structure is free; its results are those of two lists searched from the front. */
#ifndef DPAMATCH_ENGINE_H
#define DPAMATCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DPAMATCH_ENGINE_ABI 1

/* What a receive selects, or what a message carries: -1 is any source or any tag. */
typedef struct dpamatch_key {
    int64_t source;
    int64_t tag;
    uint32_t comm;
} dpamatch_key;

/* What a search found. All is zero before the call. */
typedef struct dpamatch_found {
    uint64_t id;       /* of the receive or message */
    uint64_t compares; /* with entries; UINT64_MAX: the call failed */
    uint64_t hops;     /* steps over inner nodes */
} dpamatch_found;

typedef struct dpamatch_sizes {
    uint32_t bins;      /* of each hash table */
    uint32_t processes; /* in each communicator; 0: unknown */
} dpamatch_sizes;

/* The caller checks the answers: the first that no engine can give ends the use of the engine.
 * No exception leaves a function. One thread at a time calls the functions. A search returns whether it found something. Ids of
 * entries that left may be used again. */
typedef struct dpamatch_engine_table {
    uint32_t abi; /* DPAMATCH_ENGINE_ABI */
    const char *name;
    const char *summary; /* one line */
    void *(*create)(const dpamatch_sizes *sizes); /* NULL: it cannot be made */
    void (*destroy)(void *engine);
    /* Takes the oldest message that the receive accepts, or else keeps the receive. */
    bool (*post)(void *engine, uint64_t receive, const dpamatch_key *key, dpamatch_found *found);
    /* Takes the earliest receive that accepts the message, or else keeps the message. */
    bool (*arrive)(void *engine, uint64_t message, const dpamatch_key *key, dpamatch_found *found);
    /* Takes a posted receive out; false if it is not there. */
    bool (*cancel)(void *engine, uint64_t receive);
    /* The oldest message that a receive with this key would take; mprobe takes it out. */
    bool (*probe)(void *engine, const dpamatch_key *key, dpamatch_found *found);
    bool (*mprobe)(void *engine, const dpamatch_key *key, dpamatch_found *found);
    /* Frees what belongs to the communicator; false while it has entries. */
    bool (*free_comm)(void *engine, uint32_t comm);
    bool (*is_empty)(void *engine, uint32_t comm);
    /* Write the ids of the first `room` entries, oldest first; return the number of all. */
    size_t (*posted)(void *engine, uint64_t *ids, size_t room);
    size_t (*unexpected)(void *engine, uint64_t *ids, size_t room);
    uint64_t (*bytes)(void *engine); /* bytes of the engine now; may be NULL */
} dpamatch_engine_table;

/* The one function of the library. */
const dpamatch_engine_table *dpamatch_engine(void);

#endif

/* Numbers for requests.
 *
 * A number stands for an operation from its call to its completion, or for a persistent request until it is freed.
 * Then the next operation gets the number, so numbers stay small, and memory grows only with the active
 * requests.
 *
 * A library may give several operations one handle: Open MPI and MPICH do so for sends that were complete at once.
 * They share a number here as well. Readers take operations with one number in the order of posting, which is correct
 * because such operations never receive anything. It is also correct if another thread gets a handle again before the
 * wait that ended its former use has been recorded. */

#include "record.h"
#include "table.h"

#include <stdlib.h>

enum { NUMBER_NULL = 1, NUMBER_FIRST = 2 };

static struct table active;
/* Free numbers, last in first out. */
static int32_t *spare;
static size_t spares, spare_room;
static int32_t next_number = NUMBER_FIRST;

static int32_t take_number(void) { return spares > 0 ? spare[--spares] : next_number++; }

static void give_number(int32_t number) {
    if (spares == spare_room) {
        size_t room = spare_room == 0 ? 64 : 2 * spare_room;
        int32_t *larger = realloc(spare, room * sizeof *larger);
        if (larger == NULL) {
            return; /* The number is not used again. */
        }
        spare = larger;
        spare_room = room;
    }
    spare[spares++] = number;
}

int32_t rec_request_new(MPI_Request request, enum request_kind kind, bool persistent) {
    if (request == MPI_REQUEST_NULL) {
        return NUMBER_NULL;
    }
    uint64_t key = REC_KEY(request);
    struct entry *entry = rec_table_find(&active, key);
    if (entry != NULL) {
        entry->uses++;
    } else {
        entry = rec_table_add(&active, key, take_number());
        if (entry == NULL) {
            return 0;
        }
    }
    entry->kind = (uint8_t)kind;
    entry->persistent = persistent;
    return entry->number;
}

int32_t rec_request_take(void) { return take_number(); }
void rec_request_give(int32_t number) { give_number(number); }

void rec_request_describe(MPI_Request request, int source, int tag, int64_t bytes) {
    struct entry *entry = rec_table_find(&active, REC_KEY(request));
    if (entry != NULL) {
        entry->source = source;
        entry->tag = tag;
        entry->bytes = (int32_t)bytes;
    }
}

void rec_request_hide(MPI_Request request) {
    if (request == MPI_REQUEST_NULL || rec_table_find(&active, REC_KEY(request)) != NULL) {
        return;
    }
    struct entry *entry = rec_table_add(&active, REC_KEY(request), NUMBER_NULL);
    if (entry != NULL) {
        entry->kind = REQUEST_HIDDEN;
        entry->persistent = false;
    }
}

struct held rec_request(MPI_Request request) {
    struct held held = {.number = NUMBER_NULL, .kind = REQUEST_EMPTY};
    if (request == MPI_REQUEST_NULL) {
        return held;
    }
    held.key = REC_KEY(request);
    struct entry *entry = rec_table_find(&active, held.key);
    if (entry == NULL) {
        /* A call that is not recorded made it. */
        held.kind = REQUEST_OTHER;
        held.number = rec_request_new(request, REQUEST_OTHER, false);
        return held;
    }
    held.number = entry->number;
    held.kind = (enum request_kind)entry->kind;
    held.persistent = entry->persistent;
    held.source = entry->source;
    held.tag = entry->tag;
    held.bytes = entry->bytes;
    return held;
}

static void end_use(uint64_t key) {
    struct entry *entry = rec_table_find(&active, key);
    if (entry == NULL) {
        return;
    }
    if (entry->uses > 1) {
        entry->uses--;
    } else {
        if (entry->number != NUMBER_NULL) {
            give_number(entry->number);
        }
        rec_table_remove(&active, entry);
    }
}

void rec_request_complete(const struct held *held) {
    if (held->kind != REQUEST_EMPTY && !held->persistent) {
        end_use(held->key);
    }
}

void rec_request_freed(const struct held *held) {
    if (held->kind != REQUEST_EMPTY) {
        end_use(held->key);
    }
}

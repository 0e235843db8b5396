/* Linear probing; removal moves later entries up, so that no marks stay behind. */

#include "table.h"

#include <stdlib.h>

enum { PLACES_MIN = 64 };

static size_t home(const struct table *table, uint64_t key) {
    /* Handles are aligned addresses or small numbers: the upper half of a product depends on all of their bits. */
    return (size_t)((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (table->places - 1);
}

struct entry *rec_table_find(const struct table *table, uint64_t key) {
    if (table->places == 0) {
        return NULL;
    }
    for (size_t at = home(table, key);; at = (at + 1) & (table->places - 1)) {
        struct entry *entry = &table->entries[at];
        if (entry->uses == 0) {
            return NULL;
        }
        if (entry->key == key) {
            return entry;
        }
    }
}

static struct entry *place(struct table *table, const struct entry *entry) {
    size_t at = home(table, entry->key);
    while (table->entries[at].uses != 0) {
        at = (at + 1) & (table->places - 1);
    }
    table->entries[at] = *entry;
    return &table->entries[at];
}

static bool grow(struct table *table) {
    struct table larger = {.places = table->places == 0 ? PLACES_MIN : 2 * table->places, .taken = table->taken};
    larger.entries = calloc(larger.places, sizeof *larger.entries);
    if (larger.entries == NULL) {
        return false;
    }
    for (size_t at = 0; at < table->places; at++) {
        if (table->entries[at].uses != 0) {
            place(&larger, &table->entries[at]);
        }
    }
    free(table->entries);
    *table = larger;
    return true;
}

struct entry *rec_table_add(struct table *table, uint64_t key, int32_t number) {
    /* At most half full. When memory is short the table may fill, except for one place that ends every search. */
    if (2 * table->taken >= table->places && !grow(table) && table->taken + 1 >= table->places) {
        return NULL;
    }
    table->taken++;
    const struct entry entry = {.key = key, .number = number, .uses = 1};
    return place(table, &entry);
}

void rec_table_remove(struct table *table, struct entry *entry) {
    size_t mask = table->places - 1;
    size_t hole = (size_t)(entry - table->entries);
    for (size_t at = (hole + 1) & mask; table->entries[at].uses != 0; at = (at + 1) & mask) {
        /* An entry may move up to the hole unless its home lies behind the hole. */
        size_t from_home = (at - home(table, table->entries[at].key)) & mask;
        if (from_home >= ((at - hole) & mask)) {
            table->entries[hole] = table->entries[at];
            hole = at;
        }
    }
    table->entries[hole].uses = 0;
    table->taken--;
}

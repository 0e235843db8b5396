/* A hash table from handles to values, in one block of memory that grows with its entries. */
#ifndef DPAMATCH_RECORD_TABLE_H
#define DPAMATCH_RECORD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry {
    uint64_t key;
    int32_t number;
    uint32_t uses; /* 0: the place is empty */
    uint8_t kind;
    bool persistent;
    /* Of a partitioned receive, whose status need not say it. */
    int32_t source, tag, bytes;
};

struct table {
    struct entry *entries;
    size_t places; /* a power of two, or 0 */
    size_t taken;
};

/* The entry of a key, or null. */
struct entry *rec_table_find(const struct table *table, uint64_t key);
/* A new entry with one use; the key must not be there. Null if there is no memory. */
struct entry *rec_table_add(struct table *table, uint64_t key, int32_t number);
void rec_table_remove(struct table *table, struct entry *entry);

#endif

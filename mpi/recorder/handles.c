/* Numbers for communicators, groups, datatypes, operations.
 *
 * Predefined handles have fixed numbers. Every other handle gets the next number at its first use, and keeps it until
 * the object is freed. Numbers are reused only when the 16 bits that a file has for them run out. */

#include "record.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 1 << 16 };

struct kind {
    const char *name;
    struct table table;
    int32_t next;
    int32_t first;
    /* Sizes in bytes, of datatypes only. */
    int32_t *sizes;
    /* Whether a number is in use, indexed by number; made when new numbers have run out. */
    bool has_run_out;
};

static struct kind comms = {.name = "communicators", .next = 4, .first = 4};
static struct kind groups = {.name = "groups", .next = 3, .first = 3};
static struct kind datatypes = {.name = "datatypes", .next = 28, .first = 28};
static struct table ops;
enum { OP_USER = 15 };

/* A number that no living object has; for datatypes one that had this size. 0, "unknown", if there is none. */
static int32_t freed_number(const struct kind *kind, int32_t size) {
    bool *taken = calloc(NUMBERS, sizeof *taken);
    int32_t found = 0;
    if (taken != NULL) {
        for (size_t at = 0; at < kind->table.places; at++) {
            if (kind->table.entries[at].uses != 0) {
                taken[kind->table.entries[at].number] = true;
            }
        }
        for (int32_t number = kind->first; number < NUMBERS && found == 0; number++) {
            if (!taken[number] && (kind->sizes == NULL || kind->sizes[number] == size)) {
                found = number;
            }
        }
        free(taken);
    }
    return found;
}

static unsigned number_of(struct kind *kind, uint64_t key, int32_t size) {
    struct entry *entry = rec_table_find(&kind->table, key);
    if (entry != NULL) {
        return (unsigned)entry->number;
    }
    int32_t number = 0;
    if (kind->next < NUMBERS) {
        number = kind->next++;
    } else {
        if (!kind->has_run_out) {
            fprintf(stderr, "dpamatch-record: more than %d %s; numbers are used again\n", NUMBERS, kind->name);
            kind->has_run_out = true;
        }
        number = freed_number(kind, size);
    }
    if (number != 0 && kind->sizes != NULL) {
        kind->sizes[number] = size;
    }
    return rec_table_add(&kind->table, key, number) == NULL ? 0 : (unsigned)number;
}

static void forget(struct kind *kind, uint64_t key) {
    struct entry *entry = rec_table_find(&kind->table, key);
    if (entry != NULL && entry->number >= kind->first) {
        rec_table_remove(&kind->table, entry);
    }
}

static void fixed(struct table *table, uint64_t key, int32_t number) {
    struct entry *entry = rec_table_find(table, key);
    if (entry != NULL) {
        entry->number = number; /* two names of one handle: the later number */
    } else {
        rec_table_add(table, key, number);
    }
}

static int32_t size_of(MPI_Datatype datatype) {
    MPI_Count size = 0;
    /* The file has 31 bits for it; rec_put_amount() writes messages of larger types as something else. */
    bool is_known = PMPI_Type_size_x(datatype, &size) == MPI_SUCCESS && size > 0 && size <= INT32_MAX;
    return is_known ? (int32_t)size : 0;
}

static void fixed_datatype(MPI_Datatype datatype, int32_t number) {
    if (datatype != MPI_DATATYPE_NULL) { /* a type the library does not have */
        fixed(&datatypes.table, REC_KEY(datatype), number);
        if (datatypes.sizes != NULL) {
            datatypes.sizes[number] = size_of(datatype);
        }
    }
}

void rec_handles_begin(void) {
    MPI_Comm comm[] = {MPI_COMM_NULL, MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Group group[] = {MPI_GROUP_NULL, MPI_GROUP_EMPTY};
    MPI_Datatype null = MPI_DATATYPE_NULL;
    MPI_Datatype datatype[] = {
        MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_WCHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT,
        MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_LONG_LONG_INT,
        MPI_UNSIGNED_LONG_LONG, MPI_LONG_LONG, MPI_PACKED,
    };
    MPI_Datatype pair[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_2INT, MPI_LONG_DOUBLE_INT};
    MPI_Op op[] = {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR,
                   MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_OP_NULL};
    datatypes.sizes = calloc(NUMBERS, sizeof *datatypes.sizes);
    for (int k = 0; k < (int)(sizeof comm / sizeof *comm); k++) {
        fixed(&comms.table, REC_KEY(comm[k]), 1 + k);
    }
    for (int k = 0; k < (int)(sizeof group / sizeof *group); k++) {
        fixed(&groups.table, REC_KEY(group[k]), 1 + k);
    }
    fixed(&datatypes.table, REC_KEY(null), 1);
    for (int k = 0; k < (int)(sizeof datatype / sizeof *datatype); k++) {
        fixed_datatype(datatype[k], 2 + k);
    }
    for (int k = 0; k < (int)(sizeof pair / sizeof *pair); k++) {
        fixed_datatype(pair[k], 22 + k);
    }
    for (int k = 0; k < (int)(sizeof op / sizeof *op); k++) {
        fixed(&ops, REC_KEY(op[k]), 1 + k);
    }
}

unsigned rec_comm(MPI_Comm comm) { return number_of(&comms, REC_KEY(comm), 0); }
unsigned rec_group(MPI_Group group) { return number_of(&groups, REC_KEY(group), 0); }

unsigned rec_datatype(MPI_Datatype datatype) {
    struct entry *entry = rec_table_find(&datatypes.table, REC_KEY(datatype));
    return entry != NULL ? (unsigned)entry->number : number_of(&datatypes, REC_KEY(datatype), size_of(datatype));
}

unsigned rec_datatype_of_size(int32_t size) {
    /* No handle has this key: addresses of programs and numbers of handles are below it. */
    return number_of(&datatypes, UINT64_C(1) << 63 | (uint64_t)size, size);
}

void rec_comm_is_world(MPI_Comm comm) { fixed(&comms.table, REC_KEY(comm), 2); }

unsigned rec_op(MPI_Op op) {
    struct entry *entry = rec_table_find(&ops, REC_KEY(op));
    return entry != NULL ? (unsigned)entry->number : OP_USER;
}

void rec_forget_comm(MPI_Comm comm) {
    struct entry *entry = rec_table_find(&comms.table, REC_KEY(comm));
    if (entry != NULL && comm != MPI_COMM_NULL && comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) {
        rec_table_remove(&comms.table, entry);
    }
}
void rec_forget_group(MPI_Group group) { forget(&groups, REC_KEY(group)); }
void rec_forget_datatype(MPI_Datatype datatype) { forget(&datatypes, REC_KEY(datatype)); }

void rec_put_datatype_sizes(void) {
    int count = datatypes.sizes == NULL ? 0 : datatypes.next;
    rec_put_i32s(datatypes.sizes, count);
}

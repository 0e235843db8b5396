/* Two arrays searched from the front, as an engine in a shared library:
 *
 *   cc -shared -fPIC -O2 engine.c $(pkg-config --cflags dpamatch) -o libarrays.so
 *   dpamatch-papers compare search --engine ./libarrays.so */
#include <dpamatch_engine.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint64_t id;
    dpamatch_key key;
} entry;

typedef struct {
    entry *at;
    size_t length, room;
} queue;

typedef struct {
    queue posted, unexpected;
} engine;

/* Either side may have a wildcard. */
static bool fits(const dpamatch_key *a, const dpamatch_key *b) {
    return a->comm == b->comm && (a->source == b->source || a->source == -1 || b->source == -1) &&
           (a->tag == b->tag || a->tag == -1 || b->tag == -1);
}

static void keep(queue *q, uint64_t id, const dpamatch_key *key) {
    if (q->length == q->room) {
        q->room = q->room ? 2 * q->room : 16;
        q->at = realloc(q->at, q->room * sizeof *q->at);
        if (q->at == NULL)
            abort();
    }
    q->at[q->length++] = (entry){id, *key};
}

static void drop(queue *q, size_t i) {
    q->length--;
    memmove(q->at + i, q->at + i + 1, (q->length - i) * sizeof *q->at);
}

static bool search(queue *q, const dpamatch_key *key, dpamatch_found *found, bool take) {
    for (size_t i = 0; i < q->length; i++) {
        found->compares++;
        if (fits(&q->at[i].key, key)) {
            found->id = q->at[i].id;
            if (take)
                drop(q, i);
            return true;
        }
    }
    return false;
}

static void *create(const dpamatch_sizes *sizes) {
    (void)sizes;
    return calloc(1, sizeof(engine));
}

static void destroy(void *e) {
    free(((engine *)e)->posted.at);
    free(((engine *)e)->unexpected.at);
    free(e);
}

static bool post(void *e, uint64_t id, const dpamatch_key *key, dpamatch_found *found) {
    if (search(&((engine *)e)->unexpected, key, found, true))
        return true;
    keep(&((engine *)e)->posted, id, key);
    return false;
}

static bool arrive(void *e, uint64_t id, const dpamatch_key *key, dpamatch_found *found) {
    if (search(&((engine *)e)->posted, key, found, true))
        return true;
    keep(&((engine *)e)->unexpected, id, key);
    return false;
}

static bool cancel(void *e, uint64_t id) {
    queue *q = &((engine *)e)->posted;
    for (size_t i = 0; i < q->length; i++)
        if (q->at[i].id == id) {
            drop(q, i);
            return true;
        }
    return false;
}

static bool probe(void *e, const dpamatch_key *key, dpamatch_found *found) {
    return search(&((engine *)e)->unexpected, key, found, false);
}

static bool mprobe(void *e, const dpamatch_key *key, dpamatch_found *found) {
    return search(&((engine *)e)->unexpected, key, found, true);
}

static bool is_empty(void *e, uint32_t comm) {
    const queue *queues[] = {&((engine *)e)->posted, &((engine *)e)->unexpected};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < queues[k]->length; i++)
            if (queues[k]->at[i].key.comm == comm)
                return false;
    return true;
}

static size_t ids(const queue *q, uint64_t *into, size_t room) {
    for (size_t i = 0; i < q->length && i < room; i++)
        into[i] = q->at[i].id;
    return q->length;
}

static size_t posted(void *e, uint64_t *into, size_t room) {
    return ids(&((engine *)e)->posted, into, room);
}

static size_t unexpected(void *e, uint64_t *into, size_t room) {
    return ids(&((engine *)e)->unexpected, into, room);
}

static uint64_t bytes(void *e) {
    return (((engine *)e)->posted.room + ((engine *)e)->unexpected.room) * sizeof(entry);
}

const dpamatch_engine_table *dpamatch_engine(void) {
    static const dpamatch_engine_table table = {
        .abi = DPAMATCH_ENGINE_ABI,
        .name = "arrays",
        .summary = "two arrays searched from the front, in C",
        .create = create,
        .destroy = destroy,
        .post = post,
        .arrive = arrive,
        .cancel = cancel,
        .probe = probe,
        .mprobe = mprobe,
        .free_comm = is_empty,
        .is_empty = is_empty,
        .posted = posted,
        .unexpected = unexpected,
        .bytes = bytes,
    };
    return &table;
}

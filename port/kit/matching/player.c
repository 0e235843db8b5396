/* Plays a recorded stream as a host with its wire, and writes the outcomes. docs/port.md,
 * Conformance, has the format of both files. What the card forwards is matched here. */
#include "player.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NOBODY UINT64_MAX
/* Seconds without progress after which the card counts as dead. */
#define PATIENCE 60

enum { POST, ARRIVE, CANCEL, PROBE, MATCHED_PROBE };                        /* operations */
enum { MATCHED, PROBED, MPROBED, CANCELLED, TOO_LATE, POSTED, UNEXPECTED }; /* outcomes */

static const struct player *card;
static const struct operation *operations;
static uint64_t count;
static FILE *out;

/* Indexed by request, the operation's place in the stream. */
static uint8_t *open_requests;
/* Indexed by arrival number: the operation's place; whether a receive or matched probe took it. */
static uint64_t *sent;
static uint8_t *taken;
static uint64_t arrivals, commands, completions;
/* Commands that stamps count. */
static uint64_t counted;
/* Cancels without an answer, in order; names of their receives. */
static uint64_t *cancels, first_cancel, last_cancel;
static uint64_t probes_open, creates_open;
/* The card's entries that matched probes took and that the host must give back. */
static uint32_t *discards;
static uint64_t first_discard, last_discard;
static time_t last_progress;

/* Forwarded receives, by request, and forwarded messages, by arrival number: oldest first. */
static uint64_t *held_receives, *held_messages;
static uint64_t receives_held, messages_held;
static struct message {
    struct dpamatch_forwarded entry;
    uint8_t *bytes; /* or NULL: at the sender */
} *messages;

void fail(const char *what)
{
    fprintf(stderr, "host: %s\n", what);
    exit(1);
}

static struct dpamatch_slot *slot(const struct dpamatch_ring *ring, uint64_t position)
{
    return (struct dpamatch_slot *)ring->slots + (position & (ring->depth - 1));
}

static uint64_t owner(const struct dpamatch_ring *ring, uint64_t position)
{
    return (position & ring->depth) == 0;
}

static uint64_t head(const struct dpamatch_ring *ring)
{
    return __atomic_load_n((uint64_t *)ring->head, __ATOMIC_ACQUIRE);
}

/* Publishes the written entry. */
static void hand_over(const struct dpamatch_ring *ring, uint64_t position, uint64_t stamp)
{
    uint64_t state = stamp << 1 | owner(ring, position);
    __atomic_store_n(&slot(ring, position)->state, state, __ATOMIC_RELEASE);
}

void *calloc_or_fail(uint64_t number, size_t bytes)
{
    void *range = calloc(number + 1, bytes);
    if (!range)
        fail("no memory");
    return range;
}

static void note(uint64_t what, uint64_t first, uint64_t second)
{
    const uint64_t words[3] = {what, first, second};
    if (fwrite(words, sizeof words, 1, out) != 1)
        fail("cannot write the outcomes");
}

/* 0: no room now. */
static int push(const struct dpamatch_command *command, uint64_t stamp)
{
    if (commands - head(&card->commands) >= card->commands.depth)
        return 0;
    slot(&card->commands, commands)->entry.command = *command;
    hand_over(&card->commands, commands++, stamp);
    last_progress = time(NULL);
    return 1;
}

static int issue(const struct dpamatch_command *command)
{
    int issued = push(command, arrivals);
    counted += (uint64_t)issued;
    return issued;
}

static struct dpamatch_target target_of(const struct operation *operation)
{
    struct dpamatch_target target = {.class_ = 0};
    if (operation->source == ANY)
        target.class_ |= 1;
    else
        target.source = (uint32_t)operation->source;
    if (operation->tag == ANY)
        target.class_ |= 2;
    else
        target.tag = (uint32_t)operation->tag;
    const uint32_t hashes[4] = {dpamatch_hash_both(target.source, target.tag),
                                dpamatch_mix(target.tag), dpamatch_mix(target.source), 0};
    target.hash = hashes[target.class_];
    return target;
}

static uint64_t buffer_of(uint64_t request)
{
    return card->buffers + request * BYTES_MOST;
}

static uint32_t cut(uint64_t bytes)
{
    return bytes < BYTES_MOST ? (uint32_t)bytes : BYTES_MOST;
}

static void payload_of(uint64_t name, uint8_t bytes[BYTES_MOST])
{
    for (uint32_t i = 0; i < BYTES_MOST; i++)
        bytes[i] = (uint8_t)(name >> i % 4 * 8) ^ (uint8_t)(37 * i);
}

static int post(uint64_t request)
{
    const struct operation *operation = &operations[request];
    const struct dpamatch_command command = {
        .what = DPAMATCH_POST, .request = request, .comm = (uint32_t)operation->comm,
        .target = target_of(operation), .buffer = buffer_of(request),
        .capacity = cut(operation->bytes),
    };
    if (!issue(&command))
        return 0;
    open_requests[request] = 1;
    return 1;
}

static int send_message(uint64_t place)
{
    const struct operation *operation = &operations[place];
    uint8_t bytes[BYTES_MOST];
    struct dpamatch_entry entry = {
        .comm = (uint32_t)operation->comm, .source = (uint32_t)operation->source,
        .tag = (uint32_t)operation->tag, .length = cut(operation->bytes), .has_hashes = 1,
    };
    entry.hash_both = dpamatch_hash_both(entry.source, entry.tag);
    entry.hash_tag = dpamatch_mix(entry.tag);
    entry.hash_source = dpamatch_mix(entry.source);
    payload_of(operation->name, bytes);
    if (!card->send(arrivals, &entry, bytes, counted))
        return 0;
    last_progress = time(NULL);
    sent[arrivals++] = place;
    return 1;
}

/* The living receive with this name, if any. */
static uint64_t receive_named(uint64_t name, uint64_t before)
{
    while (before-- > 0)
        if (operations[before].what == POST && operations[before].name == name)
            return open_requests[before] ? before : NOBODY;
    return NOBODY;
}

/* `request` NOBODY: the answer comes after the answers to all earlier commands. */
static int cancel(uint64_t request, uint64_t name)
{
    struct dpamatch_command command = {.what = DPAMATCH_CANCEL, .request = request};
    if (request == NOBODY) {
        command.comm = UINT32_MAX;
        command.target.class_ = 3;
    } else {
        command.comm = (uint32_t)operations[request].comm;
        command.target = target_of(&operations[request]);
    }
    if (!issue(&command))
        return 0;
    cancels[last_cancel++] = name;
    return 1;
}

static int probe(uint64_t request)
{
    const struct operation *operation = &operations[request];
    const struct dpamatch_command command = {
        .what = DPAMATCH_PROBE, .request = request, .comm = (uint32_t)operation->comm,
        .target = target_of(operation), .take = operation->what == MATCHED_PROBE,
    };
    if (!issue(&command))
        return 0;
    probes_open++;
    return 1;
}

static uint64_t name_of_arrival(uint64_t arrival)
{
    if (arrival >= arrivals)
        fail("the card tells of a message that was not sent");
    return operations[sent[arrival]].name;
}

/* A receive has its message. */
static void matched(uint64_t request, uint64_t arrival, uint32_t length)
{
    uint8_t right[BYTES_MOST];
    uint32_t most = cut(operations[request].bytes);
    if (arrival >= arrivals || !open_requests[request] || taken[arrival])
        fail("a receive or message was matched twice");
    open_requests[request] = 0;
    taken[arrival] = 1;
    payload_of(name_of_arrival(arrival), right);
    if (length != cut(operations[sent[arrival]].bytes) ||
        memcmp((void *)buffer_of(request), right, length < most ? length : most) != 0)
        fail("a message was delivered with other bytes");
    note(MATCHED, operations[request].name, name_of_arrival(arrival));
}

/* Software matching of what the card forwards. */

static void drop(uint64_t *list, uint64_t *length, uint64_t place)
{
    memmove(list + place, list + place + 1, (--*length - place) * sizeof *list);
}

static int fits(uint64_t request, const struct dpamatch_forwarded *message)
{
    const struct operation *operation = &operations[request];
    return operation->comm == message->comm &&
           (operation->source == ANY || operation->source == message->source) &&
           (operation->tag == ANY || operation->tag == message->tag);
}

static void deliver(uint64_t request, uint64_t arrival)
{
    struct message *message = &messages[arrival];
    uint32_t length = message->entry.length, most = cut(operations[request].bytes);
    void *target = (void *)buffer_of(request);
    length = length < most ? length : most;
    if (message->bytes)
        memcpy(target, message->bytes, length);
    else
        card->read(message->entry.payload, target, length);
    free(message->bytes);
    matched(request, arrival, message->entry.length);
}

/* The place of the oldest forwarded message that fits. */
static uint64_t find_message(uint64_t request)
{
    for (uint64_t place = 0; place < messages_held; place++)
        if (fits(request, &messages[held_messages[place]].entry))
            return place;
    return NOBODY;
}

static void post_forwarded(uint64_t request)
{
    uint64_t place = find_message(request);
    if (place == NOBODY) {
        held_receives[receives_held++] = request;
        return;
    }
    uint64_t arrival = held_messages[place];
    drop(held_messages, &messages_held, place);
    deliver(request, arrival);
}

static void arrival_forwarded(const struct dpamatch_forwarded *entry, uint64_t position)
{
    if (entry->arrival >= arrivals)
        fail("the card forwards a message that was not sent");
    if (entry->length != cut(operations[sent[entry->arrival]].bytes) ||
        (entry->protocol == DPAMATCH_INLINE && entry->length > sizeof entry->payload))
        fail("the card forwards a message with another length");
    struct message *message = &messages[entry->arrival];
    message->entry = *entry;
    if (entry->protocol != DPAMATCH_RENDEZVOUS) {
        const void *bytes = entry->protocol == DPAMATCH_INLINE ? (const void *)entry->payload :
                                                                 card->staged(position);
        message->bytes = calloc_or_fail(entry->length, 1);
        memcpy(message->bytes, bytes, entry->length);
    }
    for (uint64_t place = 0; place < receives_held; place++) {
        uint64_t request = held_receives[place];
        if (fits(request, entry)) {
            drop(held_receives, &receives_held, place);
            deliver(request, entry->arrival);
            return;
        }
    }
    held_messages[messages_held++] = entry->arrival;
}

/* Whether a forwarded receive was there to cancel. */
static int cancel_forwarded(uint64_t request)
{
    for (uint64_t place = 0; place < receives_held; place++)
        if (held_receives[place] == request) {
            drop(held_receives, &receives_held, place);
            return 1;
        }
    return 0;
}

static void probe_forwarded(uint64_t request)
{
    uint64_t place = find_message(request), name = ANY;
    int takes = operations[request].what == MATCHED_PROBE;
    probes_open--;
    if (place != NOBODY) {
        uint64_t arrival = held_messages[place];
        name = name_of_arrival(arrival);
        if (takes) {
            if (!messages[arrival].bytes)
                card->read(messages[arrival].entry.payload, NULL, 0);
            taken[arrival] = 1;
            drop(held_messages, &messages_held, place);
        }
    }
    note(takes ? MPROBED : PROBED, operations[request].name, name);
}

static void answered(uint64_t what, const struct dpamatch_completion *result)
{
    if (first_cancel == last_cancel)
        fail("an answer to a cancel that nobody asked for");
    uint64_t name = cancels[first_cancel++];
    if (what == CANCELLED)
        open_requests[result->request] = 0;
    if (name != NOBODY)
        note(what, name, 0);
}

static void take_in(const union dpamatch_any *entry, uint64_t position)
{
    const struct dpamatch_completion *result = &entry->completion;
    uint64_t request = result->request;
    if (result->what == DPAMATCH_ARRIVAL_FORWARDED) {
        arrival_forwarded(&entry->forwarded, position);
        return;
    }
    /* Only answers to cancels may name nobody, and an empty entry anything. */
    int of_nobody = request == NOBODY && (result->what == DPAMATCH_TOO_LATE ||
                                          result->what == DPAMATCH_CANCEL_FORWARDED);
    if (request >= count && !of_nobody && result->what != DPAMATCH_NONE)
        fail("the card tells of a request that nobody made");
    switch (result->what) {
    case DPAMATCH_NONE:
        break;
    case DPAMATCH_RECEIVED:
        matched(request, result->arrival, result->length);
        break;
    case DPAMATCH_POST_FORWARDED:
        post_forwarded(request);
        break;
    case DPAMATCH_CANCELLED:
        answered(CANCELLED, result);
        break;
    case DPAMATCH_TOO_LATE:
        answered(TOO_LATE, result);
        break;
    case DPAMATCH_CANCEL_FORWARDED:
        answered(cancel_forwarded(request) ? CANCELLED : TOO_LATE, result);
        break;
    case DPAMATCH_PROBE_FORWARDED:
        probe_forwarded(request);
        break;
    case DPAMATCH_PROBED_NONE:
        probes_open--;
        note(operations[request].what == PROBE ? PROBED : MPROBED, operations[request].name, ANY);
        break;
    case DPAMATCH_PROBED:
        probes_open--;
        note(PROBED, operations[request].name, name_of_arrival(result->arrival));
        break;
    case DPAMATCH_PROBED_TAKEN:
        probes_open--;
        note(MPROBED, operations[request].name, name_of_arrival(result->arrival));
        taken[result->arrival] = 1;
        discards[last_discard++] = result->entry;
        break;
    case DPAMATCH_CREATED:
        if (!(result->arrival & 0xff))
            fail("no tables for a communicator");
        creates_open--;
        break;
    default:
        fprintf(stderr, "host: the card told %u of request %llu\n", result->what,
                (unsigned long long)request);
        fail("nothing of that kind was asked for");
    }
}

/* Takes all available results, and gives taken entries back. */
static void collect(void)
{
    const struct dpamatch_ring *ring = &card->completions;
    uint64_t before = completions;
    for (;;) {
        struct dpamatch_slot *place = slot(ring, completions);
        if ((__atomic_load_n(&place->state, __ATOMIC_ACQUIRE) & 1) != owner(ring, completions))
            break;
        take_in(&place->entry, completions);
        completions++;
    }
    if (completions != before) {
        __atomic_store_n((uint64_t *)ring->head, completions, __ATOMIC_RELEASE);
        last_progress = time(NULL);
    }
    while (first_discard < last_discard) {
        const struct dpamatch_command command = {.what = DPAMATCH_DISCARD,
                                                 .entry = discards[first_discard]};
        if (!push(&command, 0))
            break;
        first_discard++;
    }
}

static void wait_a_little(void)
{
    collect();
    if (time(NULL) - last_progress > PATIENCE)
        fail("the card does not answer");
    card->wait();
}

static int try_one(uint64_t place)
{
    switch (operations[place].what) {
    case POST:
        return post(place);
    case ARRIVE:
        return send_message(place);
    case CANCEL:
        return cancel(receive_named(operations[place].name, place), operations[place].name);
    case PROBE:
    case MATCHED_PROBE:
        return probe(place);
    default:
        fail("no such operation");
    }
}

static void create_communicators(uint32_t bins)
{
    uint64_t comms = 1;
    for (uint64_t place = 0; place < count; place++)
        if (operations[place].what != CANCEL && operations[place].comm >= comms)
            comms = operations[place].comm + 1;
    for (uint64_t comm = 0; comm < comms; comm++) {
        const struct dpamatch_command command = {.what = DPAMATCH_CREATE, .comm = (uint32_t)comm,
                                                 .bins = bins};
        while (!issue(&command))
            wait_a_little();
        creates_open++;
    }
}

static void play(void)
{
    for (uint64_t place = 0; place < count; place++)
        while (!try_one(place))
            wait_a_little();
    while (!cancel(NOBODY, NOBODY))
        wait_a_little();
    while (first_cancel < last_cancel || probes_open || creates_open ||
           first_discard < last_discard || head(&card->arrivals) < arrivals)
        wait_a_little();
    collect();
    for (uint64_t place = 0; place < count; place++)
        if (operations[place].what == POST && open_requests[place])
            note(POSTED, operations[place].name, 0);
    for (uint64_t arrival = 0; arrival < arrivals; arrival++)
        if (!taken[arrival])
            note(UNEXPECTED, name_of_arrival(arrival), 0);
}

const struct operation *map_stream(const char *name, uint64_t *number)
{
    struct stat about;
    int file = open(name, O_RDONLY);
    if (file < 0 || fstat(file, &about) != 0)
        fail("cannot open a file");
    void *range = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (range == MAP_FAILED)
        fail("cannot map a file");
    close(file);
    *number = (uint64_t)about.st_size / sizeof(struct operation);
    return range;
}

void play_stream(const struct player *player, const struct operation *stream, uint64_t number,
                 const char *outcomes, uint32_t bins)
{
    card = player;
    operations = stream;
    count = number;
    out = fopen(outcomes, "wb");
    if (!out)
        fail("cannot write the outcomes");
    open_requests = calloc_or_fail(count, 1);
    sent = calloc_or_fail(count, sizeof *sent);
    taken = calloc_or_fail(count, 1);
    cancels = calloc_or_fail(count + 1, sizeof *cancels);
    discards = calloc_or_fail(count, sizeof *discards);
    held_receives = calloc_or_fail(count, sizeof *held_receives);
    held_messages = calloc_or_fail(count, sizeof *held_messages);
    messages = calloc_or_fail(count, sizeof *messages);
    last_progress = time(NULL);
    create_communicators(bins);
    play();
    if (fclose(out) != 0)
        fail("cannot write the outcomes");
}

int was_taken(uint64_t arrival)
{
    return taken[arrival];
}

/* The host of every program of the matching engine: plays a recorded stream.
 *
 *     matching STREAM OUTCOMES [NAME=VALUE]...
 *
 * Names: handlers, workers, receives, unexpected, bins, queue, barrier, removal, fast. Before it,
 * its includer has the static struct card `card`; after it the functions below. */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "../dpamatch_host.h"

/* Longer messages go by rendezvous. */
#define EAGER 128u
#define ARENA (64u << 20)
/* Host's memory for a stream: at most so much for an operation. */
#define OPERATION 48u
#define ARENA_OF_OPERATION 2048u
/* Messages that are leaving, and the bytes of one. */
#define LOG_WIRE 6
#define WIRE (1u << LOG_WIRE)
/* Seconds without progress after which the card counts as dead. */
#define PATIENCE 60

_Static_assert(EAGER + sizeof(struct trailer) <= SLOT_OF_MESSAGE, "a message fits");

/* The host's memory, one region: every part begins with a line. */
static struct memory {
	uint64_t *asleep;
	uint8_t *outgoing;
	uint64_t *over; /* by arrival: the card has read it */
	void *arena; /* of the library */
} memory;

static const dpamatch_config sizes = {
	.handlers = 8, .workers = 1, .receives = 4096, .unexpected = 4096, .bins = 64,
	.communicators = 64, .queue = 128, .buffer_bytes = EAGER + sizeof(struct trailer),
	.fast_path = 3, .stamped = 1,
};
static uint64_t sent, left, released, rendezvous;
static uint64_t *keys; /* by arrival: of a rendezvous message */
static uint32_t region_key; /* with which the card reads the host's memory */
static dpamatch_host *host;

/* Opens what comes before memory; makes the region, of which it returns the key; then all else. */
static void open_card(void);
static uint32_t open_region(void *memory, uint64_t bytes);
static void make_card(void);
/* Sends messages before the `end`th, of which `bytes` has the lengths by place. Returns how many
 * have left. */
static uint64_t send_until(const uint32_t *bytes, uint64_t end);
static void wake_leader(void);
static int has_ended(void);
static uint64_t cycles_of_leader(void);
static void close_card(void);

static void fail(const char *what)
{
	fprintf(stderr, "host: %s\n", what);
	exit(1);
}

void dpamatch_panicked(void)
{
	fail("the library panicked");
	abort();
}

static void *part(uint8_t **next, uint64_t bytes)
{
	void *begin = *next;

	*next += (bytes + 63) / 64 * 64;
	return begin;
}

static void make_memory(dpamatch_bytes stream)
{
	uint64_t count = stream.length / OPERATION, arena = (8u << 20) + count * ARENA_OF_OPERATION;
	uint64_t bytes = arena + WIRE * SLOT_OF_MESSAGE + (count + 1) * 8 + 64 * 4;
	uint8_t *next;

	if (posix_memalign((void **)&next, 4096, bytes))
		fail("no memory");
	memset(next, 0, bytes);
	card.host.base = (uint64_t)next;
	region_key = open_region(next, bytes);
	memory.asleep = part(&next, 8);
	memory.outgoing = part(&next, WIRE * SLOT_OF_MESSAGE);
	memory.over = part(&next, (count + 1) * 8);
	memory.arena = part(&next, arena);
	card.asleep = (uint64_t)memory.asleep;
	keys = calloc(count + 1, sizeof(*keys));
	if (!keys)
		fail("no memory");
	host = dpamatch_host_new(memory.arena, arena, stream, card.config.queue, EAGER,
				 card.config.unexpected);
	if (!host)
		fail("no stream, or no rings of that size");
	dpamatch_host_map(host, &card.far);
}

/* ordering: one release, one acquire: a slot's state and a ring's head publish what was written before. */
static int is_ready(const struct dpamatch_ring *ring, uint64_t position)
{
	const struct dpamatch_slot *slot = (const struct dpamatch_slot *)ring->slots;
	uint64_t state = __atomic_load_n(&slot[position & (ring->depth - 1)].state, __ATOMIC_ACQUIRE);

	return (state & 1) == ((position & ring->depth) == 0);
}

/* ordering: as in `is_ready`. */
static uint64_t head(const struct dpamatch_ring *ring)
{
	return __atomic_load_n((uint64_t *)ring->head, __ATOMIC_ACQUIRE);
}

/* Lays the library's next message down: its bytes, then the trailer. Returns its length. */
static uint32_t lay_down_next(void)
{
	uint64_t place = sent & (card.far.arrivals.depth - 1), bytes;
	const struct dpamatch_slot *slot = (const struct dpamatch_slot *)card.far.arrivals.slots + place;
	const struct dpamatch_entry *entry = &slot->entry.message;
	uint8_t *message = memory.outgoing + (sent & (WIRE - 1)) * SLOT_OF_MESSAGE;
	struct trailer trailer;

	memcpy(&trailer, entry, offsetof(struct trailer, stamp));
	trailer.stamp = slot->state >> 1;
	bytes = entry->length;
	if (entry->protocol == DPAMATCH_RENDEZVOUS) {
		uint64_t words[3] = { 0, 0, region_key | sent << 32 };

		memcpy(words, entry->payload, sizeof(*words));
		words[1] = dpamatch_host_region(host, words[0]);
		keys[sent] = words[0];
		rendezvous++;
		bytes = sizeof(words);
		memcpy(message, words, bytes);
	} else if (entry->protocol == DPAMATCH_BUFFERED) {
		const struct dpamatch_buffers *bounce = &card.far.bounce;

		memcpy(message, (const void *)(bounce->first + place * bounce->stride), bytes);
	} else {
		memcpy(message, entry->payload, bytes);
	}
	bytes = (bytes + 7) / 8 * 8;
	memcpy(message + bytes, &trailer, sizeof(trailer));
	return (uint32_t)(bytes + sizeof(trailer));
}

static void watch(void)
{
	static uint64_t seen = UINT64_MAX;
	static time_t since;
	uint64_t now = sent + head(&card.far.commands) + head(&card.far.arrivals) +
		       head(&card.far.completions);

	if (now != seen) {
		seen = now;
		since = time(NULL);
	}
	if (time(NULL) - since > PATIENCE)
		fail("the card does not answer");
	if (has_ended())
		fail("a process has ended");
}

/* Sends messages, and wakes the leader for a command or for room for results. */
/* ordering: the exchange finds the flag, or the leader, which sets it and looks once more, the command. */
static void work(void)
{
	static uint32_t bytes[WIRE];

	for (; sent - left < WIRE && is_ready(&card.far.arrivals, sent); sent++)
		bytes[sent & (WIRE - 1)] = lay_down_next();
	if (sent != left)
		left = send_until(bytes, sent);
	if ((is_ready(&card.far.commands, head(&card.far.commands)) ||
	     head(&card.far.completions) != released) &&
	    __atomic_exchange_n(memory.asleep, 0, __ATOMIC_SEQ_CST)) {
		released = head(&card.far.completions);
		wake_leader();
	}
	watch();
	usleep(20);
}

static dpamatch_bytes map_file(const char *name)
{
	struct stat about;
	int file = open(name, O_RDONLY);

	if (file < 0 || fstat(file, &about) != 0)
		fail("cannot open a file");
	dpamatch_bytes bytes = { .length = (size_t)about.st_size };
	bytes.start = mmap(NULL, bytes.length, PROT_READ, MAP_SHARED, file, 0);
	if (bytes.start == MAP_FAILED)
		fail("cannot map a file");
	close(file);
	return bytes;
}

static void write_file(const char *name, dpamatch_bytes bytes)
{
	FILE *out = fopen(name, "wb");

	if (!out || fwrite(bytes.start, 1, bytes.length, out) != bytes.length || fclose(out) != 0)
		fail("cannot write the outcomes");
}

static void read_option(const char *word)
{
	static const struct {
		const char *name;
		uint32_t *value;
	} options[] = {
		{ "handlers", &card.config.handlers }, { "workers", &card.config.workers },
		{ "receives", &card.config.receives }, { "unexpected", &card.config.unexpected },
		{ "bins", &card.config.bins },	       { "queue", &card.config.queue },
		{ "barrier", &card.config.barrier },   { "removal", &card.config.removal },
		{ "fast", &card.config.fast_path },
	};
	for (size_t at = 0; at < sizeof(options) / sizeof(*options); at++) {
		size_t length = strlen(options[at].name);
		if (!strncmp(word, options[at].name, length) && word[length] == '=') {
			*options[at].value = (uint32_t)strtoul(word + length + 1, NULL, 10);
			return;
		}
	}
	fail("an unknown option");
}

int main(int count, char **words)
{
	if (count < 3)
		fail("use: matching STREAM OUTCOMES [NAME=VALUE]...");
	dpamatch_bytes stream = map_file(words[1]);
	card.config = sizes;
	for (int at = 3; at < count; at++)
		read_option(words[at]);
	if (card.config.workers == 0 || card.config.workers > WORKERS_MOST ||
	    card.config.queue == 0 || (card.config.queue & (card.config.queue - 1)))
		fail("1 to 16 workers, and a queue whose depth is a power of two");
	open_card();
	make_memory(stream);
	make_card();
	dpamatch_bytes error = dpamatch_host_play(host, card.config.bins, work);
	if (error.length) {
		fprintf(stderr, "host: %.*s\n", (int)error.length, (const char *)error.start);
		return 1;
	}
	write_file(words[2], dpamatch_host_outcomes(host));
	/* Each rendezvous message that was taken, and no other, is over. */
	for (uint64_t arrival = 0; arrival < sent; arrival++) {
		if (keys[arrival] && (memory.over[arrival] || !dpamatch_host_region(host, keys[arrival])) !=
					     dpamatch_host_was_taken(host, arrival))
			fail("a rendezvous message is over too early or not at all");
	}
	printf("%lu messages, %lu of them by rendezvous\ncycles of the leader: %lu\n", sent, rendezvous,
	       cycles_of_leader());
	close_card();
	return 0;
}

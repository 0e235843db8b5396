/* Host and wire as a separate program: it shares the memory of a machine that runs the card's side
 * (`ends=bus` of port/firmware/).
 *
 *     host MEMORY STREAM OUTCOMES BINS
 *
 * Messages are cut to 24 bytes, which travel in their entries. */
#include "player.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds after which a card that does not start counts as dead. */
#define PATIENCE 60

static uint8_t *memory;
static struct dpamatch_bus *bus;

static void *at(uint64_t address)
{
    if (address - DPAMATCH_RAM_START >= DPAMATCH_RAM_BYTES)
        fail("an address outside of the card's memory");
    return memory + (address - DPAMATCH_RAM_START);
}

static int send_message(uint64_t arrival, const struct dpamatch_entry *entry, const uint8_t *bytes,
                        uint64_t stamp)
{
    if (arrival - head(&bus->arrivals) >= bus->arrivals.depth)
        return 0;
    struct dpamatch_entry *place = &slot(&bus->arrivals, arrival)->entry.message;
    *place = *entry;
    memcpy(place->payload, bytes, sizeof place->payload);
    hand_over(&bus->arrivals, arrival, stamp);
    return 1;
}

static void wait_a_little(void)
{
    sched_yield();
}

static const void *staged(uint64_t position)
{
    (void)position;
    fail("a message with 24 bytes has no staging buffer");
}

static void read_message(const uint64_t descriptor[3], void *target, uint32_t bytes)
{
    (void)descriptor, (void)target, (void)bytes;
    fail("there is no rendezvous on this bus");
}

int main(int arguments, char **words)
{
    size_t bytes, memory_bytes;
    if (arguments != 5)
        fail("use: host MEMORY STREAM OUTCOMES BINS");
    const struct operation *stream = map_file(words[2], &bytes, 0);
    memory = map_file(words[1], &memory_bytes, 1);
    if (memory_bytes < DPAMATCH_RAM_BYTES)
        fail("the card's memory is too small");
    bus = (struct dpamatch_bus *)(memory + DPAMATCH_BUS_PAGE);
    const struct player player = {bus, 24, at, send_message, wait_a_little, staged, read_message};
    time_t begun = time(NULL);
    while (__atomic_load_n(&bus->ready, __ATOMIC_ACQUIRE) != DPAMATCH_BUS_READY) {
        if (time(NULL) - begun > PATIENCE)
            fail("the card does not start");
        usleep(1000);
    }
    play_stream(&player, stream, bytes / sizeof *stream, words[3],
                (uint32_t)strtoul(words[4], NULL, 10));
    __atomic_store_n(&bus->stop, 1, __ATOMIC_RELEASE);
    return 0;
}

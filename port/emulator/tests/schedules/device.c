/* Device part: handlers that show in what order and where they run, and what they cost. */
#include <libflexio-dev/flexio_dev.h>
#include <string.h>

#define CALL(name) __dpa_rpc__ uint64_t name(uint64_t argument)

/* Handlers under way, most of them at a time, the number of the last one that ended, whether a
   smaller number ended after a larger one, and how many have ended. */
static uint64_t inside, most, last, overtaken, over;

__dpa_global__ void takes_turns(uint64_t number)
{
	uint64_t now = __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);

	if (now > __atomic_load_n(&most, __ATOMIC_RELAXED))
		__atomic_store_n(&most, now, __ATOMIC_RELAXED);
	/* Places where a seed may choose another handler. */
	for (int at = 0; at < 9; at++)
		__dpa_thread_memory_writeback();
	__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
	if (number < __atomic_exchange_n(&last, number, __ATOMIC_RELAXED))
		__atomic_store_n(&overtaken, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&over, 1, __ATOMIC_RELAXED);
	flexio_dev_thread_reschedule();
}

CALL(ended) { return argument + __atomic_load_n(&over, __ATOMIC_RELAXED); }
CALL(at_a_time) { return argument + most; }
CALL(has_overtaken) { return argument + overtaken; }

/* Wakes as many handlers as the high half says, from the number in the low one. */
CALL(wakes)
{
	for (uint64_t count = argument >> 32; count; count--)
		flexio_dev_event_handler_activate((uint32_t)argument++);
	return 0;
}

/* The host thread that runs this call. */
CALL(host_thread)
{
	extern uint64_t pthread_self(void);

	return argument + pthread_self();
}

__dpa_global__ void counts(uint64_t argument)
{
	__atomic_fetch_add((uint64_t *)argument, 1, __ATOMIC_RELEASE);
	flexio_dev_thread_reschedule();
}

CALL(word) { return __atomic_load_n((uint64_t *)argument, __ATOMIC_ACQUIRE); }

/* Waits for memory, unseen by the emulator: it never yields. */
__attribute__((no_sanitize("thread"))) __dpa_global__ void spins(uint64_t argument)
{
	volatile uint64_t *words = (volatile uint64_t *)argument;

	while (!words[0])
		;
	words[1] = words[0] + 1;
	flexio_dev_thread_reschedule();
}

/* The first level has 16 lines. Reads 17, the oldest again, and the third, which is there; writes
   the second; reads the third again, which is there only since it was read before; and copies from
   the newest of the 17 and a new one to the oldest. */
__dpa_global__ void reads_lines(uint64_t argument)
{
	volatile uint64_t *words = (volatile uint64_t *)argument;

	for (int line = 0; line < 17; line++)
		(void)words[8 * line];
	(void)words[0];
	(void)words[8 * 2];
	words[8 * 1 + 1]++;
	(void)words[8 * 2];
	memcpy((void *)argument, (void *)(argument + 17 * 64 - 1), 2);
	flexio_dev_thread_reschedule();
}

CALL(cycles_of_a_read)
{
	uint64_t before = __dpa_thread_cycles();

	(void)*(volatile uint64_t *)argument;
	return __dpa_thread_cycles() - before;
}

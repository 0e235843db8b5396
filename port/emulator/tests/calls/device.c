/* Device part: the calls of the device's interface, each as a function that a host calls. */
#include <libflexio-dev/flexio_dev.h>
#include <libflexio-dev/flexio_dev_queue_access.h>
#include <string.h>

#define CALL(name, ...) __dpa_rpc__ uint64_t name(__VA_ARGS__)

CALL(digits, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
     uint64_t h, uint64_t i, uint64_t j, uint64_t k)
{
	return a << 40 | b << 36 | c << 32 | d << 28 | e << 24 | f << 20 | g << 16 | h << 12 |
	       i << 8 | j << 4 | k;
}

CALL(ring, uint64_t index, uint64_t queue) { return flexio_dev_qp_sq_ring_db(index, queue), 0; }
CALL(arm, uint64_t index, uint64_t queue) { return flexio_dev_cq_arm(index, queue), 0; }
CALL(zero, uint64_t queue) { return flexio_dev_msix_send(queue), 0; }
CALL(event, uint64_t index, uint64_t queue) { return flexio_dev_eq_update_ci(index, queue), 0; }
CALL(activate, uint64_t id) { return flexio_dev_event_handler_activate(id), 0; }
CALL(end_process, uint64_t code) { return flexio_dev_error(code), 0; }

/* Steps of one thread, four big-endian words each. */
CALL(steps, uint64_t at)
{
	uint64_t answer = 0;

	for (const uint64_t *step = (const uint64_t *)at; *step; step += 4) {
		uint64_t a = be64_to_cpu(step[1]), b = be64_to_cpu(step[2]), c = be64_to_cpu(step[3]);

		switch (be64_to_cpu(step[0])) {
		case 1: /* reads */
			answer = b == 1 ? *(volatile uint8_t *)a : b == 2 ? *(volatile uint16_t *)a :
				 b == 4 ? *(volatile uint32_t *)a : *(volatile uint64_t *)a;
			break;
		case 2: /* writes c bytes, each as far from the last as b */
			for (; c--; a += b)
				*(volatile uint8_t *)a = 0x2b;
			break;
		case 3: dpa_emulator_fence(a, b, c); break;
		case 4: answer = flexio_dev_window_config(a, b, c); break;
		case 5: flexio_dev_window_ptr_acquire(a, b, &answer); break;
		/* The host writes: nobody sees this library's accesses. */
		case 6: strcpy((char *)a, "!"); break;
		case 7: flexio_dev_qp_sq_ring_db(a, b); break;
		case 8: memcpy((void *)a, (void *)b, c); break;
		/* This step's kind, and zeros. */
		case 9: answer = flexio_dev_window_copy_to_host(a, b, (uint8_t *)step + 7, c); break;
		case 10: flexio_dev_cq_arm(a, b); break;
		case 11: flexio_dev_msix_send(a); break;
		}
	}
	return answer;
}

CALL(load, uint64_t address) { return *(volatile uint64_t *)address; }
CALL(copy, uint64_t to, uint64_t from, uint64_t bytes)
{
	return (uint64_t)memcpy((void *)to, (void *)from, bytes);
}
CALL(length, uint64_t text) { return strlen((const char *)text); }
CALL(divide, uint64_t number, uint64_t by) { return (uint32_t)number / (uint32_t)by; }
CALL(trap, uint64_t unused) { __builtin_trap(); return unused; }

CALL(task, uint64_t number)
{
	return flexio_dev_msg(0, FLEXIO_MSG_DEV_ERROR, "task %lu\n", number);
}

/* Handlers that are under way, most of them, the last one that ended, and how many have. */
static uint64_t inside, most, last, overtaken, over;

__dpa_global__ void turns(uint64_t number)
{
	uint64_t now = __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);

	if (now > __atomic_load_n(&most, __ATOMIC_RELAXED))
		__atomic_store_n(&most, now, __ATOMIC_RELAXED);
	for (int at = 0; at < 9; at++)
		__dpa_thread_memory_writeback();
	__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
	if (number < __atomic_exchange_n(&last, number, __ATOMIC_RELAXED))
		__atomic_store_n(&overtaken, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&over, 1, __ATOMIC_RELAXED);
	flexio_dev_thread_reschedule();
}

CALL(wake, uint64_t first, uint64_t count)
{
	while (count--)
		flexio_dev_event_handler_activate(first++);
	return 0;
}

/* Whether the last call of this function ran on this host thread. */
CALL(stays, uint64_t unused)
{
	extern uint64_t pthread_self(void);
	static uint64_t before;
	uint64_t now = pthread_self(), same = now == before;

	before = now;
	return unused | same;
}

CALL(together, uint64_t unused) { return unused | over << 8 | (most > 1) << 4 | overtaken; }

CALL(say, uint64_t stream, uint64_t level, uint64_t number)
{
	if (stream == 255)
		return flexio_dev_msg_broadcast(level, "%lu to all\n", number);
	return flexio_dev_msg(stream, level, "%lu to %lu\n", number, stream);
}

__dpa_global__ void last_words(uint64_t code)
{
	for (int at = 0; at < 80; at++) /* longer than a thread may go on without a turn of others */
		__dpa_thread_memory_writeback();
	flexio_dev_print("last words, code %lu\n", code);
}

/* A handler that ends its activation as its host says, the next one by itself. */
struct handler {
	uint64_t begun, ended, how, local, id, look;
};

__dpa_global__ void handle(uint64_t argument)
{
	struct handler *handler = (void *)argument;
	uint64_t how = handler->how;

	handler->how = 0;
	handler->local = flexio_dev_get_thread_local_storage();
	handler->id = flexio_dev_get_thread_id();
	if (handler->look)
		handler->look += *(volatile uint8_t *)handler->look;
	__atomic_fetch_add(&handler->begun, 1, __ATOMIC_RELEASE);
	while (how == 6 && !*(volatile uint64_t *)&handler->how)
		;
	if (how == 9)
		return;
	dpa_emulator_end(how);
	handler->ended++;
	flexio_dev_thread_reschedule();
}

/* Waits for memory, unseen by the emulator. */
__attribute__((no_sanitize("thread"))) __dpa_global__ void spins(uint64_t argument)
{
	volatile uint64_t *words = (volatile uint64_t *)argument;

	while (!words[0])
		;
	words[1] = words[0] + 1;
	flexio_dev_thread_reschedule();
}

/* A line more than the first level of a card's cache holds, then the two oldest, of which the second
   counts activations. The copy reads the newest line of the first pass and a new one, and writes a
   line that is there. */
__dpa_global__ void reads(uint64_t argument)
{
	volatile uint64_t *words = (volatile uint64_t *)argument;

	for (int line = 0; line < 17; line++)
		(void)words[8 * line];
	(void)words[0];
	words[8 * 1 + 1]++;
	memcpy((void *)argument, (void *)(argument + 17 * 64 - 1), 2);
	flexio_dev_thread_reschedule();
}

CALL(cycles, uint64_t argument)
{
	uint64_t before = __dpa_thread_cycles();

	(void)*(volatile uint64_t *)argument;
	return __dpa_thread_cycles() - before;
}

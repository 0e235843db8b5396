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
CALL(length, uint64_t text) { return strlen((const char *)text); }

CALL(task, uint64_t number)
{
	return flexio_dev_msg(0, FLEXIO_MSG_DEV_ERROR, "task %lu\n", number);
}

CALL(wake, uint64_t first, uint64_t count)
{
	while (count--)
		flexio_dev_event_handler_activate(first++);
	return 0;
}

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

/* Calls the function that the command line names. */
#include "common.h"
#include "../../examples/counter/queues/host.h"
#include <pthread.h>
#include <sys/stat.h>

extern flexio_func_t wake, waits, keeps, reschedules, finishes, all_is_well, nothing;
extern struct flexio_app *faults;

static void *counts(void *count)
{
	for (;; usleep(1000))
		__atomic_fetch_add((uint64_t *)count, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Calls and handlers take one worker in turn: handlers that have something to do have done it, and
 * the wire has brought what it has. */
static void settle(uint64_t argument)
{
	uint64_t result;

	for (int turn = 0; turn < 100; turn++)
		CHECK(flexio_process_call(process, &nothing, &result, argument));
}

/* Waits until the emulator has said something. */
static void await_line(void)
{
	const char *log = getenv("DPA_LOG");
	struct stat about = { 0 };

	for (int wait = 0; log && (stat(log, &about) || !about.st_size); wait++, usleep(10000))
		CHECK(wait == 6000);
}

int main(int count, char **words)
{
	static uint64_t memory[2][64];
	struct flexio_event_handler_attr handler_attr = { 0 };
	struct flexio_event_handler *handler;
	struct queue bell;
	struct queues_of_host queues = { 0 };
	struct steering steering;
	struct ibv_mr *first, *second;
	struct ibv_pd *pd;
	struct flexio_window *window;
	struct shared shared = { .host = (uint64_t)memory[0], .other = (uint64_t)memory[1] };
	uint64_t argument, result;
	pthread_t thread;
	flexio_func_t *function;

	CHECK(count != 2);
	open_process(faults);
	int keeps_buffers = !strcmp(words[1], "keeps");
	int reschedule = !strcmp(words[1], "reschedules");
	int finish = !strcmp(words[1], "finishes");
	pd = flexio_process_get_pd(process);
	first = ibv_reg_mr(pd, memory[0], BLOCK, IBV_ACCESS_LOCAL_WRITE);
	second = ibv_reg_mr(pd, memory[1], BLOCK, IBV_ACCESS_LOCAL_WRITE);
	CHECK(!first || !second);
	shared.host_key = first->lkey;
	shared.other_key = second->lkey;
	CHECK(flexio_window_create(process, pd, &window));
	shared.window = flexio_window_get_id(window);
	shared.block = device_memory(process, BLOCK);
	shared.key = flexio_mkey_get_id(make_key(process, pd, shared.block, BLOCK));
	handler_attr.host_stub_func = reschedule ? reschedules : finish ? finishes : waits;
	CHECK(flexio_event_handler_create(process, &handler_attr, &handler));
	make_queues(keeps_buffers ? keeps : NULL, &queues, &shared.queues);
	make_cq(process, LOG_DEPTH, handler, &bell);
	shared.bell = bell.number;
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	CHECK(flexio_event_handler_run(handler, argument));
	if (!strcmp(words[1], "stale"))
		CHECK(pthread_create(&thread, NULL, counts, memory[1]));
	if (reschedule || finish) {
		CHECK(flexio_process_call(process, &wake, &result, argument));
		settle(argument);
	} else if (strcmp(words[1], "waits") && !keeps_buffers) {
		CHECK(flexio_func_register(faults, words[1], &function));
		CHECK(flexio_process_call(process, function, &result, argument));
	}
	if (keeps_buffers) {
		CHECK(flexio_event_handler_run(queues.handler, argument));
		steer(queues.rq, &steering);
		settle(argument);
	}
	if (!strcmp(words[1], "waits")) {
		CHECK(flexio_process_call(process, &wake, &result, argument));
		await_line();
		/* The handler waits for plain memory, and yet these calls are served. */
		for (uint32_t go = 1; go <= 2; go++) {
			CHECK(flexio_process_call(process, &all_is_well, &result, argument));
			CHECK(flexio_host2dev_memcpy(process, &go, 4,
						     argument + offsetof(struct shared, go)));
		}
		settle(argument);
	}
	close_process();
	return 0;
}

/* Host part: schedules CASE prints what the case's rule is about, as `name value`. */
#include "../../examples/counter/queues/shared.h"
#include "../../examples/counter/queues/host.h"

extern struct flexio_app *schedules;
extern flexio_func_t takes_turns, ended, at_a_time, has_overtaken, wakes, host_thread, counts, word;
extern flexio_func_t spins, reads_lines, cycles_of_a_read;

static uint64_t call(flexio_func_t *function, uint64_t argument)
{
	uint64_t result;

	CHECK(flexio_process_call(process, function, &result, argument));
	return result;
}

static struct flexio_event_handler *run(flexio_func_t *function, uint64_t argument)
{
	struct flexio_event_handler_attr attr = { .host_stub_func = function };
	struct flexio_event_handler *handler;

	CHECK(flexio_event_handler_create(process, &attr, &handler));
	CHECK(flexio_event_handler_run(handler, argument));
	return handler;
}

static void wake(struct flexio_event_handler *first, uint64_t count)
{
	call(wakes, count << 32 | flexio_event_handler_get_id(first));
}

/* Calls again until the result is as wanted, for five seconds at most. */
static void await(flexio_func_t *function, uint64_t argument, uint64_t wanted)
{
	for (int wait = 0; call(function, argument) != wanted; wait++, usleep(1000))
		CHECK(wait == 5000);
}

static void turns(void)
{
	struct flexio_event_handler *first = run(takes_turns, 1);

	for (uint64_t number = 2; number <= 8; number++)
		run(takes_turns, number);
	wake(first, 8);
	await(ended, 0, 8);
	printf("at a time %lu\novertaken %lu\n", call(at_a_time, 0), call(has_overtaken, 0));
}

static void workers(void)
{
	uint64_t memory = device_memory(process, 128), threads[4];
	struct flexio_event_handler *first;

	for (int at = 0; at < 4; at++)
		threads[at] = call(host_thread, 0);
	printf("same as the last but one %d %d\n", threads[0] == threads[2], threads[1] == threads[3]);
	printf("same as the last %d\n", threads[0] == threads[1]);
	first = run(counts, memory);
	run(counts, memory + 64);
	for (uint64_t round = 1; round <= 2; round++) {
		wake(first, 2);
		await(word, memory, round);
		await(word, memory + 64, round);
	}
}

static void units(void)
{
	uint64_t memory = device_memory(process, 16), number = 41;
	struct flexio_event_handler_attr attr = { .host_stub_func = spins };
	struct flexio_event_handler *first = run(spins, memory), *other;
	long handlers = 1;

	while (!flexio_event_handler_create(process, &attr, &other))
		handlers++;
	printf("handlers %ld\n", handlers);
	wake(first, 1);
	usleep(50000);
	/* The handler spins, and calls run. */
	printf("before %lu\n", call(word, memory + 8));
	CHECK(flexio_host2dev_memcpy(process, &number, 8, memory));
	await(word, memory + 8, number + 1);
	CHECK(flexio_event_handler_destroy(first));
	printf("again %d\n", flexio_event_handler_create(process, &attr, &first));
}

static void costs(void)
{
	uint64_t memory = device_memory(process, 18 * 64);
	struct flexio_event_handler *handler = run(reads_lines, memory);

	for (uint64_t round = 1; round <= 2; round++) {
		wake(handler, 1);
		await(word, memory + 72, round);
	}
	CHECK(flexio_event_handler_destroy(handler));
	printf("cycles %lu\n", call(cycles_of_a_read, memory));
}

int main(int count, char **words)
{
	CHECK(count != 2);
	open_process(schedules);
	if (!strcmp(words[1], "turns"))
		turns();
	else if (!strcmp(words[1], "workers"))
		workers();
	else if (!strcmp(words[1], "units"))
		units();
	else if (!strcmp(words[1], "costs"))
		costs();
	else
		CHECK(1);
	close_process();
	return 0;
}

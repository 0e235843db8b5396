/* Wakes two handlers, the first ones that the command line names, and then calls a function.
     races FIRST SECOND [calls|handed|host]
   With `calls` both are calls. With `handed` the first handler wakes the second. With `host` the
   second is woken when the first has written the host's flag. */
#include "common.h"
#include "../../../examples/counter/queues/host.h"
#include <pthread.h>

extern flexio_func_t wake, finished, result, adds;
extern struct flexio_app *races;

static uint64_t call(flexio_func_t function, uint64_t argument)
{
	uint64_t result = 0;

	CHECK(flexio_process_call(process, function, &result, argument));
	return result;
}

static struct flexio_event_handler *make_handler(const char *name)
{
	struct flexio_event_handler_attr attr = { 0 };
	struct flexio_event_handler *handler;
	flexio_func_t *function;

	CHECK(flexio_func_register(races, name, &function));
	attr.host_stub_func = function;
	CHECK(flexio_event_handler_create(process, &attr, &handler));
	return handler;
}

int main(int count, char **words)
{
	static volatile uint64_t flag;
	struct flexio_event_handler *handlers[2];
	struct shared shared = { 0 };
	struct flexio_window *window;
	struct queue bells[2];
	struct ibv_mr *region;
	struct ibv_pd *pd;
	uint64_t argument;

	CHECK(count < 3);
	const char *way = count > 3 ? words[3] : "";
	open_process(races);
	pd = ibv_alloc_pd(context);
	region = ibv_reg_mr(pd, (void *)&flag, sizeof(flag), IBV_ACCESS_LOCAL_WRITE);
	CHECK(!region || flexio_window_create(process, pd, &window));
	if (!strcmp(way, "calls")) {
		CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
		call(adds, argument);
		call(adds, argument);
		printf("%lu\n", call(result, argument));
		return 0;
	}
	for (int at = 0; at < 2; at++) {
		handlers[at] = make_handler(words[1 + at]);
		make_cq(process, LOG_DEPTH, handlers[at], &bells[at]);
	}
	shared.host_flag = (uint64_t)&flag;
	shared.host_key = region->lkey;
	shared.window = flexio_window_get_id(window);
	shared.bell = bells[1].number;
	shared.other = flexio_event_handler_get_id(handlers[1]);
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	for (int at = 0; at < 2; at++)
		CHECK(flexio_event_handler_run(handlers[at], argument));
	call(wake, bells[0].number);
	usleep(30000);
	if (!strcmp(way, "host"))
		while (!flag)
			usleep(1000);
	if (strcmp(way, "handed"))
		call(wake, bells[1].number);
	/* What a call has learned from the first handler, the second must not know when it begins. */
	usleep(100000);
	for (int wait = 0; call(finished, argument) < 2; wait++) {
		CHECK(wait == 5000);
		usleep(1000);
	}
	printf("%lu\n", call(result, argument));
	return 0;
}

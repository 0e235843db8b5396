/* Host part: asleep NAME does what NAME means and prints how many completions were taken. */
#include "common.h"
#include "../../examples/counter/queues/host.h"

extern struct flexio_app *asleep;
extern flexio_func_t takes_frames, spins, waits_for_setup, takes, sleeps;
extern flexio_func_t wake, activate, set_up, stop, arm_for_it, done;

static struct state state;
static uint64_t argument;

static uint64_t call(flexio_func_t *function, uint64_t first, uint64_t second)
{
	uint64_t result;

	CHECK(flexio_process_call(process, function, &result, first, second));
	return result;
}

/* A handler with a completion queue. */
static struct flexio_event_handler *make(flexio_func_t *function, struct queue *queue)
{
	struct flexio_event_handler_attr attr = { .host_stub_func = function };
	struct flexio_event_handler *handler;

	CHECK(flexio_event_handler_create(process, &attr, &handler));
	make_cq(process, LOG_DEPTH, handler, queue);
	return handler;
}

static void run(struct flexio_event_handler *handler)
{
	state.handler = flexio_event_handler_get_id(handler);
	if (!argument)
		CHECK(flexio_copy_from_host(process, &state, sizeof(state), &argument));
	CHECK(flexio_event_handler_run(handler, argument));
}

/* Calls and handlers take one worker in turn: handlers that have something to do have done it. */
static void settle(void)
{
	for (int turn = 0; turn < 100; turn++)
		call(done, argument, 0);
}

/* Waits until as many completions were taken. */
static void await(uint64_t wanted)
{
	for (int wait = 0; call(done, argument, 0) < wanted; wait++, usleep(1000))
		CHECK(wait == 60000);
}

static void frames(flexio_func_t *function, int stops)
{
	struct queues_of_host host = { 0 };
	struct steering steering;

	make_queues(function, &host, &state.queues);
	run(host.handler);
	steer(host.rq, &steering);
	await(stops ? 300 : 16);
	if (stops)
		call(stop, argument, 0);
	settle();
	usleep(700000);
}

static int is(int count, char **words, const char *name)
{
	return count > 1 && !strcmp(words[1], name);
}

int main(int count, char **words)
{
	struct queue *queue = &state.queues.cq;

	open_process(asleep);
	if (is(count, words, "frames")) {
		frames(takes_frames, 0);
	} else if (is(count, words, "stops")) {
		frames(spins, 1);
	} else if (is(count, words, "setup")) {
		run(make(waits_for_setup, queue));
		call(wake, queue->number, 3);
		settle();
		call(set_up, argument, 0);
	} else if (is(count, words, "early")) {
		struct flexio_event_handler *handler = make(takes, queue);

		call(wake, queue->number, 3);
		run(handler);
	} else if (is(count, words, "activated-early")) {
		struct flexio_event_handler *handler = make(takes, queue);

		call(activate, flexio_event_handler_get_id(handler), 0);
		run(handler);
	} else if (is(count, words, "takes") || is(count, words, "long")) {
		run(make(takes, queue));
		call(wake, queue->number, 3);
		settle();
		call(wake, queue->number, 2);
		if (is(count, words, "long"))
			usleep(3500000);
	} else if (is(count, words, "armed-later")) {
		run(make(takes, queue));
		call(wake, queue->number, 3);
		settle();
		call(wake, queue->number, 2);
		usleep(300000);
		call(arm_for_it, argument, 0);
	} else if (is(count, words, "activated")) {
		run(make(takes, queue));
		call(wake, queue->number, 3);
		settle();
		call(activate, state.handler, 0);
		settle();
		call(wake, queue->number, 2);
	} else if (is(count, words, "bell")) {
		struct flexio_event_handler *handler = make(takes, queue);

		make_cq(process, LOG_DEPTH, handler, &state.bell);
		run(handler);
		call(wake, queue->number, 3);
		settle();
		call(wake, queue->number, 2);
	} else if (is(count, words, "shared")) {
		/* The second handler takes the completions of the first, whose queue wakes it. */
		struct queues_of_host host = { 0 };
		struct flexio_event_handler_attr attr = { .host_stub_func = spins };
		struct steering steering;
		struct flexio_event_handler *other;
		struct queue bell = { 0 };

		make_queues(sleeps, &host, &state.queues);
		CHECK(flexio_event_handler_create(process, &attr, &other));
		make_cq(process, LOG_DEPTH, other, &bell);
		run(host.handler);
		CHECK(flexio_event_handler_run(other, argument));
		call(wake, bell.number, 1);
		steer(host.rq, &steering);
		await(300);
	}
	settle();
	usleep(700000);
	printf("%lu taken\n", call(done, argument, 0));
	return 0;
}

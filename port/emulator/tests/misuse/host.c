/* Host part: misuse NAME MORE calls the device function NAME, with a number. */
#include "common.h"
#include "../../examples/counter/queues/host.h"

extern struct flexio_app *misuse;
extern flexio_func_t sleeps;

/* Queues of a process and a thread that does not consume. */
static struct flexio_event_handler *fill(struct queues *queues, struct queues_of_host *host)
{
	struct flexio_event_handler_attr attr = { .host_stub_func = sleeps };
	struct flexio_event_handler *handler;

	CHECK(flexio_event_handler_create(process, &attr, &handler));
	make_queues(NULL, host, queues);
	return handler;
}

int main(int count, char **words)
{
	struct queues_of_host host = { 0 }, other_host = { 0 };
	struct queues other = { 0 };
	struct state state = { 0 };
	struct flexio_window *window;
	struct flexio_process *first, *second;
	struct flexio_event_handler *handler;
	struct flexio_cq_attr cq_attr = { .log_cq_depth = LOG_DEPTH };
	struct flexio_cq *cq;
	struct flexio_rq *rq;
	struct ibv_pd *pd;
	flexio_func_t *function;
	uint64_t argument, result = 99;

	CHECK(count != 3);
	open_process(misuse);
	first = process;
	fill(&state.queues, &host);
	state.memory = device_memory(process, 4096);
	pd = ibv_alloc_pd(context);
	state.other_key = flexio_mkey_get_id(make_key(process, pd, state.memory, 4096));
	state.queues.key = flexio_mkey_get_id(
		make_key(process, flexio_process_get_pd(process), state.memory, 4096));
	CHECK(flexio_window_create(process, flexio_process_get_pd(process), &window));
	state.window = flexio_window_get_id(window);
	CHECK(flexio_process_create(context, misuse, NULL, &second));
	process = second;
	handler = fill(&other, &other_host);
	state.other_sq = other.sq;
	state.other_cq = other.cq;
	state.other_outbox = flexio_outbox_get_id(flexio_process_get_outbox(second));
	process = first;
	if (!strcmp(words[1], "thread_of_other")) {
		cq_attr.thread = flexio_event_handler_get_thread(handler);
		cq_attr.cq_ring_qmem.daddr = device_memory(process, DEPTH * 64);
		cq_attr.cq_dbr_daddr = device_memory(process, 8);
		printf("status %d\n", flexio_cq_create(process, NULL, &cq_attr, &cq));
	} else if (!strcmp(words[1], "queue_at_other")) {
		printf("status %d\n",
		       flexio_rq_create(process, NULL, other.cq.number, &host.attr, &rq));
		host.attr.wq_ring_qmem.daddr = state.queues.rq_ring;
		printf("status %d\n",
		       flexio_rq_create(process, NULL, state.queues.cq.number, &host.attr, &rq));
	} else if (!strcmp(words[1], "moderation")) {
		cq_attr.element_type = FLEXIO_CQ_ELEMENT_TYPE_NON_DPA_CQ;
		cq_attr.cq_ring_qmem.daddr = device_memory(process, DEPTH * 64);
		cq_attr.cq_dbr_daddr = device_memory(process, 8);
		cq_attr.cq_period = (uint16_t)(atol(words[2]) & 1);
		cq_attr.cq_max_count = (uint16_t)(atol(words[2]) >> 1);
		printf("status %d\n", flexio_cq_create(process, NULL, &cq_attr, &cq));
		printf("status %d\n", flexio_cq_create(process, NULL, &cq_attr, &cq));
	} else if (!strcmp(words[1], "en_pcc")) {
		struct flexio_process_attr process_attr = { .en_pcc = atol(words[2]) & 1 };
		struct flexio_outbox_attr outbox_attr = { .en_pcc = (uint8_t)(atol(words[2]) >> 1) };
		struct flexio_outbox *outbox;

		printf("status %d\n", flexio_process_create(context, misuse, &process_attr, &second));
		printf("status %d\n", flexio_outbox_create(process, &outbox_attr, &outbox));
	} else if (!strcmp(words[1], "resources")) {
		struct flexio_resource *resources = (void *)1;
		int status = flexio_resources_create("key", "file", 4, &resources);

		printf("status %d, %p, %d\n", status, (void *)resources,
		       flexio_resources_destroy(resources));
	} else {
		CHECK(flexio_copy_from_host(process, &state, sizeof(state), &argument));
		CHECK(flexio_func_register(misuse, words[1], &function));
		CHECK(flexio_process_call(process, function, &result, argument, atol(words[2])));
		printf("result %lu\n", result);
	}
	return 0;
}

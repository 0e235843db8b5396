/* Calls the function that the command line names. */
#include <libflexio/flexio.h>
#include <unistd.h>
#include "common.h"

#define FUNCTIONS(use)                                                                       \
	use(all_is_well) use(past_the_block) use(across_the_end) use(freed_memory)           \
	use(without_window) use(past_the_window) use(old_pointer) use(unaligned)             \
	use(deep_stack) use(no_fence) use(no_fence_after_data) use(old_index) use(overrun)
#define DECLARE(name) extern flexio_func_t name;
#define ENTRY(name) { #name, &name },
FUNCTIONS(DECLARE)
extern flexio_func_t wake, waits;
extern struct flexio_app *faults;
static const struct {
	const char *name;
	flexio_func_t *function;
} functions[] = { FUNCTIONS(ENTRY) };

#define CHECK(call)                                        \
	do {                                               \
		if (call) {                                \
			fprintf(stderr, "%s\n", #call);    \
			return 1;                          \
		}                                          \
	} while (0)

static struct flexio_process *process;

static int make_cq(struct flexio_event_handler *handler, uint64_t *ring, uint64_t *record,
		   struct flexio_cq **cq)
{
	struct mlx5_cqe64 entries[DEPTH] = { 0 };
	struct flexio_cq_attr attr = { .log_cq_depth = LOG_DEPTH };
	uint32_t none[2] = { 0, 0 };

	for (uint32_t at = 0; at < DEPTH; at++)
		mlx5dv_set_cqe_owner(&entries[at], 1);
	CHECK(flexio_copy_from_host(process, entries, sizeof(entries), ring));
	CHECK(flexio_copy_from_host(process, none, sizeof(none), record));
	attr.element_type = handler ? FLEXIO_CQ_ELEMENT_TYPE_DPA_THREAD :
				      FLEXIO_CQ_ELEMENT_TYPE_NON_DPA_CQ;
	attr.thread = handler ? flexio_event_handler_get_thread(handler) : NULL;
	attr.cq_ring_qmem.daddr = *ring;
	attr.cq_dbr_daddr = *record;
	return flexio_cq_create(process, NULL, &attr, cq);
}

int main(int count, char **words)
{
	static uint64_t memory[2][64];
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(devices[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *first = ibv_reg_mr(pd, memory[0], BLOCK, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mr *second = ibv_reg_mr(pd, memory[1], BLOCK, IBV_ACCESS_LOCAL_WRITE);
	struct flexio_event_handler_attr handler_attr = { .host_stub_func = waits };
	struct flexio_event_handler *handler;
	struct flexio_cq *cq, *sq_cq, *bell;
	struct flexio_sq *sq;
	struct flexio_wq_attr attr = { .log_wq_depth = LOG_DEPTH, .pd = pd };
	struct flexio_mkey_attr key_attr = { .pd = pd, .len = BLOCK, .access = IBV_ACCESS_LOCAL_WRITE };
	struct flexio_mkey *mkey;
	struct flexio_window *window;
	struct shared shared = { .host = (uint64_t)memory[0], .other = (uint64_t)memory[1] };
	uint64_t ring, record, argument, result;

	CHECK(count != 2 || !first || !second);
	shared.host_key = first->lkey;
	shared.other_key = second->lkey;
	CHECK(flexio_process_create(context, faults, NULL, &process));
	CHECK(flexio_window_create(process, pd, &window));
	shared.window = flexio_window_get_id(window);
	CHECK(flexio_buf_dev_alloc(process, BLOCK, &shared.block));
	key_attr.daddr = shared.block;
	CHECK(flexio_device_mkey_create(process, &key_attr, &mkey));
	shared.key = flexio_mkey_get_id(mkey);
	CHECK(flexio_event_handler_create(process, &handler_attr, &handler));
	CHECK(make_cq(NULL, &shared.cq_ring, &shared.cq_record, &cq));
	CHECK(make_cq(NULL, &ring, &record, &sq_cq));
	CHECK(make_cq(handler, &ring, &record, &bell));
	shared.cq = flexio_cq_get_cq_num(cq);
	shared.bell = flexio_cq_get_cq_num(bell);
	CHECK(flexio_buf_dev_alloc(process, DEPTH * 64, &shared.sq_ring));
	attr.wq_ring_qmem.daddr = shared.sq_ring;
	CHECK(flexio_sq_create(process, NULL, flexio_cq_get_cq_num(sq_cq), &attr, &sq));
	shared.sq = flexio_sq_get_wq_num(sq);
	CHECK(flexio_buf_dev_alloc(process, BLOCK, &shared.freed));
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	CHECK(flexio_buf_dev_free(process, shared.freed));
	CHECK(flexio_event_handler_run(handler, argument));
	for (size_t at = 0; at < sizeof(functions) / sizeof(*functions); at++)
		if (!strcmp(words[1], functions[at].name))
			CHECK(flexio_process_call(process, functions[at].function, &result, argument));
	if (!strcmp(words[1], "waits")) {
		CHECK(flexio_process_call(process, &wake, &result, argument));
		usleep(1400000);
		/* The handler waits for plain memory, and yet these calls are served. */
		for (uint32_t go = 1; go <= 2; go++) {
			CHECK(flexio_process_call(process, &all_is_well, &result, argument));
			CHECK(flexio_host2dev_memcpy(process, &go, 4,
						     argument + offsetof(struct shared, go)));
		}
		usleep(100000);
	}
	return flexio_process_destroy(process);
}

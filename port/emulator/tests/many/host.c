/* Host part: many COUNT NO_ARM makes as many handlers, each with a completion queue, and prints the
 * processor time in ns that the first and the last quarter of them took. */
#include "../../examples/counter/queues/shared.h"
#include "../../examples/counter/queues/host.h"
#include <time.h>

extern struct flexio_app *many;
extern flexio_func_t never_runs;

static int64_t processor_time(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now));
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void make(int no_arm)
{
	struct flexio_event_handler_attr attr = { .host_stub_func = never_runs };
	struct flexio_cq_attr cq_attr = { .log_cq_depth = 4, .no_arm = (uint8_t)no_arm };
	struct mlx5_cqe64 entries[16] = { 0 };
	struct flexio_event_handler *handler;
	struct flexio_cq *cq;

	CHECK(flexio_event_handler_create(process, &attr, &handler));
	for (int at = 0; at < 16; at++)
		mlx5dv_set_cqe_owner(&entries[at], 1);
	CHECK(flexio_copy_from_host(process, entries, sizeof(entries), &cq_attr.cq_ring_qmem.daddr));
	cq_attr.cq_dbr_daddr = device_memory(process, 8);
	cq_attr.element_type = FLEXIO_CQ_ELEMENT_TYPE_DPA_THREAD;
	cq_attr.thread = flexio_event_handler_get_thread(handler);
	cq_attr.uar_id = flexio_uar_get_id(flexio_process_get_uar(process));
	CHECK(flexio_cq_create(process, NULL, &cq_attr, &cq));
	CHECK(flexio_event_handler_run(handler, 0));
}

static int64_t make_all(int count, int no_arm)
{
	int64_t before = processor_time();

	for (int made = 0; made < count; made++)
		make(no_arm);
	return processor_time() - before;
}

int main(int words, char **word)
{
	int count, no_arm;
	int64_t first, last;

	CHECK(words != 3);
	count = atoi(word[1]) / 4;
	no_arm = atoi(word[2]);
	open_process(many);
	first = make_all(count, no_arm);
	make_all(2 * count, no_arm);
	last = make_all(count, no_arm);
	printf("%lld %lld\n", (long long)first, (long long)last);
	return 0;
}

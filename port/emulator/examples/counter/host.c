/* Host part: makes the queues, steers all frames to them, and waits for a number of frames. */
#include <libflexio/flexio.h>
#include <unistd.h>
#include "common.h"

extern struct flexio_app *counter;
extern flexio_func_t count, frames, bytes;

#define CHECK(call)                                        \
	do {                                               \
		if (call) {                                \
			fprintf(stderr, "%s\n", #call);    \
			return 1;                          \
		}                                          \
	} while (0)

static int make_cq(struct flexio_process *process, struct flexio_event_handler *handler,
		   uint64_t *ring, uint64_t *record, struct flexio_cq **cq)
{
	struct mlx5_cqe64 entries[DEPTH] = { 0 };
	struct flexio_cq_attr attr = { .log_cq_depth = LOG_DEPTH };
	uint32_t none[2] = { 0, 0 };

	for (int at = 0; at < DEPTH; at++)
		mlx5dv_set_cqe_owner(&entries[at], 1);
	CHECK(flexio_copy_from_host(process, entries, sizeof(entries), ring));
	CHECK(flexio_copy_from_host(process, none, sizeof(none), record));
	attr.element_type = handler ? FLEXIO_CQ_ELEMENT_TYPE_DPA_THREAD :
				      FLEXIO_CQ_ELEMENT_TYPE_NON_DPA_CQ;
	attr.thread = handler ? flexio_event_handler_get_thread(handler) : NULL;
	attr.uar_id = flexio_uar_get_id(flexio_process_get_uar(process));
	attr.cq_ring_qmem.daddr = *ring;
	attr.cq_dbr_daddr = *record;
	return flexio_cq_create(process, NULL, &attr, cq);
}

int main(int words, char **word)
{
	uint64_t wanted = words > 1 ? strtoull(word[1], NULL, 10) : 1, found = 0, sum = 0;
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = devices ? ibv_open_device(devices[0]) : NULL;
	struct { struct mlx5dv_flow_match_parameters size; uint64_t key[8]; } match = { 0 };
	struct flexio_process *process;
	struct flexio_event_handler *handler;
	struct flexio_event_handler_attr handler_attr = { .host_stub_func = count };
	struct flexio_cq *cq, *sq_cq;
	struct flexio_rq *rq;
	struct flexio_sq *sq;
	struct flexio_mkey *mkey;
	struct flexio_mkey_attr key_attr = { .len = DEPTH * BUFFER,
					     .access = IBV_ACCESS_LOCAL_WRITE };
	struct flexio_wq_attr wq_attr = { .log_wq_depth = LOG_DEPTH };
	struct mlx5_wqe_data_seg buffers[DEPTH];
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_action *action;
	struct mlx5dv_dr_rule *rule;
	struct counter shared = { 0 };
	uint64_t daddr, argument, unused;
	uint32_t record[2] = { htobe32(DEPTH), 0 };

	CHECK(!context);
	CHECK(flexio_process_create(context, counter, NULL, &process));
	CHECK(flexio_event_handler_create(process, &handler_attr, &handler));
	CHECK(make_cq(process, handler, &shared.cq_ring, &shared.cq_record, &cq));
	CHECK(make_cq(process, NULL, &daddr, &unused, &sq_cq));
	CHECK(flexio_buf_dev_alloc(process, DEPTH * BUFFER, &daddr));
	key_attr.pd = flexio_process_get_pd(process);
	key_attr.daddr = daddr;
	CHECK(flexio_device_mkey_create(process, &key_attr, &mkey));
	shared.key = flexio_mkey_get_id(mkey);
	for (int at = 0; at < DEPTH; at++)
		mlx5dv_set_data_seg(&buffers[at], BUFFER, shared.key, daddr + at * BUFFER);
	CHECK(flexio_copy_from_host(process, buffers, sizeof(buffers), &shared.rq_ring));
	CHECK(flexio_copy_from_host(process, record, sizeof(record), &shared.rq_record));
	CHECK(flexio_buf_dev_alloc(process, DEPTH * 64, &shared.sq_ring));
	wq_attr.pd = key_attr.pd;
	wq_attr.wq_ring_qmem.daddr = shared.rq_ring;
	wq_attr.wq_dbr_qmem.daddr = shared.rq_record;
	CHECK(!flexio_rq_create(process, NULL, flexio_cq_get_cq_num(cq), &wq_attr, NULL));
	CHECK(flexio_rq_create(process, NULL, flexio_cq_get_cq_num(cq), &wq_attr, &rq));
	wq_attr.wq_ring_qmem.daddr = shared.sq_ring;
	CHECK(flexio_sq_create(process, NULL, flexio_cq_get_cq_num(sq_cq), &wq_attr, &sq));
	shared.cq = flexio_cq_get_cq_num(cq);
	shared.sq = flexio_sq_get_wq_num(sq);
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	CHECK(flexio_event_handler_run(handler, argument));

	match.size.match_sz = sizeof(match.key);
	domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	table = mlx5dv_dr_table_create(domain, 0);
	matcher = mlx5dv_dr_matcher_create(table, 0, 1, &match.size);
	action = mlx5dv_dr_action_create_dest_devx_tir(flexio_rq_get_tir(rq));
	rule = mlx5dv_dr_rule_create(matcher, &match.size, 1, &action);
	CHECK(!rule);
	for (int wait = 0; found < wanted && wait < 5000; wait++) {
		usleep(1000);
		CHECK(flexio_process_call(process, &frames, &found, argument));
	}
	CHECK(flexio_process_call(process, &bytes, &sum, argument));
	printf("%lu frames, %lu bytes\n", found, sum);

	CHECK(!flexio_cq_destroy(cq)); /* in use: it refuses */
	mlx5dv_dr_rule_destroy(rule);
	mlx5dv_dr_action_destroy(action);
	mlx5dv_dr_matcher_destroy(matcher);
	mlx5dv_dr_table_destroy(table);
	mlx5dv_dr_domain_destroy(domain);
	CHECK(flexio_rq_destroy(rq));
	CHECK(flexio_sq_destroy(sq));
	CHECK(flexio_cq_destroy(cq));
	CHECK(flexio_cq_destroy(sq_cq));
	CHECK(flexio_device_mkey_destroy(mkey));
	CHECK(flexio_event_handler_destroy(handler));
	CHECK(flexio_process_destroy(process));
	ibv_close_device(context);
	ibv_free_device_list(devices);
	return 0;
}

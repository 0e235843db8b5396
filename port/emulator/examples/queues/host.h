/* Host part: one process, queues for frames, and a rule that leads all frames to them. */
#include <libflexio/flexio.h>
#include <unistd.h>

#define CHECK(call)                                        \
	do {                                               \
		if (call) {                                \
			fprintf(stderr, "%s\n", #call);    \
			return 1;                          \
		}                                          \
	} while (0)

struct queues_of_host {
	struct flexio_event_handler *handler;
	struct flexio_cq *cq, *sq_cq;
	struct flexio_rq *rq;
	struct flexio_sq *sq;
	struct flexio_mkey *mkey;
	struct flexio_wq_attr attr;
};

struct steering {
	struct mlx5dv_dr_domain *domain;
	struct mlx5dv_dr_table *table;
	struct mlx5dv_dr_matcher *matcher;
	struct mlx5dv_dr_action *action;
	struct mlx5dv_dr_rule *rule;
};

static struct ibv_device **devices;
static struct ibv_context *context;
static struct flexio_process *process;

static inline int open_process(struct flexio_app *app)
{
	devices = ibv_get_device_list(NULL);
	context = devices ? ibv_open_device(devices[0]) : NULL;
	return !context || flexio_process_create(context, app, NULL, &process);
}

static inline int close_process(void)
{
	CHECK(flexio_process_destroy(process));
	ibv_close_device(context);
	ibv_free_device_list(devices);
	return 0;
}

static inline int make_cq(struct flexio_event_handler *handler, uint64_t *ring, uint64_t *record,
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
	attr.uar_id = flexio_uar_get_id(flexio_process_get_uar(process));
	attr.cq_ring_qmem.daddr = *ring;
	attr.cq_dbr_daddr = *record;
	return flexio_cq_create(process, NULL, &attr, cq);
}

/* Queues whose frames wake a handler, if there is a function for it. */
static inline int make_queues(flexio_func_t *function, struct queues_of_host *host,
			      struct queues *queues)
{
	struct flexio_event_handler_attr handler_attr = { .host_stub_func = function };
	struct flexio_mkey_attr key_attr = { .pd = flexio_process_get_pd(process),
					     .len = DEPTH * BUFFER,
					     .access = IBV_ACCESS_LOCAL_WRITE };
	struct mlx5_wqe_data_seg buffers[DEPTH];
	uint64_t ring, unused;
	uint32_t record[2] = { htobe32(DEPTH), 0 };

	if (function)
		CHECK(flexio_event_handler_create(process, &handler_attr, &host->handler));
	CHECK(make_cq(host->handler, &queues->cq_ring, &queues->cq_record, &host->cq));
	CHECK(make_cq(NULL, &ring, &unused, &host->sq_cq));
	CHECK(flexio_buf_dev_alloc(process, DEPTH * BUFFER, &key_attr.daddr));
	CHECK(flexio_device_mkey_create(process, &key_attr, &host->mkey));
	queues->key = flexio_mkey_get_id(host->mkey);
	for (uint32_t at = 0; at < DEPTH; at++)
		mlx5dv_set_data_seg(&buffers[at], BUFFER, queues->key, key_attr.daddr + at * BUFFER);
	CHECK(flexio_copy_from_host(process, buffers, sizeof(buffers), &queues->rq_ring));
	CHECK(flexio_copy_from_host(process, record, sizeof(record), &queues->rq_record));
	CHECK(flexio_buf_dev_alloc(process, DEPTH * 64, &queues->sq_ring));
	queues->cq = flexio_cq_get_cq_num(host->cq);
	host->attr.log_wq_depth = LOG_DEPTH;
	host->attr.pd = key_attr.pd;
	host->attr.wq_ring_qmem.daddr = queues->rq_ring;
	host->attr.wq_dbr_qmem.daddr = queues->rq_record;
	CHECK(flexio_rq_create(process, NULL, queues->cq, &host->attr, &host->rq));
	host->attr.wq_ring_qmem.daddr = queues->sq_ring;
	CHECK(flexio_sq_create(process, NULL, flexio_cq_get_cq_num(host->sq_cq), &host->attr,
			       &host->sq));
	queues->sq = flexio_sq_get_wq_num(host->sq);
	return 0;
}

static inline int destroy_queues(struct queues_of_host *host)
{
	CHECK(flexio_rq_destroy(host->rq));
	CHECK(flexio_sq_destroy(host->sq));
	CHECK(flexio_cq_destroy(host->cq));
	CHECK(flexio_cq_destroy(host->sq_cq));
	CHECK(flexio_device_mkey_destroy(host->mkey));
	return flexio_event_handler_destroy(host->handler);
}

static inline int steer(struct flexio_rq *rq, struct steering *made)
{
	struct { struct mlx5dv_flow_match_parameters size; uint64_t key[8]; } all = { 0 };

	all.size.match_sz = sizeof(all.key);
	made->domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	made->table = mlx5dv_dr_table_create(made->domain, 0);
	made->matcher = mlx5dv_dr_matcher_create(made->table, 0, 1, &all.size);
	made->action = mlx5dv_dr_action_create_dest_devx_tir(flexio_rq_get_tir(rq));
	made->rule = mlx5dv_dr_rule_create(made->matcher, &all.size, 1, &made->action);
	return !made->rule;
}

static inline void unsteer(struct steering *made)
{
	mlx5dv_dr_rule_destroy(made->rule);
	mlx5dv_dr_action_destroy(made->action);
	mlx5dv_dr_matcher_destroy(made->matcher);
	mlx5dv_dr_table_destroy(made->table);
	mlx5dv_dr_domain_destroy(made->domain);
}

/* Runs the handler, and waits for as many frames as `count` says. The device function `frames` tells
 * how many have come, which `count` becomes. */
static inline int receive(struct queues_of_host *host, uint64_t argument, flexio_func_t *frames,
			  uint64_t *count, struct steering *steering)
{
	uint64_t wanted = *count;

	CHECK(flexio_event_handler_run(host->handler, argument));
	CHECK(steer(host->rq, steering));
	*count = 0;
	for (int wait = 0; *count < wanted && wait < 5000; wait++) {
		usleep(1000);
		CHECK(flexio_process_call(process, frames, count, argument));
	}
	return 0;
}

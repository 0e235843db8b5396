/* Host part: one process, queues for frames, and a rule that leads all frames to them. */
#include <libflexio/flexio.h>
#include <unistd.h>

#define CHECK(call)                                                \
	do {                                                       \
		if (call) {                                        \
			fprintf(stderr, "it failed: %s\n", #call); \
			exit(1);                                   \
		}                                                  \
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

static inline void open_device(void)
{
	devices = ibv_get_device_list(NULL);
	context = devices && devices[0] ? ibv_open_device(devices[0]) : NULL;
	CHECK(!context);
}

static inline void close_device(void)
{
	ibv_close_device(context);
	ibv_free_device_list(devices);
}

static inline void open_process(struct flexio_app *app)
{
	open_device();
	CHECK(flexio_process_create(context, app, NULL, &process));
}

static inline void close_process(void)
{
	CHECK(flexio_process_destroy(process));
	close_device();
}

/* Zeros in the device's memory. */
static inline uint64_t device_memory(struct flexio_process *process, size_t bytes)
{
	flexio_uintptr_t daddr;

	CHECK(flexio_buf_dev_alloc(process, bytes, &daddr));
	CHECK(flexio_buf_dev_memset(process, 0, bytes, daddr));
	return daddr;
}

static inline struct flexio_mkey *make_key(struct flexio_process *process, struct ibv_pd *pd,
					   uint64_t daddr, size_t bytes)
{
	struct flexio_mkey_attr attr = { .pd = pd, .daddr = daddr, .len = bytes,
					 .access = IBV_ACCESS_LOCAL_WRITE };
	struct flexio_mkey *mkey;

	CHECK(flexio_device_mkey_create(process, &attr, &mkey));
	return mkey;
}

/* A queue whose completions wake a handler, if there is one. */
static inline struct flexio_cq *make_cq(struct flexio_process *process, uint32_t log_depth,
					struct flexio_event_handler *handler, struct queue *queue)
{
	struct flexio_cq_attr attr = { .log_cq_depth = (uint8_t)log_depth };
	struct mlx5_cqe64 *entries = calloc(1u << log_depth, sizeof(*entries));
	struct flexio_cq *cq;

	CHECK(!entries);
	for (uint32_t at = 0; at < 1u << log_depth; at++)
		mlx5dv_set_cqe_owner(&entries[at], 1);
	CHECK(flexio_copy_from_host(process, entries, sizeof(*entries) << log_depth, &queue->ring));
	free(entries);
	queue->record = device_memory(process, 8);
	attr.element_type = handler ? FLEXIO_CQ_ELEMENT_TYPE_DPA_THREAD :
				      FLEXIO_CQ_ELEMENT_TYPE_NON_DPA_CQ;
	attr.thread = handler ? flexio_event_handler_get_thread(handler) : NULL;
	attr.uar_id = flexio_uar_get_id(flexio_process_get_uar(process));
	attr.cq_ring_qmem.daddr = queue->ring;
	attr.cq_dbr_daddr = queue->record;
	CHECK(flexio_cq_create(process, NULL, &attr, &cq));
	queue->number = flexio_cq_get_cq_num(cq);
	queue->log_depth = log_depth;
	return cq;
}

/* Queues whose frames wake a handler, if there is a function for it. */
static inline void make_queues(flexio_func_t *function, struct queues_of_host *host,
			       struct queues *queues)
{
	struct flexio_event_handler_attr handler_attr = { .host_stub_func = function };
	struct ibv_pd *pd = flexio_process_get_pd(process);
	struct mlx5_wqe_data_seg buffers[DEPTH];
	struct queue sent;
	uint64_t memory = device_memory(process, DEPTH * BUFFER);
	uint32_t record[2] = { htobe32(DEPTH), 0 };

	if (function)
		CHECK(flexio_event_handler_create(process, &handler_attr, &host->handler));
	host->cq = make_cq(process, LOG_DEPTH, host->handler, &queues->cq);
	host->sq_cq = make_cq(process, LOG_DEPTH, NULL, &sent);
	host->mkey = make_key(process, pd, memory, DEPTH * BUFFER);
	queues->key = flexio_mkey_get_id(host->mkey);
	for (uint32_t at = 0; at < DEPTH; at++)
		mlx5dv_set_data_seg(&buffers[at], BUFFER, queues->key, memory + at * BUFFER);
	CHECK(flexio_copy_from_host(process, buffers, sizeof(buffers), &queues->rq_ring));
	CHECK(flexio_copy_from_host(process, record, sizeof(record), &queues->rq_record));
	queues->sq_ring = device_memory(process, DEPTH * 64);
	host->attr.log_wq_depth = LOG_DEPTH;
	host->attr.pd = pd;
	host->attr.wq_ring_qmem.daddr = queues->rq_ring;
	host->attr.wq_dbr_qmem.daddr = queues->rq_record;
	CHECK(flexio_rq_create(process, NULL, queues->cq.number, &host->attr, &host->rq));
	host->attr.wq_ring_qmem.daddr = queues->sq_ring;
	CHECK(flexio_sq_create(process, NULL, sent.number, &host->attr, &host->sq));
	queues->sq = flexio_sq_get_wq_num(host->sq);
}

static inline void destroy_queues(struct queues_of_host *host)
{
	CHECK(flexio_rq_destroy(host->rq));
	CHECK(flexio_sq_destroy(host->sq));
	CHECK(flexio_cq_destroy(host->cq));
	CHECK(flexio_cq_destroy(host->sq_cq));
	CHECK(flexio_device_mkey_destroy(host->mkey));
	CHECK(flexio_event_handler_destroy(host->handler));
}

static inline void steer(struct flexio_rq *rq, struct steering *made)
{
	struct { struct mlx5dv_flow_match_parameters size; uint64_t key[8]; } all = { 0 };

	all.size.match_sz = sizeof(all.key);
	made->domain = mlx5dv_dr_domain_create(context, MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
	made->table = mlx5dv_dr_table_create(made->domain, 0);
	made->matcher = mlx5dv_dr_matcher_create(made->table, 0, 1, &all.size);
	made->action = mlx5dv_dr_action_create_dest_devx_tir(flexio_rq_get_tir(rq));
	made->rule = mlx5dv_dr_rule_create(made->matcher, &all.size, 1, &made->action);
	CHECK(!made->rule);
}

static inline void unsteer(struct steering *made)
{
	mlx5dv_dr_rule_destroy(made->rule);
	mlx5dv_dr_action_destroy(made->action);
	mlx5dv_dr_matcher_destroy(made->matcher);
	mlx5dv_dr_table_destroy(made->table);
	mlx5dv_dr_domain_destroy(made->domain);
}

/* Runs the handler until a number of frames has come, by the device function `frames`. Returns how
 * many have. */
static inline uint64_t receive(struct queues_of_host *host, uint64_t argument, flexio_func_t *frames,
			       uint64_t wanted)
{
	struct steering steering;
	uint64_t count = 0;

	CHECK(flexio_event_handler_run(host->handler, argument));
	steer(host->rq, &steering);
	for (int wait = 0; count < wanted && wait < 5000; wait++) {
		usleep(1000);
		CHECK(flexio_process_call(process, frames, &count, argument));
	}
	unsteer(&steering);
	return count;
}

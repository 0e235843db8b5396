/* The host's part for FlexIO. The card is one process, the wire's sender another; both belong to
 * this program. */
#include "common.h"
#include "../../emulator/examples/counter/queues/host.h"

extern struct flexio_app *matching;
extern flexio_func_t leader, worker, set_up, ring_bell, send_messages, cycles;

static struct ibv_pd *pd;
static struct ibv_mr *region;
static struct flexio_process *card_process, *wire_process;
static struct card card;
static uint64_t card_daddr, wire_daddr, wire_bytes;

#include "play.h"

static struct flexio_qp *make_qp(struct flexio_process *process, uint32_t log_rq, uint64_t *rq,
				 uint64_t *record, uint32_t rq_cqn, uint32_t log_sq, uint64_t *sq,
				 uint32_t sq_cqn)
{
	struct flexio_qp_attr attr = { .transport_type = FLEXIO_QPC_ST_RC, .pd = pd };
	uint64_t rq_bytes = ((16u << log_rq) + 63u) & ~63ull;
	struct flexio_qp *qp;

	*rq = device_memory(process, rq_bytes + (64u << log_sq));
	*sq = *rq + rq_bytes;
	*record = device_memory(process, 8);
	attr.qp_access_mask = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	attr.ops_flag = FLEXIO_QP_WR_RDMA_WRITE | FLEXIO_QP_WR_RDMA_READ;
	attr.uar_id = flexio_uar_get_id(flexio_process_get_uar(process));
	attr.log_rq_depth = (uint8_t)log_rq;
	attr.log_sq_depth = (uint8_t)log_sq;
	attr.rq_cqn = rq_cqn;
	attr.sq_cqn = sq_cqn;
	attr.qp_wq_buff_qmem.daddr = *rq;
	attr.qp_wq_dbr_qmem.daddr = *record;
	CHECK(flexio_qp_create(process, NULL, &attr, &qp));
	return qp;
}

static void connect_one(struct flexio_qp *qp, struct flexio_qp *other)
{
	struct flexio_qp_attr attr = { .remote_qp_num = flexio_qp_get_qp_num(other),
				       .path_mtu = FLEXIO_QP_QPC_MTU_BYTES_4K, .rnr_retry = 7 };
	struct flexio_qp_attr_opt_param_mask mask = { 0, 0 };

	for (int state = FLEXIO_QP_STATE_INIT; state <= FLEXIO_QP_STATE_RTS; state++) {
		attr.next_state = (enum flexio_qp_state)state;
		CHECK(flexio_qp_modify(qp, &attr, &mask));
	}
}

static void connect_both(struct flexio_qp *qp, struct flexio_qp *other)
{
	connect_one(qp, other);
	connect_one(other, qp);
}

/* A thread with a queue pair of its own for rendezvous, whose ends the leader takes. */
static struct flexio_event_handler *make_thread(flexio_func_t *function, uint32_t thread,
						struct flexio_event_handler *leader)
{
	uint64_t one = 1, rq, record, peer_rq, peer_record, peer_sq;
	struct reader reader = { .host = card.host, .over = (uint64_t)memory.over,
				 .reads = card.reads, .thread = thread,
				 .log_depth = card.log_depth + 1 };
	struct flexio_event_handler_attr attr = { .host_stub_func = function };
	struct flexio_event_handler *handler;
	struct queue peer_queue;

	attr.thread_local_storage_daddr = device_memory(card_process, sizeof(reader));
	CHECK(flexio_event_handler_create(card_process, &attr, &handler));
	make_cq(wire_process, LOG_SMALL, NULL, &peer_queue);
	make_cq(card_process, reader.log_depth, leader ? leader : handler, &reader.done);
	reader.positions = device_memory(card_process, 8u << reader.log_depth);
	CHECK(flexio_copy_from_host(card_process, &one, sizeof(one), &reader.one));
	reader.one_key = flexio_mkey_get_id(make_key(card_process, pd, reader.one, sizeof(one)));
	struct flexio_qp *qp = make_qp(card_process, 0, &rq, &record, reader.done.number,
				       reader.log_depth + 1, &reader.ring, reader.done.number);
	struct flexio_qp *peer = make_qp(wire_process, 0, &peer_rq, &peer_record, peer_queue.number,
					 0, &peer_sq, peer_queue.number);
	connect_both(qp, peer);
	reader.number = flexio_qp_get_qp_num(qp);
	card.readers[thread] = attr.thread_local_storage_daddr;
	CHECK(flexio_host2dev_memcpy(card_process, &reader, sizeof(reader), card.readers[thread]));
	return handler;
}

static void make_card(void)
{
	struct flexio_event_handler *threads[WORKERS_MOST];
	uint64_t sq, unused_rq, unused_record, result = 1, start;
	struct wire wire = { .log_depth = LOG_WIRE, .key = region->lkey };
	struct flexio_window *window;
	struct queue nothing;

	CHECK(flexio_window_create(card_process, pd, &window));
	card.host.window = flexio_window_get_id(window);
	card.log_depth = (uint32_t)__builtin_ctz(card.config.queue);
	card.arena_bytes = ARENA;
	card.arena = device_memory(card_process, ARENA);
	card.arena_key = flexio_mkey_get_id(make_key(card_process, pd, card.arena, ARENA));
	card.reads = device_memory(card_process, 16u << card.log_depth);
	card.late = device_memory(card_process, 8u << card.log_depth);
	threads[0] = make_thread(&leader, 0, NULL);
	make_cq(card_process, card.log_depth, threads[0], &card.arrivals);
	make_cq(card_process, LOG_SMALL, threads[0], &card.bell);
	for (uint32_t at = 1; at < card.config.workers; at++) {
		threads[at] = make_thread(&worker, at, threads[0]);
		make_cq(card_process, LOG_SMALL, threads[at], &card.workers[at].bell);
	}
	make_cq(card_process, LOG_SMALL, NULL, &nothing);
	struct flexio_qp *qp = make_qp(card_process, card.log_depth, &card.rq_ring, &card.rq_record,
				       card.arrivals.number, 0, &sq, nothing.number);
	wire.bytes = wire_bytes = device_memory(wire_process, WIRE * sizeof(uint32_t));
	wire.outgoing = (uint64_t)memory.outgoing;
	make_cq(wire_process, LOG_WIRE, NULL, &wire.sent);
	struct flexio_qp *peer = make_qp(wire_process, 0, &unused_rq, &unused_record,
					 wire.sent.number, LOG_WIRE, &wire.ring, wire.sent.number);
	wire.number = flexio_qp_get_qp_num(peer);
	CHECK(flexio_copy_from_host(card_process, &card, sizeof(card), &card_daddr));
	CHECK(flexio_copy_from_host(wire_process, &wire, sizeof(wire), &wire_daddr));
	CHECK(flexio_process_call(card_process, &set_up, &result, card_daddr));
	if (result)
		fail("no card of that size");
	start = card_daddr + offsetof(struct card, workers);
	for (uint32_t at = 1; at < card.config.workers; at++)
		CHECK(flexio_event_handler_run(threads[at], start + at * sizeof(struct worker_state)));
	CHECK(flexio_event_handler_run(threads[0], card_daddr));
	*memory.asleep = 1;
	connect_both(qp, peer);
}

static void open_card(void)
{
	open_device();
	pd = ibv_alloc_pd(context);
	CHECK(!pd);
	CHECK(flexio_process_create(context, matching, NULL, &card_process));
	CHECK(flexio_process_create(context, matching, NULL, &wire_process));
}

static uint32_t open_region(void *memory, uint64_t bytes)
{
	region = ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_WRITE);
	if (!region)
		fail("no memory region");
	card.host.key = region->lkey;
	return region->rkey;
}

static uint64_t send_until(const uint32_t *bytes, uint64_t end)
{
	uint64_t gone;

	CHECK(flexio_host2dev_memcpy(wire_process, (void *)bytes, WIRE * sizeof(*bytes), wire_bytes));
	CHECK(flexio_process_call(wire_process, &send_messages, &gone, wire_daddr, end));
	return gone;
}

static void wake_leader(void)
{
	uint64_t result;

	CHECK(flexio_process_call(card_process, &ring_bell, &result, (uint64_t)card.bell.number));
}

static int has_ended(void)
{
	return flexio_err_status_get(card_process) || flexio_err_status_get(wire_process);
}

static uint64_t cycles_of_leader(void)
{
	uint64_t result;

	CHECK(flexio_process_call(card_process, &cycles, &result, card_daddr));
	return result;
}

static void close_card(void)
{
	CHECK(flexio_process_destroy(wire_process));
	CHECK(flexio_process_destroy(card_process));
	ibv_dereg_mr(region);
	ibv_dealloc_pd(pd);
	close_device();
}

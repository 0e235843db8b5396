/* Queues of verbs for device code. */
#pragma once

#include <doca_dpa_dev_rdma.h>

enum doca_dpa_dev_verbs_send_wr_opcode {
	DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_WRITE = 0x08,
	DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_SEND = 0x0a,
	DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_READ = 0x10,
};
enum doca_dpa_dev_verbs_send_wr_flags {
	DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_NONE = 0,
	DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_SIGNALED = 1,
};
enum doca_dpa_dev_verbs_send_wr_fm { DOCA_DPA_DEV_VERBS_SEND_WR_FM_NO_FENCE = 0 };

struct doca_dpa_dev_verbs_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};
struct doca_dpa_dev_verbs_recv_wr {
	struct doca_dpa_dev_verbs_sge *list;
	uint32_t count;
};
struct doca_dpa_dev_verbs_send_wr {
	struct doca_dpa_dev_verbs_sge *list;
	uint32_t count, opcode, flags, fence_mode;
	uint64_t remote;
	uint32_t rkey;
};

#define doca_dpa_dev_verbs_recv_wr_set_sg_list(wr, sges) ((void)((wr)->list = (sges)))
#define doca_dpa_dev_verbs_recv_wr_set_sg_num_sge(wr, number) ((void)((wr)->count = (number)))
#define doca_dpa_dev_verbs_send_wr_set_sg_list(wr, sges) ((void)((wr)->list = (sges)))
#define doca_dpa_dev_verbs_send_wr_set_sg_num_sge(wr, number) ((void)((wr)->count = (number)))
#define doca_dpa_dev_verbs_send_wr_set_opcode(wr, code) ((void)((wr)->opcode = (code)))
#define doca_dpa_dev_verbs_send_wr_set_send_flags(wr, bits) ((void)((wr)->flags = (bits)))
#define doca_dpa_dev_verbs_send_wr_set_fence_mode(wr, mode) ((void)((wr)->fence_mode = (mode)))
#define doca_dpa_dev_verbs_send_wr_set_rdma_rkey(wr, key) ((void)((wr)->rkey = (key)))
#define doca_dpa_dev_verbs_send_wr_set_rdma_remote_addr(wr, address) ((void)((wr)->remote = (address)))

DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_rq_post_recv_wr(doca_dpa_dev_verbs_eth_rq_t handle,
							  struct doca_dpa_dev_verbs_recv_wr *wr)
{
	struct dpa_doca_receiver *queue = (struct dpa_doca_receiver *)handle;
	uint32_t next = (uint32_t)queue->next, count = wr->count;
	uint64_t *entry = dpa_doca_receive(queue, next, count);

	if (!entry) {
		dpa_emulator_doca_wrong(DPA_DOCA_TOO_MANY, count);
		return;
	}
	for (uint32_t at = 0; at < count; at++)
		dpa_doca_data(entry + 2 * at, wr->list[at].length, wr->list[at].lkey, wr->list[at].addr);
	queue->next = next + 1;
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_rq_commit_recv(doca_dpa_dev_verbs_eth_rq_t handle)
{
	struct dpa_doca_receiver *queue = (struct dpa_doca_receiver *)handle;

	dpa_doca_give(queue, (uint32_t)queue->next);
}
/* An entry of Ethernet has a segment of zeros for headers. */
DPA_DOCA_OWN int dpa_doca_headers(struct dpa_doca_sender *queue, uint64_t *segment, uint32_t count)
{
	segment[0] = segment[1] = 0;
	return count <= queue->most;
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_sq_post_send_wr(doca_dpa_dev_verbs_eth_sq_t handle,
							  struct doca_dpa_dev_verbs_send_wr *wr)
{
	struct dpa_doca_sender *queue = (struct dpa_doca_sender *)handle;
	uint32_t next = (uint32_t)queue->next, count = wr->count;
	uint64_t *segment = dpa_doca_send(queue, next, DPA_DOCA_KIND(wr->opcode, 2 + count),
					  wr->flags & DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_SIGNALED, 0);

	if (!dpa_doca_headers(queue, segment, count)) {
		dpa_emulator_doca_wrong(DPA_DOCA_TOO_MANY, count);
		return;
	}
	for (uint32_t at = 0; at < count; at++)
		dpa_doca_data(segment + 2 + 2 * at, wr->list[at].length, wr->list[at].lkey,
			      wr->list[at].addr);
	queue->next = next + 1;
	dpa_doca_ring(queue, next + 1, 0);
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_sq_commit_send(doca_dpa_dev_verbs_eth_sq_t handle)
{
	struct dpa_doca_sender *queue = (struct dpa_doca_sender *)handle;

	dpa_doca_ring(queue, (uint32_t)queue->next, 1);
}

/* Pairs of queues: the structure of an RDMA object with one connection. */
#define doca_dpa_dev_verbs_qp_post_recv_wr(qp, wr) doca_dpa_dev_verbs_eth_rq_post_recv_wr(qp, wr)
#define doca_dpa_dev_verbs_qp_commit_recv(qp) doca_dpa_dev_verbs_eth_rq_commit_recv(qp)
DPA_DOCA_OWN int dpa_doca_fits(struct dpa_doca_sender *queue, uint32_t count)
{
	return count <= queue->most;
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_qp_post_send_wr(doca_dpa_dev_verbs_qp_t handle,
						      struct doca_dpa_dev_verbs_send_wr *wr)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(handle, 0);
	uint32_t next = (uint32_t)queue->next, count = wr->count;
	uint32_t has_remote = wr->opcode != DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_SEND;
	uint64_t *segment;

	if (!dpa_doca_fits(queue, count)) {
		dpa_emulator_doca_wrong(DPA_DOCA_TOO_MANY, count);
		return;
	}
	segment = dpa_doca_send(queue, next, DPA_DOCA_KIND(wr->opcode, 1 + has_remote + count),
				wr->flags & DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_SIGNALED, 0);
	if (has_remote) {
		dpa_doca_remote(segment, wr->rkey, wr->remote);
		segment += 2;
	}
	for (uint32_t at = 0; at < count; at++)
		dpa_doca_data(segment + 2 * at, wr->list[at].length, wr->list[at].lkey, wr->list[at].addr);
	queue->next = next + 1;
	dpa_doca_ring(queue, next + 1, 0);
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_qp_commit_send(doca_dpa_dev_verbs_qp_t handle)
{
	struct dpa_doca_sender *queue = dpa_doca_connection(handle, 0);

	dpa_doca_ring(queue, (uint32_t)queue->next, 1);
}

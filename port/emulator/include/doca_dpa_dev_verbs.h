/* Ethernet queues of verbs for device code. */
#pragma once

#include <doca_dpa_dev.h>

enum doca_dpa_dev_verbs_send_wr_opcode { DOCA_DPA_DEV_VERBS_SEND_WR_OPCODE_SEND = 0x0a };
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
};

#define doca_dpa_dev_verbs_recv_wr_set_sg_list(wr, sges) ((void)((wr)->list = (sges)))
#define doca_dpa_dev_verbs_recv_wr_set_sg_num_sge(wr, number) ((void)((wr)->count = (number)))
#define doca_dpa_dev_verbs_send_wr_set_sg_list(wr, sges) ((void)((wr)->list = (sges)))
#define doca_dpa_dev_verbs_send_wr_set_sg_num_sge(wr, number) ((void)((wr)->count = (number)))
#define doca_dpa_dev_verbs_send_wr_set_opcode(wr, code) ((void)((wr)->opcode = (code)))
#define doca_dpa_dev_verbs_send_wr_set_send_flags(wr, bits) ((void)((wr)->flags = (bits)))
#define doca_dpa_dev_verbs_send_wr_set_fence_mode(wr, mode) ((void)((wr)->fence_mode = (mode)))

DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_rq_post_recv_wr(doca_dpa_dev_verbs_eth_rq_t handle,
							  struct doca_dpa_dev_verbs_recv_wr *wr)
{
	struct dpa_doca_receiver *queue = (struct dpa_doca_receiver *)handle;
	uint32_t next = queue->next, most = 1u << (queue->log_stride - 4);
	uint64_t *entry = (uint64_t *)(queue->ring + ((uint64_t)(next & queue->mask) << queue->log_stride));

	if (wr->count > most) {
		dpa_emulator_doca_wrong(DPA_DOCA_TOO_MANY, wr->count);
		return;
	}
	for (uint32_t at = 0; at < wr->count; at++)
		dpa_doca_data(entry + 2 * at, wr->list[at].length, wr->list[at].lkey, wr->list[at].addr);
	if (wr->count < most)
		entry[2 * wr->count] = dpa_doca_words(0, 0x100);
	queue->next = next + 1;
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_rq_commit_recv(doca_dpa_dev_verbs_eth_rq_t handle)
{
	dpa_doca_give((struct dpa_doca_receiver *)handle);
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_sq_post_send_wr(doca_dpa_dev_verbs_eth_sq_t handle,
							  struct doca_dpa_dev_verbs_send_wr *wr)
{
	struct dpa_doca_sender *queue = (struct dpa_doca_sender *)handle;
	uint64_t *segment;

	if (wr->count > queue->units) {
		dpa_emulator_doca_wrong(DPA_DOCA_TOO_MANY, wr->count);
		return;
	}
	segment = dpa_doca_send(queue, wr->opcode, 2 + wr->count,
				wr->flags & DOCA_DPA_DEV_VERBS_SEND_WR_FLAGS_SIGNALED, 0);
	segment[0] = segment[1] = 0;
	for (uint32_t at = 0; at < wr->count; at++)
		dpa_doca_data(segment + 2 + 2 * at, wr->list[at].length, wr->list[at].lkey,
			      wr->list[at].addr);
	dpa_emulator_doca_posted(queue->number);
}
DPA_DOCA_CALL void doca_dpa_dev_verbs_eth_sq_commit_send(doca_dpa_dev_verbs_eth_sq_t handle)
{
	dpa_doca_ring((struct dpa_doca_sender *)handle, 1);
}

/* Device part: completions, and frames that go back in the buffers in which they came. */
#include <libflexio-dev/flexio_dev.h>
#include <libflexio-dev/flexio_dev_queue_access.h>
#include <dpaintrin.h>

/* The next completion, or none. */
static inline struct flexio_dev_cqe64 *next(const struct queue *queue)
{
	uint32_t at = queue->index & ((1u << queue->log_depth) - 1);
	struct flexio_dev_cqe64 *entry = (struct flexio_dev_cqe64 *)queue->ring + at;

	if (flexio_dev_cqe_get_owner(entry) != ((queue->index >> queue->log_depth) & 1))
		return NULL;
	__dpa_thread_memory_fence(__DPA_R, __DPA_R);
	return entry;
}

static inline void arm(const struct queue *queue)
{
	__dpa_thread_memory_writeback();
	flexio_dev_cq_arm(queue->index, queue->number);
}

static inline union flexio_dev_sqe_seg *send_entry(uint64_t ring, uint32_t index, uint32_t log_depth)
{
	return (union flexio_dev_sqe_seg *)ring + 4 * (index & ((1u << log_depth) - 1));
}

/* The next frame, or none. */
static inline uint8_t *next_frame(const struct queues *queues, uint32_t *length)
{
	struct flexio_dev_cqe64 *entry = next(&queues->cq);
	struct flexio_dev_wqe_rcv_data_seg *buffers = (void *)queues->rq_ring;

	if (!entry)
		return NULL;
	*length = flexio_dev_cqe_get_byte_cnt(entry);
	return flexio_dev_rwqe_get_addr(&buffers[flexio_dev_cqe_get_wqe_counter(entry) % DEPTH]);
}

/* Sends a frame of a receive buffer back to where it comes from. */
static inline void send_back(struct queues *queues, uint8_t *frame, uint32_t length)
{
	union flexio_dev_sqe_seg *entry = send_entry(queues->sq_ring, queues->sent, LOG_DEPTH);

	for (int at = 0; at < 6; at++) {
		uint8_t byte = frame[at];
		frame[at] = frame[at + 6];
		frame[at + 6] = byte;
	}
	flexio_dev_swqe_seg_ctrl_set(entry, queues->sent, queues->sq,
				     MLX5_CTRL_SEG_CE_CQE_ON_CQE_ERROR, FLEXIO_CTRL_SEG_SEND_EN);
	flexio_dev_swqe_seg_eth_set(entry + 1, 0, 0, 0, NULL);
	flexio_dev_swqe_seg_mem_ptr_data_set(entry + 2, length, queues->key, (uint64_t)frame);
	__dpa_thread_memory_writeback();
	flexio_dev_qp_sq_ring_db(++queues->sent, queues->sq);
}

/* Gives the frame's buffer back to the receive queue. */
static inline void frame_done(struct queues *queues)
{
	flexio_dev_dbr_cq_set_ci((uint32_t *)queues->cq.record, ++queues->cq.index);
	flexio_dev_dbr_rq_inc_pi((uint32_t *)queues->rq_record);
}

/* Ends the activation. The next frame begins another. */
static inline void wait_for_frames(const struct queues *queues)
{
	arm(&queues->cq);
	flexio_dev_thread_reschedule();
}

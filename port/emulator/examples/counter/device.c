/* Device part: counts frames and sends each back with its addresses swapped. */
#include <libflexio-dev/flexio_dev.h>
#include <libflexio-dev/flexio_dev_queue_access.h>
#include <dpaintrin.h>
#include "common.h"

__dpa_rpc__ uint64_t frames(uint64_t argument);
__dpa_rpc__ uint64_t frames(uint64_t argument)
{
	return __atomic_load_n(&((struct counter *)argument)->frames, __ATOMIC_ACQUIRE);
}

__dpa_rpc__ uint64_t bytes(uint64_t argument);
__dpa_rpc__ uint64_t bytes(uint64_t argument)
{
	return ((struct counter *)argument)->bytes;
}

static void answer(struct counter *counter, uint8_t *frame, uint32_t length)
{
	union flexio_dev_sqe_seg *entry =
		(union flexio_dev_sqe_seg *)counter->sq_ring + 4 * (counter->sent % DEPTH);

	for (int at = 0; at < 6; at++) {
		uint8_t byte = frame[at];
		frame[at] = frame[at + 6];
		frame[at + 6] = byte;
	}
	flexio_dev_swqe_seg_ctrl_set(entry, counter->sent, counter->sq,
				     MLX5_CTRL_SEG_CE_CQE_ON_CQE_ERROR, FLEXIO_CTRL_SEG_SEND_EN);
	flexio_dev_swqe_seg_eth_set(entry + 1, 0, 0, 0, NULL);
	flexio_dev_swqe_seg_mem_ptr_data_set(entry + 2, length, counter->key, (uint64_t)frame);
	__dpa_thread_memory_writeback();
	flexio_dev_qp_sq_ring_db(++counter->sent, counter->sq);
}

__dpa_global__ void count(uint64_t argument);
__dpa_global__ void count(uint64_t argument)
{
	struct counter *counter = (struct counter *)argument;
	struct flexio_dev_cqe64 *ring = (struct flexio_dev_cqe64 *)counter->cq_ring;
	struct flexio_dev_wqe_rcv_data_seg *buffers = (void *)counter->rq_ring;

	for (;;) {
		struct flexio_dev_cqe64 *entry = &ring[counter->index % DEPTH];
		uint32_t length, at;

		if (flexio_dev_cqe_get_owner(entry) != ((counter->index >> LOG_DEPTH) & 1))
			break;
		__dpa_thread_memory_fence(__DPA_R, __DPA_R);
		length = flexio_dev_cqe_get_byte_cnt(entry);
		at = flexio_dev_cqe_get_wqe_counter(entry) % DEPTH;
		answer(counter, flexio_dev_rwqe_get_addr(&buffers[at]), length);
		counter->bytes += length;
		__atomic_fetch_add(&counter->frames, 1, __ATOMIC_RELEASE);
		flexio_dev_dbr_cq_set_ci((uint32_t *)counter->cq_record, ++counter->index);
		flexio_dev_dbr_rq_inc_pi((uint32_t *)counter->rq_record);
	}
	__dpa_thread_memory_writeback();
	flexio_dev_cq_arm(counter->index, counter->cq);
	flexio_dev_thread_reschedule();
}

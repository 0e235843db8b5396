/* Device part: wrong uses of queues, each at a line of its own. The host says by how much. */
#include "common.h"
#include "../../examples/counter/queues/device.h"

#define CALL(name) __dpa_rpc__ uint64_t name(uint64_t argument, int64_t more)
#define STATE struct state *s = (void *)argument; (void)more

/* An entry that sends eight bytes of a key. */
static void write_entry(struct state *s, uint32_t index, uint32_t key)
{
	union flexio_dev_sqe_seg *entry = send_entry(s->queues.sq_ring, index, LOG_DEPTH);

	flexio_dev_swqe_seg_ctrl_set(entry, index, s->queues.sq, 0, FLEXIO_CTRL_SEG_SEND_EN);
	flexio_dev_swqe_seg_eth_set(entry + 1, 0, 0, 0, NULL);
	flexio_dev_swqe_seg_mem_ptr_data_set(entry + 2, 20, key, s->memory);
}

CALL(ring_other)
{
	STATE;
	flexio_dev_qp_sq_ring_db(1, s->other_sq); /* ERROR ring_other */
	return 0;
}

CALL(arm_other)
{
	STATE;
	flexio_dev_cq_arm(0, s->other_cq.number); /* ERROR arm_other */
	return 0;
}

CALL(wake_other)
{
	STATE;
	flexio_dev_msix_send(s->other_cq.number); /* ERROR wake_other */
	return 0;
}

CALL(outbox_other)
{
	STATE;
	return flexio_dev_outbox_config((uint16_t)(s->other_outbox + more)); /* ERROR outbox_other */
}

CALL(key_of_other_domain)
{
	STATE;
	write_entry(s, s->queues.sent, more ? s->queues.key : s->other_key);
	__dpa_thread_memory_writeback();
	flexio_dev_qp_sq_ring_db(++s->queues.sent, s->queues.sq); /* ERROR key_of_other_domain */
	return 0;
}

CALL(window_of_other_domain)
{
	STATE;
	return flexio_dev_window_config(0, s->window, s->other_key);
}

/* Depth and more entries, then one doorbell. */
CALL(too_many_entries)
{
	STATE;
	uint32_t count = (uint32_t)(DEPTH + more);

	for (uint32_t at = 0; at < count; at++)
		write_entry(s, s->queues.sent + at, s->queues.key);
	__dpa_thread_memory_writeback();
	s->queues.sent += count;
	flexio_dev_qp_sq_ring_db(s->queues.sent, s->queues.sq); /* ERROR too_many_entries */
	return 0;
}

/* All buffers are given already. */
CALL(too_many_buffers)
{
	STATE;
	uint32_t *record = (uint32_t *)s->queues.rq_record;

	flexio_dev_dbr_rq_set_pi(record, (uint32_t)(DEPTH + more));
	flexio_dev_cq_arm(0, s->queues.cq.number); /* ERROR too_many_buffers */
	flexio_dev_dbr_rq_set_pi(record, DEPTH);
	return 0;
}

/* One completion comes; the queue is armed behind it and more. */
CALL(armed_ahead)
{
	STATE;
	flexio_dev_msix_send(s->queues.cq.number);
	s->queues.cq.index = (uint32_t)(1 + more);
	flexio_dev_dbr_cq_set_ci((uint32_t *)s->queues.cq.record, 1);
	__dpa_thread_memory_writeback();
	flexio_dev_cq_arm(s->queues.cq.index, s->queues.cq.number); /* ERROR armed_ahead */
	return 0;
}

/* The record says that more is consumed than came. */
CALL(consumed_ahead)
{
	STATE;
	flexio_dev_dbr_cq_set_ci((uint32_t *)s->queues.cq.record, (uint32_t)(1 + more));
	flexio_dev_msix_send(s->queues.cq.number);
	return 0;
}

/* Depth and more completions that nobody consumes. */
CALL(overruns)
{
	STATE;
	for (int64_t count = (int64_t)DEPTH + more; count > 0; count--)
		flexio_dev_msix_send(s->queues.cq.number);
	return 0;
}

/* A completion waits, and the queue is armed before it over and over. */
CALL(takes_none)
{
	STATE;
	flexio_dev_msix_send(s->queues.cq.number);
	for (int64_t count = 257 + more; count > 0; count--)
		flexio_dev_cq_arm(0, s->queues.cq.number); /* ERROR takes_none */
	return 0;
}

/* One completion is consumed; the queue is armed as if none were, or as more says. */
CALL(armed_behind)
{
	STATE;
	flexio_dev_msix_send(s->queues.cq.number);
	flexio_dev_dbr_cq_set_ci((uint32_t *)s->queues.cq.record, 1);
	__dpa_thread_memory_writeback();
	flexio_dev_cq_arm((uint32_t)more, s->queues.cq.number); /* ERROR armed_behind */
	return 0;
}

/* Armed twice and more in a call, at an index that no completion has passed. */
CALL(armed_twice)
{
	STATE;
	for (int64_t count = 2 + more; count > 0; count--)
		flexio_dev_cq_arm(0, s->queues.cq.number); /* ERROR armed_twice */
	return 0;
}

/* Three zeros where the queue's next entry has to be. */
CALL(no_entry)
{
	STATE;
	if (more)
		write_entry(s, s->queues.sent, s->queues.key);
	__dpa_thread_memory_writeback();
	flexio_dev_qp_sq_ring_db(++s->queues.sent, s->queues.sq); /* ERROR no_entry */
	return 0;
}

/* An entry without a fence, and many other writes behind it. */
CALL(unfenced)
{
	STATE;
	write_entry(s, s->queues.sent, s->queues.key); /* ERROR unfenced */
	for (int64_t at = 0; at < 100 + more; at++)
		*(volatile uint8_t *)(s->memory + 64 + 2 * (uint64_t)at) = 1;
	flexio_dev_qp_sq_ring_db(++s->queues.sent, s->queues.sq);
	return 0;
}

__dpa_global__ void sleeps(uint64_t argument)
{
	(void)argument;
	flexio_dev_thread_reschedule();
}

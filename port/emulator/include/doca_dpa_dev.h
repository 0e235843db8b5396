/* DOCA DPA for device code, over the calls of FlexIO. Names and meanings are those of the public API
 * pages and of the BSD-3 samples. Handles of completion contexts and queues are addresses of the
 * structures below, which port/emulator/src/doca writes to the heap.
 */
#pragma once

#include <libflexio-dev/flexio_dev.h>
#include <libflexio-dev/flexio_dev_queue_access.h>
#include <doca_types.h>

#ifndef __dpa_compiler_barrier
#define __dpa_compiler_barrier() __asm__ volatile("" ::: "memory")
#endif

/* Lines of checks name the caller: every call here is a part of it. Each call accesses the index of
 * its queue as code of the caller, so that the checks see wrong handles and queues that two threads
 * use in no order. The rest of the queue is the emulator's own, and is not checked.
 */
#define DPA_DOCA_CALL static inline __attribute__((always_inline))
#ifdef __SANITIZE_THREAD__
#ifdef __clang__
#define DPA_DOCA_WHOLE
#else
/* Without it gcc reads the queue's fields in the caller, where they are checked. */
#define DPA_DOCA_WHOLE , noclone
#endif
#define DPA_DOCA_OWN                                                               \
	static __attribute__((noinline, unused, no_sanitize_thread, no_instrument_function \
			      DPA_DOCA_WHOLE))
#else
#define DPA_DOCA_OWN static inline __attribute__((always_inline))
#endif

/* Of the emulator. The line of a fault is the call's. */
void dpa_emulator_doca_end(int how);
void dpa_emulator_doca_device(uint64_t device);
void dpa_emulator_doca_notify(uint64_t notification);
uint64_t dpa_emulator_doca_event(uint64_t event, int how, uint64_t value);
void dpa_emulator_doca_wait(uint64_t event, uint64_t above, uint64_t mask);
uint64_t dpa_emulator_doca_external(uint32_t mmap, uint64_t address);
void dpa_emulator_doca_posted(uint32_t number);
void dpa_emulator_doca_flush(uint32_t index, uint32_t number);
void dpa_emulator_doca_wrong(int what, uint64_t value);
uint32_t dpa_emulator_doca_rank(void);
uint32_t dpa_emulator_doca_count(void);
void dpa_emulator_doca_log(uint32_t level, const char *text, uint64_t bytes);
enum { DPA_DOCA_AFTER_ACK, DPA_DOCA_NO_CONNECTION, DPA_DOCA_TOO_MANY, DPA_DOCA_ACK };

enum doca_dpa_dev_submit_flag {
	DOCA_DPA_DEV_SUBMIT_FLAG_NONE = 0,
	DOCA_DPA_DEV_SUBMIT_FLAG_FLUSH = 1,
	DOCA_DPA_DEV_SUBMIT_FLAG_OPTIMIZE_REPORTS = 2,
};

typedef enum {
	DOCA_DPA_DEV_COMP_SEND = 0,
	DOCA_DPA_DEV_COMP_RECV_RDMA_WRITE_IMM = 1,
	DOCA_DPA_DEV_COMP_RECV_SEND = 2,
	DOCA_DPA_DEV_COMP_RECV_SEND_IMM = 3,
	DOCA_DPA_DEV_COMP_SEND_ERR = 13,
	DOCA_DPA_DEV_COMP_RECV_ERR = 14,
} doca_dpa_dev_completion_type_t;

/* Each index has a word of its own, of which 32 bits count: the checks know whole words best. */
/* A completion context: index of the next element to read, and of the next to ack. */
struct dpa_doca_completion {
	uint64_t ring, record;
	uint32_t number, log_depth;
	uint64_t next, acked;
};

/* A send queue: index of the next entry, and the most buffers of one. */
struct dpa_doca_sender {
	uint64_t ring;
	uint32_t number, mask;
	uint64_t next, most;
};

/* A receive queue: the index and the mask of its entries, the logarithm of their bytes, and the
 * count of connections. */
struct dpa_doca_receiver {
	uint64_t ring, record, next;
	uint32_t mask, log_stride;
	uint64_t count;
};

/* Threads, kernels. */
#define doca_dpa_dev_thread_reschedule() dpa_emulator_doca_end(DPA_EMULATOR_RESCHEDULE)
#define doca_dpa_dev_thread_finish() dpa_emulator_doca_end(DPA_EMULATOR_FINISH)
#define doca_dpa_dev_yield() dpa_emulator_doca_end(DPA_EMULATOR_YIELD)
#define doca_dpa_dev_thread_rank() dpa_emulator_doca_rank()
#define doca_dpa_dev_num_threads() dpa_emulator_doca_count()
#define doca_dpa_dev_thread_notify(handle) dpa_emulator_doca_notify(handle)
#define doca_dpa_dev_device_set(handle) dpa_emulator_doca_device(handle)
DPA_DOCA_CALL doca_dpa_dev_uintptr_t doca_dpa_dev_thread_get_local_storage(void)
{
	return dpa_emulator_local_storage();
}

/* Completions. The NIC clears the byte that marks an element as acked. */
#define DPA_DOCA_ACKED 0xac
DPA_DOCA_OWN uint64_t dpa_doca_entry(struct dpa_doca_completion *completion, uint32_t next)
{
	uint32_t log_depth = completion->log_depth;

	return (completion->ring + 64ul * (next & ((1u << log_depth) - 1))) | ((next >> log_depth) & 1);
}
DPA_DOCA_OWN uint32_t dpa_doca_queue_of(struct dpa_doca_completion *completion)
{
	return completion->number;
}
/* Marks elements and publishes that they are consumed. Returns how many were read and not acked. */
DPA_DOCA_OWN uint32_t dpa_doca_consume(struct dpa_doca_completion *completion, uint32_t acked,
				       uint64_t count)
{
	struct flexio_dev_cqe64 *ring = (struct flexio_dev_cqe64 *)completion->ring;
	uint32_t mask = (1u << completion->log_depth) - 1;

	for (uint64_t at = 0; at < count && at <= mask; at++)
		ring[(acked + at) & mask].signature = DPA_DOCA_ACKED;
	/* ordering: the NIC, which acquires a record, writes no element that is still read. */
	__atomic_store_n((uint32_t *)completion->record,
			 cpu_to_be32((acked + (uint32_t)count) & 0xffffff), __ATOMIC_RELEASE);
	return (uint32_t)completion->next - acked;
}
DPA_DOCA_CALL int doca_dpa_dev_get_completion(doca_dpa_dev_completion_t handle,
					      doca_dpa_dev_completion_element_t *element)
{
	struct dpa_doca_completion *completion = (struct dpa_doca_completion *)handle;
	uint32_t next = (uint32_t)completion->next;
	uint64_t entry = dpa_doca_entry(completion, next);

	/* The lowest bit is the owner's that the element will have. */
	if (flexio_dev_cqe_get_owner((struct flexio_dev_cqe64 *)(entry & ~1ul)) != (entry & 1))
		return 0;
	completion->next = next + 1;
	*element = entry & ~1ul;
	return 1;
}
DPA_DOCA_CALL void doca_dpa_dev_completion_ack(doca_dpa_dev_completion_t handle, uint64_t count)
{
	struct dpa_doca_completion *completion = (struct dpa_doca_completion *)handle;
	uint32_t acked = (uint32_t)completion->acked;

	completion->acked = acked + (uint32_t)count;
	if (dpa_doca_consume(completion, acked, count) < count)
		dpa_emulator_doca_wrong(DPA_DOCA_ACK, count);
}
DPA_DOCA_CALL void doca_dpa_dev_completion_request_notification(doca_dpa_dev_completion_t handle)
{
	struct dpa_doca_completion *completion = (struct dpa_doca_completion *)handle;

	__dpa_thread_memory_writeback();
	flexio_dev_cq_arm((uint32_t)completion->next, dpa_doca_queue_of(completion));
}

/* Elements, until their ack. */
DPA_DOCA_CALL struct flexio_dev_cqe64 *dpa_doca_element(doca_dpa_dev_completion_element_t element)
{
	struct flexio_dev_cqe64 *entry = (struct flexio_dev_cqe64 *)element;

	if (DPA_EMULATOR_READ(entry->signature) == DPA_DOCA_ACKED)
		dpa_emulator_doca_wrong(DPA_DOCA_AFTER_ACK, 0);
	return entry;
}
DPA_DOCA_CALL doca_dpa_dev_completion_type_t
doca_dpa_dev_get_completion_type(doca_dpa_dev_completion_element_t element)
{
	return (doca_dpa_dev_completion_type_t)flexio_dev_cqe_get_opcode(dpa_doca_element(element));
}
DPA_DOCA_CALL uint32_t
doca_dpa_dev_get_completion_user_data(doca_dpa_dev_completion_element_t element)
{
	return flexio_dev_cqe_get_user_index(dpa_doca_element(element));
}
DPA_DOCA_CALL uint32_t
doca_dpa_dev_get_completion_immediate(doca_dpa_dev_completion_element_t element)
{
	return be32_to_cpu(DPA_EMULATOR_READ(dpa_doca_element(element)->imm_inval_pkey));
}
DPA_DOCA_CALL uint16_t
doca_dpa_dev_completion_element_get_wqe_counter(doca_dpa_dev_completion_element_t element)
{
	return flexio_dev_cqe_get_wqe_counter(dpa_doca_element(element));
}
DPA_DOCA_CALL uint32_t
doca_dpa_dev_completion_element_get_received_bytes(doca_dpa_dev_completion_element_t element)
{
	return flexio_dev_cqe_get_byte_cnt(dpa_doca_element(element));
}
DPA_DOCA_CALL uint32_t
doca_dpa_dev_completion_element_get_qp_num(doca_dpa_dev_completion_element_t element)
{
	return flexio_dev_cqe_get_qpn(dpa_doca_element(element));
}
DPA_DOCA_CALL uint8_t
doca_dpa_dev_completion_element_get_error_syndrome(doca_dpa_dev_completion_element_t element)
{
	return flexio_dev_cqe_get_err_synd(dpa_doca_element(element));
}
/* Nanoseconds, of queues with a source of time stamps. */
DPA_DOCA_CALL uint64_t
doca_dpa_dev_completion_element_get_timestamp(doca_dpa_dev_completion_element_t element)
{
	const uint8_t *entry = (const uint8_t *)dpa_doca_element(element);

	return be64_to_cpu(*(const volatile uint64_t *)(entry + 0x30));
}

/* Sync events. */
DPA_DOCA_CALL void doca_dpa_dev_sync_event_get(doca_dpa_dev_sync_event_t event, uint64_t *value)
{
	*value = dpa_emulator_doca_event(event, 0, 0);
}
#define doca_dpa_dev_sync_event_update_set(event, value) \
	((void)dpa_emulator_doca_event(event, 1, value))
#define doca_dpa_dev_sync_event_update_add(event, value) \
	((void)dpa_emulator_doca_event(event, 2, value))
#define doca_dpa_dev_sync_event_wait_gt(event, above, mask) \
	dpa_emulator_doca_wait(event, above, mask)

/* Memory of the host. */
#define doca_dpa_dev_mmap_get_external_ptr(mmap, address) \
	((doca_dpa_dev_uintptr_t)dpa_emulator_doca_external(mmap, address))

/* Logs. */
#define DOCA_DPA_DEV_LOG_LEVEL_DISABLE 10
#define DOCA_DPA_DEV_LOG_LEVEL_CRIT 20
#define DOCA_DPA_DEV_LOG_LEVEL_ERROR 30
#define DOCA_DPA_DEV_LOG_LEVEL_WARNING 40
#define DOCA_DPA_DEV_LOG_LEVEL_INFO 50
#define DOCA_DPA_DEV_LOG_LEVEL_DEBUG 60
__attribute__((format(printf, 2, 3), unused)) static void
doca_dpa_dev_log(uint32_t level, const char *format, ...)
{
	char text[512];
	__builtin_va_list arguments;
	int bytes;

	__builtin_va_start(arguments, format);
	bytes = dpa_emulator_vsnprintf(text, sizeof(text), format, arguments);
	__builtin_va_end(arguments);
	if (bytes > 0)
		dpa_emulator_doca_log(level, text,
				      bytes < (int)sizeof(text) ? (uint64_t)bytes : sizeof(text) - 1);
}
#define DOCA_DPA_DEV_LOG_CRIT(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_ERR(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_WARN(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_INFO(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_DPA_DEV_LOG_DBG(...) doca_dpa_dev_log(DOCA_DPA_DEV_LOG_LEVEL_DEBUG, __VA_ARGS__)

#include <dpa_doca_dev_refused.h>

/* Entries of queues: words of 8 bytes in the order of the NIC. The caller fences. */
/* A segment with memory. */
DPA_DOCA_OWN void dpa_doca_data(uint64_t *segment, uint32_t bytes, uint32_t key, uint64_t address)
{
	segment[0] = cpu_to_be64((uint64_t)bytes << 32 | key);
	segment[1] = cpu_to_be64(address);
}
/* Where the entry of a receive queue is; it ends behind `count` segments. */
DPA_DOCA_OWN uint64_t *dpa_doca_receive(struct dpa_doca_receiver *queue, uint32_t next, uint32_t count)
{
	uint32_t most = 1u << (queue->log_stride - 4);
	uint64_t *entry =
		(uint64_t *)(queue->ring + ((uint64_t)(next & queue->mask) << queue->log_stride));

	if (count > most)
		return NULL;
	if (count < most)
		entry[2 * count] = cpu_to_be64(0x100);
	return entry;
}
/* Publishes receives up to an index, and what was written of them before. */
DPA_DOCA_OWN void dpa_doca_give(struct dpa_doca_receiver *queue, uint32_t next)
{
	/* ordering: the NIC, which acquires a record, sees the entries before. */
	__atomic_store_n((uint32_t *)queue->record, cpu_to_be32(next & 0xffff), __ATOMIC_RELEASE);
}
/* Begins an entry of a send queue. Returns its second segment. */
DPA_DOCA_OWN uint64_t *dpa_doca_send(struct dpa_doca_sender *queue, uint32_t next, uint32_t kind,
				     uint32_t reports, uint32_t immediate)
{
	uint64_t *entry = (uint64_t *)(queue->ring + (uint64_t)(next & queue->mask) * 64);
	uint32_t opcode = kind >> 8, segments = kind & 0xff;

	entry[0] = cpu_to_be64((uint64_t)((next & 0xffff) << 8 | opcode) << 32 |
			       queue->number << 8 | segments);
	entry[1] = cpu_to_be64((uint64_t)(reports ? 2u << 2 : 0) << 32 | immediate);
	return entry + 2;
}
#define DPA_DOCA_KIND(opcode, segments) ((uint32_t)(opcode) << 8 | (segments))
DPA_DOCA_OWN uint32_t dpa_doca_number(struct dpa_doca_sender *queue)
{
	return queue->number;
}
DPA_DOCA_CALL void dpa_doca_ring(struct dpa_doca_sender *queue, uint32_t next, int flushes)
{
	if (!flushes) {
		dpa_emulator_doca_posted(dpa_doca_number(queue));
		return;
	}
	__dpa_thread_memory_writeback();
	dpa_emulator_doca_flush(next, dpa_doca_number(queue));
}

/* One programming error in each function. The emulator names the line with the word ERROR. */
#include "common.h"
#include "../../examples/counter/queues/device.h"

#define CALL(name)                                                                             \
	__dpa_rpc__ uint64_t name(uint64_t argument);                                          \
	static uint64_t name##_body(struct shared *shared);                                    \
	__dpa_rpc__ uint64_t name(uint64_t argument) { return name##_body((void *)argument); } \
	static uint64_t name##_body(struct shared *shared)

static uint64_t open_window(uint32_t window, uint32_t key, uint64_t address)
{
	flexio_uintptr_t pointer = 0;

	flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_0, window, key);
	flexio_dev_window_ptr_acquire(FLEXIO_DEV_WINDOW_ENTITY_0, address, &pointer);
	return pointer;
}

static void write_entry(struct shared *shared, uint32_t index)
{
	union flexio_dev_sqe_seg *entry = send_entry(shared->queues.sq_ring, index, LOG_DEPTH);

	flexio_dev_swqe_seg_ctrl_set(entry, index, shared->queues.sq, MLX5_CTRL_SEG_CE_CQE_ON_CQE_ERROR,
				     FLEXIO_CTRL_SEG_SEND_EN);
	flexio_dev_swqe_seg_eth_set(entry + 1, 0, 0, 0, NULL);
	/* ERROR no_fence is in the line below */
	flexio_dev_swqe_seg_mem_ptr_data_set(entry + 2, 64, shared->key, shared->block);
}

/* All that the others do wrong, done right. */
CALL(all_is_well)
{
	volatile uint64_t *words = (void *)shared->block;
	volatile uint8_t *last = (void *)(shared->block + BLOCK - 1);
	uint64_t pointer = open_window(shared->window, shared->host_key, shared->host);
	uint64_t before = __dpa_thread_time(), cycles = __dpa_thread_cycles();
	uint64_t time = __dpa_thread_time();

	while (__dpa_thread_time() < time + 3000)
		;
	/* 1.8 cycles a nanosecond. */
	cycles = __dpa_thread_cycles() - cycles;
	if (cycles < 5398000 || cycles > (__dpa_thread_time() - before + 1) * 1800)
		words[BLOCK / 8] = 1;
	words[1] = *last;
	*(volatile uint64_t *)(pointer + BLOCK - 8) = words[1];
	words[1] = *(volatile uint64_t *)pointer;
	__dpa_thread_window_writeback();
	pointer = open_window(shared->window, shared->other_key, shared->other);
	*(volatile uint64_t *)pointer = 1;
	__dpa_thread_window_writeback();
	write_entry(shared, 0);
	__dpa_thread_memory_writeback();
	flexio_dev_qp_sq_ring_db(1, shared->queues.sq);
	flexio_dev_cq_arm(0, shared->queues.cq.number);
	flexio_dev_msix_send(shared->queues.cq.number);
	flexio_dev_cq_arm(0, shared->queues.cq.number);
	__atomic_fetch_add((uint64_t *)shared->block, 1, __ATOMIC_RELAXED);
	return __atomic_load_n((uint64_t *)shared->block, __ATOMIC_RELAXED);
}

CALL(past_the_block)
{
	volatile uint64_t *words = (void *)shared->block;

	words[BLOCK / 8] = 1; /* ERROR past_the_block */
	return 0;
}

/* The host counts on. */
CALL(stale)
{
	volatile uint64_t *count = (void *)open_window(shared->window, shared->other_key, shared->other);
	uint64_t first = *count;

	while (*count == first)
		__dpa_thread_window_read_inv();
	__dpa_thread_window_read_inv();
	first = *count;
	while (*count < first + 8) /* ERROR stale */
		;
	return 0;
}

static __attribute__((noinline)) uint64_t deep(volatile uint8_t *above, int depth)
{
	volatile uint8_t own[1024];

	own[0] = above ? above[0] : 1;
	return depth ? own[0] + deep(own, depth - 1) : own[0];
}

CALL(deep_stack)
{
	return deep(NULL, 9) + (uint64_t)shared->go;
}

CALL(no_fence)
{
	write_entry(shared, 0);
	__dpa_thread_window_writeback();
	flexio_dev_qp_sq_ring_db(1, shared->queues.sq);
	return 0;
}

CALL(wake)
{
	flexio_dev_msix_send(shared->bell);
	return 0;
}

/* A handler that keeps the buffers of its frames. */
__dpa_global__ void keeps(uint64_t argument)
{
	struct queues *queues = &((struct shared *)argument)->queues;
	uint32_t length;

	while (next_frame(queues, &length))
		flexio_dev_dbr_cq_set_ci((uint32_t *)queues->cq.record, ++queues->cq.index);
	wait_for_frames(queues);
}

/* Handlers that leave without a writeback. */
__dpa_global__ void reschedules(uint64_t argument)
{
	struct shared *shared = (void *)argument;
	uint64_t pointer = open_window(shared->window, shared->host_key, shared->host);

	flexio_dev_cq_arm(1, shared->bell);
	*(volatile uint64_t *)pointer = 1; /* ERROR reschedules */
	flexio_dev_thread_reschedule();
}

__dpa_global__ void finishes(uint64_t argument)
{
	struct shared *shared = (void *)argument;
	uint64_t pointer = open_window(shared->window, shared->host_key, shared->host);

	*(volatile uint64_t *)pointer = 1; /* ERROR finishes */
	flexio_dev_thread_finish();
}

/* A handler that waits for one word, then for one of two, and returns without a reschedule. A
   writeback may come after a turn of others and a wait. */
__dpa_global__ void waits(uint64_t argument)
{
	struct shared *shared = (void *)argument;
	volatile uint32_t *go = &shared->go;
	volatile uint32_t *bell = &shared->bell;
	uint64_t pointer = open_window(shared->window, shared->host_key, shared->host);

	*(volatile uint64_t *)pointer = 1;
	flexio_dev_yield_and_retrigger();
	while (!*go)
		;
	__dpa_thread_window_writeback();
	while (*go == 1 && *bell)
		;
}

/* Takes a turn. */
__dpa_rpc__ uint64_t nothing(uint64_t argument)
{
	return argument;
}

/* Pairs of handlers. The lines that the emulator names have the name of their function after HERE. */
#include "common.h"
#include "../../../examples/counter/queues/device.h"
#include <string.h>

#define HANDLER(name)                                             \
	static void name##_body(struct shared *shared);           \
	__dpa_global__ void name(uint64_t argument)               \
	{                                                         \
		struct shared *shared = (void *)argument;         \
                                                                  \
		name##_body(shared);                              \
		__atomic_fetch_add(&shared->done, 1, __ATOMIC_RELEASE); \
		/* It takes no completions, so it must not sleep. */ \
		flexio_dev_thread_finish();                       \
	}                                                         \
	static void name##_body(struct shared *shared)
#define IS_VOLATILE(word) (*(volatile __typeof__(word) *)&(word))
#define FENCE_W __dpa_thread_memory_writeback()
#define FENCE_R __dpa_thread_memory_fence(__DPA_R, __DPA_R)

__dpa_rpc__ uint64_t wake(uint64_t bell)
{
	flexio_dev_msix_send(bell);
	return 0;
}

__dpa_rpc__ uint64_t finished(uint64_t argument)
{
	return __atomic_load_n(&((struct shared *)argument)->done, __ATOMIC_ACQUIRE);
}

__dpa_rpc__ uint64_t result(uint64_t argument)
{
	return ((struct shared *)argument)->count;
}

__dpa_rpc__ uint64_t adds(uint64_t argument)
{
	return ++((struct shared *)argument)->count;
}

HANDLER(counts)
{
	shared->count++; /* HERE counts */
}

HANDLER(counts_too)
{
	shared->count++; /* HERE counts_too */
}

HANDLER(counts_volatile)
{
	IS_VOLATILE(shared->count)++; /* HERE counts_volatile */
}

/* Fences order what is read before and written after, and make no change atomic. */
HANDLER(counts_fenced)
{
	FENCE_R;
	shared->count++; /* HERE counts_fenced */
	FENCE_W;
}

HANDLER(counts_atomic)
{
	__atomic_fetch_add(&shared->count, 1, __ATOMIC_RELAXED); /* HERE counts_atomic */
}

HANDLER(counts_locked)
{
	spin_lock(&shared->lock);
	shared->count++;
	spin_unlock(&shared->lock);
}

HANDLER(counts_locked_often)
{
	for (int at = 0; at < 100; at++) {
		spin_lock(&shared->lock);
		shared->count++;
		flexio_dev_yield_and_retrigger();
		spin_unlock(&shared->lock);
	}
}

HANDLER(writes_data)
{
	shared->data = 7; /* HERE writes_data */
}

HANDLER(reads_data)
{
	shared->count += shared->data; /* HERE reads_data */
}

HANDLER(writes_more)
{
	shared->more = 9;
}

HANDLER(writes_both)
{
	*(uint64_t *)&shared->data = 5; /* HERE writes_both */
}

HANDLER(writes_a_byte)
{
	((volatile uint8_t *)&shared->data)[2] = 1; /* HERE writes_a_byte */
}

HANDLER(copies)
{
	memcpy(shared->text, "abcdefghijklmnopqrstuvwxyz", 27 + (shared->turn == 9)); /* HERE copies */
}

HANDLER(writes_text)
{
	shared->text[26] = 'x'; /* HERE writes_text */
}

HANDLER(writes_behind_text)
{
	shared->text[27] = 'x';
}

/* Data, then a flag. */

HANDLER(publishes)
{
	shared->data = 8;
	FENCE_W;
	IS_VOLATILE(shared->flag) = 1;
}

HANDLER(publishes_plain)
{
	shared->data = 8;
	FENCE_W;
	shared->flag = 1;
}

HANDLER(publishes_unfenced)
{
	shared->data = 8; /* HERE publishes_unfenced */
	IS_VOLATILE(shared->flag) = 1;
}

/* The fence is behind the flag. */
HANDLER(publishes_late)
{
	FENCE_W;
	IS_VOLATILE(shared->flag) = 1;
	shared->data = 8; /* HERE publishes_late */
	FENCE_W;
}

/* Windows are another space than memory. */
HANDLER(publishes_other_space)
{
	shared->data = 8; /* HERE publishes_other_space */
	__dpa_thread_window_writeback();
	IS_VOLATILE(shared->flag) = 1;
}

HANDLER(publishes_atomic)
{
	shared->data = 8;
	__atomic_store_n(&shared->flag, 1, __ATOMIC_RELEASE);
}

HANDLER(publishes_relaxed)
{
	shared->data = 8; /* HERE publishes_relaxed */
	__atomic_store_n(&shared->flag, 1, __ATOMIC_RELAXED);
}

HANDLER(awaits)
{
	while (!IS_VOLATILE(shared->flag))
		;
	FENCE_R;
	shared->count += shared->data; /* HERE awaits */
}

HANDLER(awaits_unfenced)
{
	while (!IS_VOLATILE(shared->flag))
		;
	shared->count += shared->data; /* HERE awaits_unfenced */
}

HANDLER(awaits_atomic)
{
	while (!__atomic_load_n(&shared->flag, __ATOMIC_ACQUIRE))
		;
	shared->count += shared->data; /* HERE awaits_atomic */
}

HANDLER(awaits_relaxed)
{
	while (!__atomic_load_n(&shared->flag, __ATOMIC_RELAXED))
		;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	shared->count += shared->data; /* HERE awaits_relaxed */
}

/* They take turns at a plain counter. */
static inline void take_turns(struct shared *shared, uint64_t me)
{
	for (int at = 0; at < 50; at++) {
		while (IS_VOLATILE(shared->turn) != me)
			;
		FENCE_R;
		shared->count++;
		FENCE_W;
		IS_VOLATILE(shared->turn) = 1 - me;
	}
}

HANDLER(turns_0)
{
	take_turns(shared, 0);
}

HANDLER(turns_1)
{
	take_turns(shared, 1);
}

/* Hands over by an event. */

HANDLER(sends_event)
{
	shared->count++;
	flexio_dev_msix_send(shared->bell);
}

HANDLER(activates)
{
	shared->count++;
	flexio_dev_event_handler_activate(shared->other);
}

/* What comes after the event is not ordered. */
HANDLER(sends_early)
{
	flexio_dev_msix_send(shared->bell);
	shared->count++; /* HERE sends_early */
}

HANDLER(asks_host)
{
	flexio_uintptr_t pointer = 0;

	shared->count++;
	flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->window, shared->host_key);
	flexio_dev_window_ptr_acquire(FLEXIO_DEV_WINDOW_ENTITY_0, shared->host_flag, &pointer);
	*(volatile uint64_t *)pointer = 1;
	__dpa_thread_window_writeback();
}

/* Globals. */
static uint64_t total, apart[2];

HANDLER(counts_global)
{
	total += shared->count + 1; /* HERE counts_global */
}

HANDLER(counts_apart)
{
	apart[0] += shared->data + 1;
}

HANDLER(counts_apart_too)
{
	apart[1] += shared->data + 1;
}

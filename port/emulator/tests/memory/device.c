/* Accesses of memory. The lines that the emulator names have the name of their function after HERE. */
#include "common.h"
#include "../../examples/counter/queues/device.h"
#include <string.h>

#define CALL(name)                                                                             \
	__dpa_rpc__ uint64_t name(uint64_t argument);                                          \
	static uint64_t name##_body(struct shared *shared);                                    \
	__dpa_rpc__ uint64_t name(uint64_t argument) { return name##_body((void *)argument); } \
	static uint64_t name##_body(struct shared *shared)
#define APART static __attribute__((noinline))
#define STACK 8184

/* Stack. */

APART uint64_t fill(volatile uint8_t *bytes, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t at = 0; at < count; at++)
		bytes[at] = at;
	for (uint32_t at = 0; at < count; at += 61)
		sum += bytes[at];
	return sum;
}

/* A leaf: nothing but its own array. */
CALL(leaf_7900)
{
	volatile uint8_t bytes[7900];

	for (uint32_t at = 0; at < sizeof(bytes); at++)
		bytes[at] = at;
	return bytes[shared->acted + 11];
}

APART uint64_t leaf(uint32_t seed)
{ /* HERE leaf_9000 */
	volatile uint8_t bytes[9000];

	for (uint32_t at = 0; at < sizeof(bytes); at++)
		bytes[at] = at + seed;
	return bytes[seed + 11];
}

CALL(leaf_9000)
{
	return leaf(shared->acted);
}

/* Two elements of a large array, and nothing between them. */
APART uint64_t ends(uint32_t seed)
{ /* HERE ends_12000 */
	volatile uint8_t bytes[12000];

	bytes[0] = seed;
	bytes[sizeof(bytes) - 1] = seed + 1;
	return bytes[0] + bytes[sizeof(bytes) - 1];
}

CALL(ends_12000)
{
	return ends(shared->acted);
}

/* An array of a length that is known late. */
APART uint64_t late(uint32_t count)
{
	uint8_t bytes[count];

	for (uint32_t at = 0; at < count; at++)
		bytes[count - 1 - at] = at * count; /* HERE late_9000 */
	return bytes[count / 3];
}

CALL(late_7900)
{
	return late(7900 + shared->acted);
}

CALL(late_9000)
{
	return late(9000 + shared->acted);
}

/* The callee accesses an array of its caller. */
CALL(callee_7800)
{
	uint8_t bytes[7800];

	return fill(bytes, sizeof(bytes) - shared->acted);
}

APART uint64_t filled(uint32_t unused)
{ /* HERE callee_9000 */
	uint8_t bytes[9000];

	return fill(bytes, sizeof(bytes) - unused);
}

CALL(callee_9000)
{
	return filled(shared->acted);
}

/* Words at the last byte that a DPA's stack has, and around it. The entry point's frame begins 16
   bytes above its frame pointer. */
__dpa_rpc__ uint64_t depth_within(uint64_t argument)
{
	volatile uint8_t *low = __builtin_alloca(9000);
	volatile uint8_t *top = (volatile uint8_t *)__builtin_frame_address(0) + 16;

	(void)argument;
	top[-(STACK - 1)] = 3;
	top[-STACK] = 4;
	return top[-(STACK - 1)] + top[-STACK] + (top - low > 9000) * 8;
}

__dpa_rpc__ uint64_t depth_above(uint64_t argument)
{
	volatile uint8_t *low = __builtin_alloca(9000);
	volatile uint8_t *top = (volatile uint8_t *)__builtin_frame_address(0) + 16;

	(void)argument;
	top[-(STACK + 1)] = 3; /* HERE depth_above */
	top[-(STACK + 2)] = 4;
	return top[-(STACK + 1)] + top[-(STACK + 2)] + (top - low > 9000) * 8;
}

/* Where the stack ends in a function that needs little of it. */
APART uint64_t stack_here(void)
{ /* HERE begins_8192 */
	register uint64_t here __asm__("sp");

	__asm__ volatile("");
	return here;
}

/* Calls that function when the stack has as many bytes as it says at its beginning. */
static inline __attribute__((always_inline)) uint64_t begins_at(uint64_t top, uint64_t depth)
{
	uint64_t now = top - stack_here();
	void *room = __builtin_alloca(depth - now - 8); /* up to a multiple of 16 */

	__asm__ volatile("" : : "r"(room) : "memory");
	return top - stack_here();
}

__dpa_rpc__ uint64_t begins_8160(uint64_t argument)
{
	(void)argument;
	return begins_at((uint64_t)__builtin_frame_address(0) + 16, 8160);
}

__dpa_rpc__ uint64_t begins_8176(uint64_t argument)
{
	(void)argument;
	return begins_at((uint64_t)__builtin_frame_address(0) + 16, 8176);
}

__dpa_rpc__ uint64_t begins_8192(uint64_t argument)
{
	(void)argument;
	return begins_at((uint64_t)__builtin_frame_address(0) + 16, 8192);
}

APART uint64_t down(volatile uint64_t *above, uint64_t depth)
{ /* HERE recursion */
	volatile uint64_t own[16];

	own[depth % 16] = above ? above[0] : 1;
	return depth ? own[depth % 16] + down(own, depth - 1) : 5;
}

CALL(recursion)
{
	return down(NULL, 100 + shared->acted);
}

/* A recursion that never ends. */
APART uint64_t for_ever(volatile uint64_t *above, uint64_t depth)
{
	volatile uint64_t own[256];

	own[depth % 256] = above ? above[1] : 1;
	return depth + 1 ? own[3] + for_ever(own, depth + 1) : 0;
}

CALL(endless_recursion)
{
	return for_ever(NULL, shared->acted);
}

/* An array that no stack here has room for. */
APART uint64_t huge(uint32_t seed)
{
	volatile uint8_t bytes[4 << 20];

	bytes[seed] = 1;
	return bytes[seed] + bytes[seed + 9];
}

CALL(huge_array)
{
	return huge(shared->acted);
}

APART uint64_t *own_word(uint64_t value)
{
	uint64_t words[8];
	uint64_t *volatile found = words;

	for (int at = 0; at < 8; at++)
		found[at] = value + at;
	return found;
}

CALL(dead_frame)
{
	volatile uint64_t *word = own_word(shared->acted);

	return word[3] != 77; /* HERE dead_frame */
}

/* Heap. */

#define BYTE(block, at) (*(volatile uint8_t *)(shared->block + (at)))
#define WORD(block, at) (*(volatile uint64_t *)(shared->block + (at)))

CALL(heap_ends)
{
	BYTE(first, 0) = 1;
	BYTE(first, 199) = 2;
	WORD(first, 192) += 3;
	WORD(second, 64) = 4;
	return BYTE(first, 0) + BYTE(second, 71) + BYTE(second, 0);
}

CALL(heap_write_behind)
{
	BYTE(first, 200) = 1; /* HERE heap_write_behind */
	return 0;
}

CALL(heap_read_behind)
{
	return BYTE(first, 200); /* HERE heap_read_behind */
}

CALL(heap_write_before)
{
	BYTE(second, -1) = 1; /* HERE heap_write_before */
	return 0;
}

CALL(heap_read_before)
{
	return BYTE(first, -1); /* HERE heap_read_before */
}

CALL(heap_loop)
{
	volatile uint64_t *words = (void *)shared->second;

	for (int at = 0; at <= 9; at++)
		words[at] = at; /* HERE heap_loop */
	return words[8];
}

CALL(heap_copy)
{
	memcpy((void *)shared->second, (void *)shared->first, 77 + shared->acted); /* HERE heap_copy */
	return 0;
}

CALL(heap_freed)
{
	return BYTE(freed, 47); /* HERE heap_freed */
}

CALL(heap_foreign)
{
	return WORD(foreign, 8); /* HERE heap_foreign */
}

/* Windows. */

static uint64_t pointer_to(uint32_t window, uint32_t key, uint64_t address)
{
	flexio_uintptr_t pointer = 0;

	flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_0, window, key);
	flexio_dev_window_ptr_acquire(FLEXIO_DEV_WINDOW_ENTITY_0, address, &pointer);
	return pointer;
}

/* Waits for what the host does meanwhile. */
static void let_host_act(struct shared *shared)
{
	flexio_uintptr_t signal = 0;

	flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_1, shared->signal_window, shared->key_signal);
	flexio_dev_window_ptr_acquire(FLEXIO_DEV_WINDOW_ENTITY_1, shared->host_signal, &signal);
	*(volatile uint64_t *)signal = 1;
	__dpa_thread_window_writeback();
	while (!__atomic_load_n(&shared->acted, __ATOMIC_ACQUIRE))
		;
}

#define A pointer_to(shared->window, shared->key_a, shared->host_a)
#define B pointer_to(shared->window, shared->key_b, shared->host_b)

CALL(window_same_key)
{
	volatile uint64_t *a = (void *)A;
	uint64_t sum = a[1];

	flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_a);
	return sum + a[1] + a[WORDS - 1];
}

/* Both pointers are acquired once, and then the keys change. */
CALL(window_switches)
{
	volatile uint64_t *a = (void *)A, *b = (void *)B;
	uint64_t sum = 0;

	for (int at = 0; at < 6; at++) {
		flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_a);
		sum += a[at];
		flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->window, shared->key_b);
		sum += b[at];
	}
	return sum;
}

/* A key of more memory translates the pointer as well. */
CALL(window_larger_key)
{
	volatile uint64_t *a = (void *)A;

	flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_both);
	return a[1];
}

CALL(window_other_key)
{
	volatile uint64_t *a = (void *)A;

	flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_b);
	return a[1]; /* HERE window_other_key */
}

/* After the wrong access the right key makes the pointer right again. */
CALL(window_other_key_write)
{
	volatile uint64_t *a = (void *)A, *b = (void *)B;

	b[2] = a[2]; /* HERE window_other_key_write */
	flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_a);
	a[3] = 7;
	__dpa_thread_window_writeback();
	return a[3];
}

CALL(window_no_pointer)
{
	volatile uint64_t *b = (void *)shared->host_b;

	(void)A;
	flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_b);
	return b[1]; /* HERE window_no_pointer */
}

/* Another entity has the key, and the pointer is none of its. */
CALL(window_other_entity)
{
	volatile uint64_t *a = (void *)A;

	flexio_dev_window_config(FLEXIO_DEV_WINDOW_ENTITY_1, shared->window, shared->key_a);
	flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_b);
	return a[1]; /* HERE window_other_entity */
}

CALL(window_kept)
{
	volatile uint64_t *a = (void *)A;
	uint64_t sum = a[1];

	let_host_act(shared);
	return sum + a[1];
}

CALL(window_deregistered)
{
	volatile uint64_t *a = (void *)A;
	uint64_t sum = a[1];

	let_host_act(shared);
	return sum + a[1]; /* HERE window_deregistered */
}

CALL(window_destroyed)
{
	volatile uint64_t *a = (void *)A;
	uint64_t sum = a[1];

	let_host_act(shared);
	return sum + a[1]; /* HERE window_destroyed */
}

CALL(window_acquired_late)
{
	flexio_uintptr_t pointer = 9;

	(void)A;
	let_host_act(shared);
	return flexio_dev_window_ptr_acquire(FLEXIO_DEV_WINDOW_ENTITY_0, shared->host_a, &pointer) ? 5 : 6;
}

CALL(window_configured_late)
{
	(void)A;
	let_host_act(shared);
	return flexio_dev_window_mkey_config(FLEXIO_DEV_WINDOW_ENTITY_0, shared->key_b) ? 5 : 6;
}

CALL(window_unmapped)
{
	volatile uint64_t *a = (void *)A;
	uint64_t sum = a[1];

	let_host_act(shared);
	return sum + a[1]; /* HERE window_unmapped */
}

/* Loops that never end. */

CALL(endless_loop)
{
	if (!shared->acted)
		for (;;) /* HERE endless_loop */
			;
	return 0;
}

/* The flag is read once. */
CALL(endless_flag)
{
	uint32_t acted = shared->acted;

	while (!acted) /* HERE endless_flag */
		;
	return acted;
}

/* The calls of a loop, which access nothing either. */
APART uint32_t next_state(uint32_t state)
{
	return state * 1664525 + 1013904223;
}

CALL(endless_calls)
{
	uint32_t state = shared->acted;

	do
		state = next_state(state);
	while (state);
	return state;
}

/* A flag in memory, without checks of accesses. */
CALL(endless_poll)
{
	volatile uint32_t *acted = &shared->acted;

	while (!*acted) /* HERE endless_poll */
		;
	return *acted;
}

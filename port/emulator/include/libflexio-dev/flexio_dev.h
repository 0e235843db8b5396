/* Device interface of the DPA emulator: the calls, names and meanings of FlexIO's public API, for
 * all versions from 2.2 on. Where a call lost its first argument (the thread's context) in 24.10,
 * the number or the type of the arguments decides. Calls named dpa_emulator_* are the emulator's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <dpaintrin.h>
#include <libflexio-dev/flexio_dev_dpa_arch.h>
#include <libflexio-dev/flexio_dev_endianity.h>
#include <libflexio-dev/flexio_dev_err.h>
#include <libflexio-dev/flexio_dev_queue_types.h>
#include <libflexio-dev/flexio_dev_ver.h>

#ifndef __unused
#define __unused __attribute__((unused))
#endif

/* Programs up to 2.2 stand between these two. */
#define __FLEXIO_ENTRY_POINT_START
#define __FLEXIO_ENTRY_POINT_END
#define flexio_dev_return() dpa_emulator_end(DPA_EMULATOR_RESCHEDULE)

typedef uint64_t flexio_uintptr_t;
typedef void(flexio_dev_event_handler_t)(uint64_t argument);
typedef uint64_t(flexio_dev_rpc_handler_t)(uint64_t argument);
typedef void(flexio_dev_async_rpc_handler_t)(uint64_t argument);
typedef uint64_t(flexio_dev_arg_unpack_func_t)(void *arguments, void *function);

typedef enum {
	FLEXIO_DEV_STATUS_SUCCESS = 0,
	FLEXIO_DEV_STATUS_FAILED = 1,
} flexio_dev_status_t;

typedef enum {
	FLEXIO_DEV_WINDOW_ENTITY_0 = 0,
	FLEXIO_DEV_WINDOW_ENTITY_1 = 1,
} flexio_dev_window_entity;

#define FLEXIO_MSG_DEV_NO_PRINT 0
#define FLEXIO_MSG_DEV_ALWAYS_PRINT 1
#define FLEXIO_MSG_DEV_ERROR 2
#define FLEXIO_MSG_DEV_WARN 3
#define FLEXIO_MSG_DEV_INFO 4
#define FLEXIO_MSG_DEV_DEBUG 5
typedef uint8_t flexio_msg_dev_level;

struct flexio_dev_thread_ctx;

/* How an activation ends. */
enum {
	DPA_EMULATOR_RESCHEDULE,
	DPA_EMULATOR_RETRIGGER,
	DPA_EMULATOR_FINISH,
	DPA_EMULATOR_YIELD,
	DPA_EMULATOR_YIELD_RETRIGGER,
};

struct flexio_dev_thread_ctx *dpa_emulator_context(void);
uint32_t dpa_emulator_thread_id(void);
uint64_t dpa_emulator_local_storage(void);
void dpa_emulator_end(int how);
void dpa_emulator_activate(uint32_t id);
void dpa_emulator_ring(uint32_t index, uint32_t number);
void dpa_emulator_arm(uint32_t index, uint32_t cqn);
void dpa_emulator_zero_completion(uint32_t cqn);
void dpa_emulator_event_index(uint32_t index, uint32_t eqn);
int dpa_emulator_outbox(uint32_t outbox);
int dpa_emulator_window(int entity, int windows, uint32_t window, uint32_t mkey);
uint64_t dpa_emulator_window_pointer(int entity, uint64_t address, uint64_t bytes);
void dpa_emulator_message(int stream, int level, const char *text, uint64_t bytes);
int dpa_emulator_vsnprintf(char *text, size_t bytes, const char *format,
			   __builtin_va_list arguments) __asm__("vsnprintf");

/* Threads. Arguments that a version takes are evaluated and not used. */
#define DPA_EMULATOR_UNUSED(...) ((void)(0, ##__VA_ARGS__))
static inline int flexio_dev_get_thread_ctx(struct flexio_dev_thread_ctx **context)
{
	*context = dpa_emulator_context();
	return 0;
}
#define flexio_dev_get_thread_id(...) (DPA_EMULATOR_UNUSED(__VA_ARGS__), dpa_emulator_thread_id())
#define flexio_dev_get_thread_local_storage(...) (DPA_EMULATOR_UNUSED(__VA_ARGS__), dpa_emulator_local_storage())
#define flexio_dev_get_errno(...) (DPA_EMULATOR_UNUSED(__VA_ARGS__), (uint64_t)0)
#define flexio_dev_get_and_rst_errno(...) (DPA_EMULATOR_UNUSED(__VA_ARGS__), (uint64_t)0)
#define flexio_dev_rst_errno(...) DPA_EMULATOR_UNUSED(__VA_ARGS__)
/* Outboxes: with the thread's context before 24.10, without it since. */
#define dpa_emulator_outbox1(outbox) ((flexio_dev_status_t)dpa_emulator_outbox(outbox))
#define dpa_emulator_outbox2(context, outbox) ((void)(context), dpa_emulator_outbox1(outbox))
#define dpa_emulator_outbox_of2(outbox, uar) ((void)(uar), dpa_emulator_outbox1(outbox))
#define dpa_emulator_outbox_of3(context, outbox, uar) \
	((void)(context), (void)(uar), dpa_emulator_outbox1(outbox))
#define flexio_dev_outbox_config(...) \
	DPA_EMULATOR_PICK2(__VA_ARGS__, dpa_emulator_outbox2, dpa_emulator_outbox1, )(__VA_ARGS__)
#define flexio_dev_outbox_config_fast(...) flexio_dev_outbox_config(__VA_ARGS__)
#define flexio_dev_outbox_config_uar_extension(...)                                          \
	DPA_EMULATOR_PICK3(__VA_ARGS__, dpa_emulator_outbox_of3, dpa_emulator_outbox_of2, ) \
	(__VA_ARGS__)
#define flexio_dev_thread_reschedule() dpa_emulator_end(DPA_EMULATOR_RESCHEDULE)
#define flexio_dev_thread_retrigger() dpa_emulator_end(DPA_EMULATOR_RETRIGGER)
#define flexio_dev_thread_finish() dpa_emulator_end(DPA_EMULATOR_FINISH)
#define flexio_dev_process_finish() dpa_emulator_end_process(FLEXIO_DEV_ERR_PROCESS_FINISH)
#define flexio_dev_yield(...) dpa_emulator_end(DPA_EMULATOR_YIELD)
#define flexio_dev_yield_and_retrigger(...) dpa_emulator_end(DPA_EMULATOR_YIELD_RETRIGGER)
#define flexio_dev_event_handler_activate(id) dpa_emulator_activate(id)

/* Doorbells: with the thread's context before 24.10, without it since. */
#define DPA_EMULATOR_PICK3(_1, _2, _3, name, ...) name
#define DPA_EMULATOR_PICK2(_1, _2, name, ...) name
#define dpa_emulator_ring3(context, index, number) ((void)(context), dpa_emulator_ring(index, number))
#define dpa_emulator_arm3(context, index, cqn) ((void)(context), dpa_emulator_arm(index, cqn))
#define dpa_emulator_eq3(context, index, eqn) ((void)(context), dpa_emulator_event_index(index, eqn))
#define dpa_emulator_zero2(context, cqn) ((void)(context), dpa_emulator_zero_completion(cqn))
#define flexio_dev_qp_sq_ring_db(...) \
	DPA_EMULATOR_PICK3(__VA_ARGS__, dpa_emulator_ring3, dpa_emulator_ring, )(__VA_ARGS__)
#define flexio_dev_cq_arm(...) \
	DPA_EMULATOR_PICK3(__VA_ARGS__, dpa_emulator_arm3, dpa_emulator_arm, )(__VA_ARGS__)
#define flexio_dev_eq_update_ci(...) \
	DPA_EMULATOR_PICK3(__VA_ARGS__, dpa_emulator_eq3, dpa_emulator_event_index, )(__VA_ARGS__)
#define flexio_dev_msix_send(...) \
	DPA_EMULATOR_PICK2(__VA_ARGS__, dpa_emulator_zero2, dpa_emulator_zero_completion, )(__VA_ARGS__)
#define flexio_dev_zcqe_gen(...) flexio_dev_msix_send(__VA_ARGS__)

/* Windows: the first argument is the thread's context before 24.10, an entity since. */
#define DPA_EMULATOR_ENTITY(first) \
	((void)(first),                \
	 _Generic((first), struct flexio_dev_thread_ctx *: 0, default: (int)(intptr_t)(first)))
static inline flexio_dev_status_t dpa_emulator_pointer(int entity, uint64_t address,
						       flexio_uintptr_t *pointer)
{
	*pointer = dpa_emulator_window_pointer(entity, address, 1);
	return *pointer ? FLEXIO_DEV_STATUS_SUCCESS : FLEXIO_DEV_STATUS_FAILED;
}
static inline flexio_dev_status_t dpa_emulator_copy(int entity, uint64_t address,
						    const void *source, uint32_t bytes)
{
	uint64_t pointer = dpa_emulator_window_pointer(entity, address, bytes);
	if (!pointer)
		return FLEXIO_DEV_STATUS_FAILED;
	__builtin_memcpy((void *)pointer, source, bytes);
	dpa_emulator_fence(4, 2, 2);
	return FLEXIO_DEV_STATUS_SUCCESS;
}
#define flexio_dev_window_config(first, window, mkey) \
	((flexio_dev_status_t)dpa_emulator_window(DPA_EMULATOR_ENTITY(first), 1, window, mkey))
#define flexio_dev_window_mkey_config(first, mkey) \
	((flexio_dev_status_t)dpa_emulator_window(DPA_EMULATOR_ENTITY(first), 0, 0, mkey))
#define flexio_dev_window_ptr_acquire(first, address, pointer) \
	dpa_emulator_pointer(DPA_EMULATOR_ENTITY(first), address, pointer)
#define flexio_dev_window_copy_to_host(first, address, source, bytes) \
	dpa_emulator_copy(DPA_EMULATOR_ENTITY(first), address, source, bytes)
#define flexio_dev_window_copy_from_host(first, target, address, bytes) FLEXIO_DEV_STATUS_FAILED

/* Messages. */
__attribute__((format(printf, 3, 4), unused)) static int
dpa_emulator_print(int stream, int level, const char *format, ...)
{
	char text[512];
	__builtin_va_list arguments;
	int bytes;

	__builtin_va_start(arguments, format);
	bytes = dpa_emulator_vsnprintf(text, sizeof(text), format, arguments);
	__builtin_va_end(arguments);
	if (bytes < 0)
		return bytes;
	dpa_emulator_message(stream, level, text,
			     bytes < (int)sizeof(text) ? (uint64_t)bytes : sizeof(text) - 1);
	return bytes;
}
#define flexio_dev_print(...) dpa_emulator_print(0, FLEXIO_MSG_DEV_INFO, __VA_ARGS__)
#define flexio_dev_msg(stream, level, ...) dpa_emulator_print(stream, level, __VA_ARGS__)
#define flexio_dev_msg_broadcast(level, ...) dpa_emulator_print(-1, level, __VA_ARGS__)
#define flexio_dev_msg_dflt(level, ...) dpa_emulator_print(0, level, __VA_ARGS__)
#define flexio_dev_puts(...) DPA_EMULATOR_PICK2(__VA_ARGS__, dpa_emulator_puts2, dpa_emulator_puts1, )(__VA_ARGS__)
#define dpa_emulator_puts1(text) dpa_emulator_print(0, FLEXIO_MSG_DEV_INFO, "%s\n", text)
#define dpa_emulator_puts2(context, text) dpa_emulator_puts1(text)

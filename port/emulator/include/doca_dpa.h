/* DOCA DPA for hosts. */
#pragma once

#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_sync_event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a stub of a device function is. */
typedef void(doca_dpa_func_t)(void);

enum doca_dpa_dev_log_level {
	DOCA_DPA_DEV_LOG_LEVEL_DISABLE = 10,
	DOCA_DPA_DEV_LOG_LEVEL_CRIT = 20,
	DOCA_DPA_DEV_LOG_LEVEL_ERROR = 30,
	DOCA_DPA_DEV_LOG_LEVEL_WARNING = 40,
	DOCA_DPA_DEV_LOG_LEVEL_INFO = 50,
	DOCA_DPA_DEV_LOG_LEVEL_DEBUG = 60,
};

struct doca_dpa_thread;
struct doca_dpa_thread_group;
struct doca_dpa_eu_affinity;
struct doca_dpa_completion;
struct doca_dpa_notification_completion;
struct doca_dpa_async_ops;

/* Contexts. */
doca_error_t doca_dpa_cap_is_supported(const struct doca_devinfo *info);
doca_error_t doca_dpa_create(struct doca_dev *device, struct doca_dpa **dpa);
doca_error_t doca_dpa_destroy(struct doca_dpa *dpa);
doca_error_t doca_dpa_set_app(struct doca_dpa *dpa, struct doca_dpa_app *app);
doca_error_t doca_dpa_start(struct doca_dpa *dpa);
doca_error_t doca_dpa_stop(struct doca_dpa *dpa);
doca_error_t doca_dpa_device_extend(struct doca_dpa *dpa, struct doca_dev *device,
				    struct doca_dpa **extended);
doca_error_t doca_dpa_get_dpa_handle(struct doca_dpa *dpa, doca_dpa_dev_t *handle);
doca_error_t doca_dpa_peek_at_last_error(const struct doca_dpa *dpa);
doca_error_t doca_dpa_set_log_level(struct doca_dpa *dpa, enum doca_dpa_dev_log_level level);
doca_error_t doca_dpa_log_file_set_path(struct doca_dpa *dpa, const char *path);
doca_error_t doca_dpa_get_max_threads_per_kernel(const struct doca_dpa *dpa, unsigned int *threads);
doca_error_t doca_dpa_get_kernel_max_run_time(const struct doca_dpa *dpa,
					      unsigned long long *seconds);
doca_error_t doca_dpa_get_total_num_eus_available(struct doca_dpa *dpa, unsigned int *units);

/* Memory of the DPA's heap. */
doca_error_t doca_dpa_mem_alloc(struct doca_dpa *dpa, size_t bytes, doca_dpa_dev_uintptr_t *address);
doca_error_t doca_dpa_mem_free(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t address);
doca_error_t doca_dpa_memset(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t address, int value,
			     size_t bytes);
doca_error_t doca_dpa_h2d_memcpy(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t target,
				 const void *source, size_t bytes);
doca_error_t doca_dpa_d2h_memcpy(struct doca_dpa *dpa, void *target,
				 doca_dpa_dev_uintptr_t source, size_t bytes);

/* Calls and kernels. */
doca_error_t doca_dpa_rpc(struct doca_dpa *dpa, doca_dpa_func_t *function, uint64_t *result, ...);
doca_error_t doca_dpa_kernel_launch_update_set(struct doca_dpa *dpa,
					       struct doca_sync_event *wait_event, uint64_t above,
					       struct doca_sync_event *completion_event,
					       uint64_t value, unsigned int threads,
					       doca_dpa_func_t *function, ...);
doca_error_t doca_dpa_kernel_launch_update_add(struct doca_dpa *dpa,
					       struct doca_sync_event *wait_event, uint64_t above,
					       struct doca_sync_event *completion_event,
					       uint64_t value, unsigned int threads,
					       doca_dpa_func_t *function, ...);

/* Threads. */
doca_error_t doca_dpa_thread_create(struct doca_dpa *dpa, struct doca_dpa_thread **thread);
doca_error_t doca_dpa_thread_destroy(struct doca_dpa_thread *thread);
doca_error_t doca_dpa_thread_set_func_arg(struct doca_dpa_thread *thread, doca_dpa_func_t *function,
					  uint64_t argument);
doca_error_t doca_dpa_thread_set_local_storage(struct doca_dpa_thread *thread,
					       doca_dpa_dev_uintptr_t storage);
doca_error_t doca_dpa_thread_set_affinity(struct doca_dpa_thread *thread,
					  struct doca_dpa_eu_affinity *affinity);
doca_error_t doca_dpa_thread_start(struct doca_dpa_thread *thread);
doca_error_t doca_dpa_thread_stop(struct doca_dpa_thread *thread);
doca_error_t doca_dpa_thread_run(struct doca_dpa_thread *thread);
doca_error_t doca_dpa_thread_group_create(struct doca_dpa *dpa, unsigned int threads,
					  struct doca_dpa_thread_group **group);
doca_error_t doca_dpa_thread_group_destroy(struct doca_dpa_thread_group *group);
doca_error_t doca_dpa_thread_group_set_thread(struct doca_dpa_thread_group *group,
					      struct doca_dpa_thread *thread, unsigned int rank);
doca_error_t doca_dpa_thread_group_start(struct doca_dpa_thread_group *group);
doca_error_t doca_dpa_thread_group_stop(struct doca_dpa_thread_group *group);
doca_error_t doca_dpa_eu_affinity_create(struct doca_dpa *dpa,
					 struct doca_dpa_eu_affinity **affinity);
doca_error_t doca_dpa_eu_affinity_destroy(struct doca_dpa_eu_affinity *affinity);
doca_error_t doca_dpa_eu_affinity_set(struct doca_dpa_eu_affinity *affinity, unsigned int unit);
doca_error_t doca_dpa_eu_affinity_clear(struct doca_dpa_eu_affinity *affinity);
doca_error_t doca_dpa_eu_affinity_get(struct doca_dpa_eu_affinity *affinity, unsigned int *unit);

/* What wakes threads. */
doca_error_t doca_dpa_completion_create(struct doca_dpa *dpa, unsigned int depth,
					struct doca_dpa_completion **completion);
doca_error_t doca_dpa_completion_destroy(struct doca_dpa_completion *completion);
doca_error_t doca_dpa_completion_set_thread(struct doca_dpa_completion *completion,
					    struct doca_dpa_thread *thread);
doca_error_t doca_dpa_completion_start(struct doca_dpa_completion *completion);
doca_error_t doca_dpa_completion_stop(struct doca_dpa_completion *completion);
doca_error_t doca_dpa_completion_get_dpa_handle(struct doca_dpa_completion *completion,
						doca_dpa_dev_completion_t *handle);
doca_error_t
doca_dpa_notification_completion_create(struct doca_dpa *dpa, struct doca_dpa_thread *thread,
					struct doca_dpa_notification_completion **notification);
doca_error_t
doca_dpa_notification_completion_destroy(struct doca_dpa_notification_completion *notification);
doca_error_t
doca_dpa_notification_completion_start(struct doca_dpa_notification_completion *notification);
doca_error_t
doca_dpa_notification_completion_stop(struct doca_dpa_notification_completion *notification);
doca_error_t doca_dpa_notification_completion_get_dpa_handle(
	struct doca_dpa_notification_completion *notification,
	doca_dpa_dev_notification_completion_t *handle);

/* Refused. */

#ifdef __cplusplus
}
#endif

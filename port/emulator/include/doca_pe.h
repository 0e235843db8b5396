/* Progress engines and tasks. Each call of doca_pe_progress ends one task at most. */
#pragma once

#include <doca_ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_pe;
struct doca_task;

doca_error_t doca_pe_create(struct doca_pe **engine);
doca_error_t doca_pe_destroy(struct doca_pe *engine);
doca_error_t doca_pe_connect_ctx(struct doca_pe *engine, struct doca_ctx *ctx);
doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe *engine, size_t *count);
uint8_t doca_pe_progress(struct doca_pe *engine);

doca_error_t doca_task_submit(struct doca_task *task);
doca_error_t doca_task_submit_ex(struct doca_task *task, uint32_t flags);
doca_error_t doca_task_try_submit(struct doca_task *task);
doca_error_t doca_task_get_status(const struct doca_task *task);
void doca_task_free(struct doca_task *task);
void doca_task_set_user_data(struct doca_task *task, union doca_data user);
union doca_data doca_task_get_user_data(const struct doca_task *task);
struct doca_ctx *doca_task_get_ctx(const struct doca_task *task);

#ifdef __cplusplus
}
#endif

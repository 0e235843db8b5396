/* Contexts of libraries: here those of RDMA. */
#pragma once

#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum doca_ctx_states {
	DOCA_CTX_STATE_IDLE = 0,
	DOCA_CTX_STATE_STARTING = 1,
	DOCA_CTX_STATE_RUNNING = 2,
	DOCA_CTX_STATE_STOPPING = 3,
};

doca_error_t doca_ctx_start(struct doca_ctx *ctx);
doca_error_t doca_ctx_stop(struct doca_ctx *ctx);
doca_error_t doca_ctx_get_state(const struct doca_ctx *ctx, enum doca_ctx_states *state);
doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx *ctx, size_t *count);
doca_error_t doca_ctx_get_user_data(const struct doca_ctx *ctx, union doca_data *user);
doca_error_t doca_ctx_set_user_data(struct doca_ctx *ctx, union doca_data user);

typedef void (*doca_ctx_state_changed_callback_t)(const union doca_data user, struct doca_ctx *ctx,
						  enum doca_ctx_states before,
						  enum doca_ctx_states now);

doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx *ctx,
					   doca_ctx_state_changed_callback_t changed);
doca_error_t doca_ctx_set_datapath_on_dpa(struct doca_ctx *ctx, struct doca_dpa *dpa);

#ifdef __cplusplus
}
#endif

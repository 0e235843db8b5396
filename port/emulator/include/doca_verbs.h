/* Ethernet queues of verbs, on the DPA. */
#pragma once

#include <doca_dpa.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DOCA_VERBS_CONTEXT_CREATE_FLAGS_NONE 0
enum doca_verbs_ts_source_type {
	DOCA_VERBS_TS_SOURCE_DEFAULT = 0,
	DOCA_VERBS_TS_SOURCE_FREE_RUNNING = 1,
	DOCA_VERBS_TS_SOURCE_REAL_TIME = 2,
};
struct doca_verbs_context;
struct doca_verbs_device_attr;
struct doca_verbs_pd;
struct doca_verbs_eth_sq;
struct doca_verbs_eth_rq;
struct doca_verbs_eth_sq_init_attr;
struct doca_verbs_eth_rq_init_attr;

doca_error_t doca_verbs_context_create(struct doca_devinfo *info, uint32_t flags,
				       struct doca_verbs_context **context);
doca_error_t doca_verbs_context_destroy(struct doca_verbs_context *context);
doca_error_t doca_verbs_query_device(struct doca_verbs_context *context,
				     struct doca_verbs_device_attr **attributes);
doca_error_t doca_verbs_device_attr_free(struct doca_verbs_device_attr *attributes);
doca_error_t doca_verbs_device_attr_get_is_eth_sq_ts_source_type_supported(
	const struct doca_verbs_device_attr *attributes, uint32_t type);
uint64_t doca_verbs_device_attr_get_ts_free_running_clock_frequency(
	const struct doca_verbs_device_attr *attributes);
doca_error_t doca_verbs_pd_create(struct doca_verbs_context *context, struct doca_verbs_pd **pd);
doca_error_t doca_verbs_pd_destroy(struct doca_verbs_pd *pd);
doca_error_t doca_verbs_pd_as_doca_dev(struct doca_verbs_pd *pd, struct doca_dev **device);

/* Both kinds of queues have the same calls. */
#define DPA_EMULATOR_ETH(kind)                                                                     \
	doca_error_t doca_verbs_eth_##kind##_init_attr_create(                                     \
		struct doca_verbs_eth_##kind##_init_attr **attributes);                            \
	doca_error_t doca_verbs_eth_##kind##_init_attr_destroy(                                    \
		struct doca_verbs_eth_##kind##_init_attr *attributes);                             \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_pd(                                     \
		struct doca_verbs_eth_##kind##_init_attr *attributes, struct doca_verbs_pd *pd);   \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_dpa(                                    \
		struct doca_verbs_eth_##kind##_init_attr *attributes, struct doca_dpa *dpa);       \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_dpa_completion(                         \
		struct doca_verbs_eth_##kind##_init_attr *attributes,                              \
		struct doca_dpa_completion *completion);                                           \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_wr_num(                                 \
		struct doca_verbs_eth_##kind##_init_attr *attributes, uint32_t entries);           \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_max_sges(                               \
		struct doca_verbs_eth_##kind##_init_attr *attributes, uint32_t buffers);           \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_queue_id(                               \
		struct doca_verbs_eth_##kind##_init_attr *attributes, uint16_t id);                \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_ts_source_type(                         \
		struct doca_verbs_eth_##kind##_init_attr *attributes, uint8_t type);               \
	doca_error_t doca_verbs_eth_##kind##_init_attr_set_external_datapath_en(                   \
		struct doca_verbs_eth_##kind##_init_attr *attributes, uint8_t is_enabled);         \
	doca_error_t doca_verbs_eth_##kind##_create(                                               \
		struct doca_verbs_context *context,                                                \
		struct doca_verbs_eth_##kind##_init_attr *attributes,                              \
		struct doca_verbs_eth_##kind **queue);                                             \
	doca_error_t doca_verbs_eth_##kind##_destroy(struct doca_verbs_eth_##kind *queue);         \
	doca_error_t doca_verbs_eth_##kind##_get_dpa_handle(                                       \
		struct doca_verbs_eth_##kind *queue, struct doca_dpa *dpa,                         \
		doca_dpa_dev_verbs_eth_##kind##_t *handle);
DPA_EMULATOR_ETH(sq)
DPA_EMULATOR_ETH(rq)

#ifdef __cplusplus
}
#endif

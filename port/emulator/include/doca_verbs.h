/* Queues of verbs, on the DPA. */
#pragma once

#include <doca_dpa.h>
#include <doca_uar.h>
#include <doca_umem.h>

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

/* Pairs of queues with reliable connections. */
#define DOCA_GID_BYTE_LENGTH 16
#define DOCA_VERBS_QP_TYPE_RC 0
enum doca_verbs_qp_state {
	DOCA_VERBS_QP_STATE_RST = 0,
	DOCA_VERBS_QP_STATE_INIT = 1,
	DOCA_VERBS_QP_STATE_RTR = 2,
	DOCA_VERBS_QP_STATE_RTS = 3,
	DOCA_VERBS_QP_STATE_ERR = 6,
};
enum doca_verbs_addr_type { DOCA_VERBS_ADDR_TYPE_IPv4, DOCA_VERBS_ADDR_TYPE_IPv6 };
enum doca_mtu_size {
	DOCA_MTU_SIZE_256_BYTES,
	DOCA_MTU_SIZE_512_BYTES,
	DOCA_MTU_SIZE_1K_BYTES,
	DOCA_MTU_SIZE_2K_BYTES,
	DOCA_MTU_SIZE_4K_BYTES,
};
/* What a change names. */
enum doca_verbs_qp_attr_mask {
	DOCA_VERBS_QP_ATTR_NEXT_STATE = 1 << 0,
	DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_WRITE = 1 << 1,
	DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_READ = 1 << 2,
	DOCA_VERBS_QP_ATTR_ALLOW_REMOTE_ATOMIC = 1 << 3,
	DOCA_VERBS_QP_ATTR_PKEY_INDEX = 1 << 4,
	DOCA_VERBS_QP_ATTR_PORT_NUM = 1 << 5,
	DOCA_VERBS_QP_ATTR_AH_ATTR = 1 << 6,
	DOCA_VERBS_QP_ATTR_PATH_MTU = 1 << 7,
	DOCA_VERBS_QP_ATTR_RQ_PSN = 1 << 8,
	DOCA_VERBS_QP_ATTR_SQ_PSN = 1 << 9,
	DOCA_VERBS_QP_ATTR_DEST_QP_NUM = 1 << 10,
	DOCA_VERBS_QP_ATTR_ACK_TIMEOUT = 1 << 11,
	DOCA_VERBS_QP_ATTR_RETRY_CNT = 1 << 12,
	DOCA_VERBS_QP_ATTR_RNR_RETRY = 1 << 13,
	DOCA_VERBS_QP_ATTR_MIN_RNR_TIMER = 1 << 14,
};
struct doca_verbs_gid {
	uint8_t raw[DOCA_GID_BYTE_LENGTH];
};
struct doca_verbs_qp;
struct doca_verbs_qp_init_attr;
struct doca_verbs_qp_attr;
struct doca_verbs_ah_attr;

/* A setting of the attributes of a pair, of a change, or of an address. */
#define DPA_EMULATOR_SET(object, name, type) \
	doca_error_t doca_verbs_##object##_set_##name(struct doca_verbs_##object *attributes, type value);
doca_error_t doca_verbs_qp_init_attr_create(struct doca_verbs_qp_init_attr **attributes);
doca_error_t doca_verbs_qp_init_attr_destroy(struct doca_verbs_qp_init_attr *attributes);
DPA_EMULATOR_SET(qp_init_attr, pd, struct doca_verbs_pd *)
DPA_EMULATOR_SET(qp_init_attr, external_uar, struct doca_uar *)
DPA_EMULATOR_SET(qp_init_attr, send_dpa_completion, struct doca_dpa_completion *)
DPA_EMULATOR_SET(qp_init_attr, receive_dpa_completion, struct doca_dpa_completion *)
DPA_EMULATOR_SET(qp_init_attr, sq_wr, uint32_t)
DPA_EMULATOR_SET(qp_init_attr, rq_wr, uint32_t)
DPA_EMULATOR_SET(qp_init_attr, send_max_sges, uint32_t)
DPA_EMULATOR_SET(qp_init_attr, receive_max_sges, uint32_t)
DPA_EMULATOR_SET(qp_init_attr, qp_type, uint32_t)
DPA_EMULATOR_SET(qp_init_attr, external_datapath_en, uint8_t)
doca_error_t doca_verbs_qp_init_attr_set_external_umem(struct doca_verbs_qp_init_attr *attributes,
						       struct doca_umem *umem, uint64_t offset);
doca_error_t doca_verbs_qp_init_attr_set_external_dbr_umem(
	struct doca_verbs_qp_init_attr *attributes, struct doca_umem *umem, uint64_t offset);
doca_error_t doca_verbs_qp_create(struct doca_verbs_context *context,
				  struct doca_verbs_qp_init_attr *attributes,
				  struct doca_verbs_qp **qp);
doca_error_t doca_verbs_qp_destroy(struct doca_verbs_qp *qp);
doca_error_t doca_verbs_qp_get_dpa_handle(struct doca_verbs_qp *qp, struct doca_dpa *dpa,
					  doca_dpa_dev_verbs_qp_t *handle);
uint32_t doca_verbs_qp_get_qpn(const struct doca_verbs_qp *qp);

doca_error_t doca_verbs_ah_attr_create(struct doca_verbs_context *context,
				       struct doca_verbs_ah_attr **address);
doca_error_t doca_verbs_ah_attr_destroy(struct doca_verbs_ah_attr *address);
DPA_EMULATOR_SET(ah_attr, addr_type, enum doca_verbs_addr_type)
DPA_EMULATOR_SET(ah_attr, gid, struct doca_verbs_gid)
DPA_EMULATOR_SET(ah_attr, hop_limit, uint8_t)
DPA_EMULATOR_SET(ah_attr, sgid_index, uint8_t)

doca_error_t doca_verbs_qp_attr_create(struct doca_verbs_qp_attr **attributes);
doca_error_t doca_verbs_qp_attr_destroy(struct doca_verbs_qp_attr *attributes);
DPA_EMULATOR_SET(qp_attr, next_state, enum doca_verbs_qp_state)
DPA_EMULATOR_SET(qp_attr, dest_qp_num, uint32_t)
DPA_EMULATOR_SET(qp_attr, allow_remote_write, uint32_t)
DPA_EMULATOR_SET(qp_attr, allow_remote_read, uint32_t)
DPA_EMULATOR_SET(qp_attr, allow_remote_atomic, uint32_t)
DPA_EMULATOR_SET(qp_attr, ack_timeout, uint16_t)
DPA_EMULATOR_SET(qp_attr, ah_attr, struct doca_verbs_ah_attr *)
DPA_EMULATOR_SET(qp_attr, min_rnr_timer, uint16_t)
DPA_EMULATOR_SET(qp_attr, path_mtu, enum doca_mtu_size)
DPA_EMULATOR_SET(qp_attr, port_num, uint16_t)
DPA_EMULATOR_SET(qp_attr, retry_cnt, uint16_t)
DPA_EMULATOR_SET(qp_attr, rnr_retry, uint16_t)
DPA_EMULATOR_SET(qp_attr, rq_psn, uint32_t)
DPA_EMULATOR_SET(qp_attr, sq_psn, uint32_t)
doca_error_t doca_verbs_qp_modify(struct doca_verbs_qp *qp, struct doca_verbs_qp_attr *attributes,
				  uint32_t mask);

#ifdef __cplusplus
}
#endif

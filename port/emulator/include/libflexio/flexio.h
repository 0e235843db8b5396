/* Host interface of the DPA emulator: the calls, names and meanings of FlexIO's public API.
 * One header for all versions from 2.2 on. Layouts are this emulator's own: programs are compiled
 * against this header. Handles are opaque; pointers to them come from the calls below only.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <libflexio/flexio_ver.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLEXIO_EXPERIMENTAL
#define FLEXIO_MAX_NAME_LEN 256
#define FLEXIO_MSG_DEV_LOG_DATA_CHUNK_BSIZE 9
#define FLEXIO_MSG_DEV_MAX_STREAMS_AMOUNT 255
#define FLEXIO_MSG_DEV_DEFAULT_STREAM_ID 0

/* An address in the DPA's memory, and what a stub of a device function is. */
typedef uint64_t flexio_uintptr_t;
typedef void(flexio_func_t)(void);
typedef void(flexio_func_arg_pack_fn_t)(void *argbuf, va_list pa);

typedef enum flexio_status {
	FLEXIO_STATUS_SUCCESS = 0,
	FLEXIO_STATUS_FAILED = 1,
	FLEXIO_STATUS_TIMEOUT = 2,
	FLEXIO_STATUS_FATAL_ERR = 3,
} flexio_status;

/* What became of a process: nothing, an end by the system, an end by the device program. */
enum flexio_err_status {
	FLEXIO_ERR_STATUS_NONE = 0,
	FLEXIO_ERR_STATUS_FATAL = 1,
	FLEXIO_ERR_STATUS_USER = 2,
};

enum flexio_hw_model_id {
	FLEXIO_HW_MODEL_DEF = 0,
	FLEXIO_HW_MODEL_CX7 = 1,
	FLEXIO_HW_MODEL_BF3 = 2,
	FLEXIO_HW_MODEL_CX8 = 3,
};

enum flexio_memtype { FLEXIO_MEMTYPE_DPA = 0, FLEXIO_MEMTYPE_HOST = 1 };
enum flexio_affinity_type {
	FLEXIO_AFFINITY_NONE = 0,
	FLEXIO_AFFINITY_STRICT = 1,
	FLEXIO_AFFINITY_GROUP = 2,
};
enum flexio_cq_element_type {
	FLEXIO_CQ_ELEMENT_TYPE_DPA_THREAD = 0x0,
	FLEXIO_CQ_ELEMENT_TYPE_EXTERNAL_EQ = 0x2,
	FLEXIO_CQ_ELEMENT_TYPE_NON_DPA_CQ = 0x8,
	FLEXIO_CQ_ELEMENT_TYPE_EMULATED_DEV_MSIX = 0x9,
	FLEXIO_CQ_ELEMENT_TYPE_DPA_MSIX = 0x9,
};
enum flexio_cqe_comp_type { FLEXIO_CQE_COMP_NONE = 0, FLEXIO_CQE_COMP_BASIC = 1, FLEXIO_CQE_COMP_ENH = 2 };
enum flexio_cq_period_mode { FLEXIO_CQ_PERIOD_MODE_EVENT = 0, FLEXIO_CQ_PERIOD_MODE_CQE = 1 };
enum flexio_cmdq_state { FLEXIO_CMDQ_STATE_PENDING = 0, FLEXIO_CMDQ_STATE_RUNNING = 1 };
enum flexio_qp_state {
	FLEXIO_QP_STATE_RST = 0,
	FLEXIO_QP_STATE_INIT = 1,
	FLEXIO_QP_STATE_RTR = 2,
	FLEXIO_QP_STATE_RTS = 3,
	FLEXIO_QP_STATE_ERR = 6,
};
enum flexio_qp_transport_type { FLEXIO_QPC_ST_RC = 0, FLEXIO_QPC_ST_UC = 1, FLEXIO_QPC_ST_UD = 2 };
enum flexio_qp_qpc_rq_type {
	FLEXIO_QP_QPC_RQ_TYPE_REGULAR = 0,
	FLEXIO_QP_QPC_RQ_TYPE_SRQ_RMP_XRC_SRQ_XRQ = 1,
	FLEXIO_QP_QPC_RQ_TYPE_ZERO_SIZE_RQ = 3,
};
enum flexio_qp_qpc_mtu {
	FLEXIO_QP_QPC_MTU_BYTES_256 = 1,
	FLEXIO_QP_QPC_MTU_BYTES_512 = 2,
	FLEXIO_QP_QPC_MTU_BYTES_1K = 3,
	FLEXIO_QP_QPC_MTU_BYTES_2K = 4,
	FLEXIO_QP_QPC_MTU_BYTES_4K = 5,
};
enum flexio_qp_op_types {
	FLEXIO_QP_WR_RDMA_WRITE = 0x4,
	FLEXIO_QP_WR_RDMA_READ = 0x8,
	FLEXIO_QP_WR_ATOMIC_CMP_AND_SWAP = 0x10,
};

/* Message streams. */
typedef enum {
	FLEXIO_MSG_DEV_SYNC_MODE_SYNC = 0,
	FLEXIO_MSG_DEV_SYNC_MODE_ASYNC = 1,
	FLEXIO_MSG_DEV_SYNC_MODE_BATCH = 2,
	FLEXIO_MSG_DEV_SYNC_MODE_TRACER = 3,
} flexio_msg_dev_sync_mode;
#define FLEXIO_LOG_DEV_SYNC_MODE_SYNC FLEXIO_MSG_DEV_SYNC_MODE_SYNC
#define FLEXIO_LOG_DEV_SYNC_MODE_ASYNC FLEXIO_MSG_DEV_SYNC_MODE_ASYNC
#define FLEXIO_LOG_DEV_SYNC_MODE_BATCH FLEXIO_MSG_DEV_SYNC_MODE_BATCH
typedef enum {
	FLEXIO_MSG_TRANSPORT_QP_RC = 0,
	FLEXIO_MSG_TRANSPORT_QP_UC = 1,
	FLEXIO_MSG_TRANSPORT_QP_UD = 2,
} flexio_msg_transport_mode;
typedef uint8_t flexio_msg_dev_level;
#define FLEXIO_MSG_DEV_NO_PRINT 0
#define FLEXIO_MSG_DEV_ALWAYS_PRINT 1
#define FLEXIO_MSG_DEV_ERROR 2
#define FLEXIO_MSG_DEV_WARN 3
#define FLEXIO_MSG_DEV_INFO 4
#define FLEXIO_MSG_DEV_DEBUG 5
#define FLEXIO_LOG_DEV_INFO FLEXIO_MSG_DEV_INFO

struct flexio_process;
struct flexio_app;
struct flexio_uar;
struct flexio_outbox;
struct flexio_window;
struct flexio_thread;
struct flexio_event_handler;
struct flexio_cmdq;
struct flexio_cq;
struct flexio_rq;
struct flexio_sq;
struct flexio_qp;
struct flexio_mkey;
struct flexio_msg_stream;
struct flexio_resource;
struct mlx5dv_devx_umem;
struct mlx5dv_devx_uar;

struct flexio_affinity {
	enum flexio_affinity_type type;
	uint32_t id;
};

struct flexio_qmem {
	enum flexio_memtype memtype;
	union {
		flexio_uintptr_t daddr;
		uint64_t humem_offset;
	};
	uint32_t umem_id;
};

struct flexio_process_attr {
	struct ibv_pd *pd;
	uint8_t en_pcc;
	struct mlx5dv_devx_uar *uar;
};

struct flexio_app_attr {
	const char *app_name;
	void *app_ptr;
	size_t app_bsize;
	char *app_sig_sec_name;
};

struct flexio_app_select_attr {
	const char *app_name;
	enum flexio_hw_model_id hw_model_id;
	struct ibv_context *ibv_ctx;
};

struct flexio_event_handler_attr {
	flexio_func_t *host_stub_func;
	uint8_t continuable;
	uint64_t arg;
	flexio_uintptr_t thread_local_storage_daddr;
	struct flexio_affinity affinity;
};

struct flexio_cmdq_attr {
	int workers;
	int batch_size;
	enum flexio_cmdq_state state;
};

struct flexio_mkey_attr {
	struct ibv_pd *pd;
	flexio_uintptr_t daddr;
	size_t len;
	int access;
};

struct flexio_cq_attr {
	uint8_t log_cq_depth;
	uint8_t element_type;
	uint8_t cqe_comp_type;
	uint8_t cqe_comp_format;
	uint8_t cq_period_mode;
	uint16_t cq_period;
	uint16_t cq_max_count;
	uint8_t cc;
	uint8_t no_arm;
	uint8_t always_armed;
	uint8_t overrun_ignore;
	struct flexio_thread *thread;
	uint32_t emulated_eqn;
	uint32_t uar_id;
	void *uar_base_addr;
	flexio_uintptr_t cq_dbr_daddr;
	struct flexio_qmem cq_ring_qmem;
	struct flexio_qmem cq_dbr_qmem;
};

struct flexio_wq_sq_attr {
	uint8_t allow_multi_pkt_send_wqe;
};
struct flexio_wq_rq_attr {
	uint8_t wq_type;
	uint32_t vport_rmp;
};

struct flexio_wq_attr {
	uint8_t log_wq_stride;
	uint8_t log_wq_depth;
	uint32_t uar_id;
	uint32_t user_index;
	struct ibv_pd *pd;
	struct flexio_qmem wq_ring_qmem;
	struct flexio_qmem wq_dbr_qmem;
	union {
		struct flexio_wq_sq_attr sq;
		struct flexio_wq_rq_attr rq;
	};
};

struct flexio_qp_attr {
	uint8_t transport_type;
	struct ibv_pd *pd;
	int qp_access_mask;
	int ops_flag;
	uint32_t uar_id;
	uint8_t log_sq_depth;
	uint8_t log_rq_depth;
	uint32_t sq_cqn;
	uint32_t rq_cqn;
	uint8_t rq_type;
	uint32_t q_table_rq_qid;
	uint8_t no_sq;
	uint32_t user_index;
	struct flexio_qmem qp_wq_buff_qmem;
	struct flexio_qmem qp_wq_dbr_qmem;
	struct flexio_qmem qp_sq_buff_qmem;

	enum flexio_qp_state next_state;
	uint32_t remote_qp_num;
	uint8_t *dest_mac;
	union ibv_gid rgid_or_rip;
	uint16_t gid_table_index;
	uint16_t rlid;
	uint8_t fl;
	uint8_t grh;
	uint8_t isolate_vl_tc;
	uint8_t min_rnr_nak_timer;
	uint8_t path_mtu;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint8_t ack_timeout;
	uint8_t vhca_port_num;
	uint8_t log_sra_max;
	uint8_t log_rra_max;
	uint16_t udp_sport;
	uint32_t next_send_psn;
	uint32_t next_rcv_psn;
	uint32_t qkey;
};

struct flexio_qp_attr_opt_param_mask {
	uint8_t qp_access_mask;
	uint8_t min_rnr_nak_timer;
};

struct flexio_outbox_attr {
	uint8_t en_pcc;
	struct flexio_uar *uar;
};

typedef struct flexio_msg_stream_attr {
	struct flexio_uar *uar;
	size_t data_bsize;
	flexio_msg_dev_sync_mode sync_mode;
	flexio_msg_transport_mode transport_mode;
	flexio_msg_transport_mode tracer_mode;
	flexio_msg_dev_level level;
	char *stream_name;
	struct flexio_affinity mgmt_affinity;
} flexio_msg_stream_attr_t;

struct flexio_heap_mem_info {
	uint64_t base_addr;
	uint64_t size;
	uint64_t requested;
	uint64_t allocated;
	uint64_t free;
};

/* Programs and processes. */
flexio_status flexio_version_set(uint64_t version);
flexio_status flexio_app_create(struct flexio_app_attr *attr, struct flexio_app **app);
flexio_status flexio_app_destroy(struct flexio_app *app);
flexio_status flexio_app_get(struct flexio_app_select_attr *attr, struct flexio_app **app);
const char *flexio_app_get_name(struct flexio_app *app);
size_t flexio_app_get_elf_size(struct flexio_app *app);
flexio_status flexio_app_get_elf(struct flexio_app *app, uint64_t *buffer, size_t size);
flexio_status flexio_func_register(struct flexio_app *app, const char *name, flexio_func_t **stub);
flexio_status flexio_func_pup_register(struct flexio_app *app, const char *name,
				       const char *pup_name, flexio_func_t *stub, size_t bytes,
				       flexio_func_arg_pack_fn_t *pack);
flexio_status flexio_process_create(struct ibv_context *context, struct flexio_app *app,
				    const struct flexio_process_attr *attr,
				    struct flexio_process **process);
flexio_status flexio_process_destroy(struct flexio_process *process);
struct ibv_pd *flexio_process_get_pd(struct flexio_process *process);
struct flexio_uar *flexio_process_get_uar(struct flexio_process *process);
struct flexio_outbox *flexio_process_get_outbox(struct flexio_process *process);
uint32_t flexio_process_get_dumem_id(struct flexio_process *process);
uint64_t flexio_process_udbg_token_get(struct flexio_process *process);
flexio_status flexio_process_mem_info_get(struct flexio_process *process,
					  struct flexio_heap_mem_info *info);
flexio_status flexio_process_error_handler_set(struct flexio_process *process, flexio_func_t *stub);
flexio_status flexio_process_call(struct flexio_process *process, flexio_func_t *stub,
				  uint64_t *result, ...);
enum flexio_err_status flexio_err_status_get(struct flexio_process *process);
int flexio_err_handler_fd(struct flexio_process *process);
flexio_status flexio_coredump_create(struct flexio_process *process, const char *path);

/* Files that share out execution units, since 25.4: refused. */
flexio_status flexio_resources_create(const char *key, const void *file, size_t bytes,
				      struct flexio_resource **resources);
flexio_status flexio_resources_destroy(struct flexio_resource *resources);
uint32_t flexio_resources_get_eus_num(struct flexio_resource *resources);
uint32_t *flexio_resources_get_eus(struct flexio_resource *resources);
uint32_t flexio_resources_get_eugs_num(struct flexio_resource *resources);

/* Memory. */
flexio_status flexio_buf_dev_alloc(struct flexio_process *process, size_t bytes,
				   flexio_uintptr_t *daddr);
flexio_status flexio_buf_dev_free(struct flexio_process *process, flexio_uintptr_t daddr);
flexio_status flexio_buf_dev_memset(struct flexio_process *process, int value, size_t bytes,
				    flexio_uintptr_t daddr);
flexio_status flexio_host2dev_memcpy(struct flexio_process *process, void *source, size_t bytes,
				     flexio_uintptr_t daddr);
flexio_status flexio_copy_from_host(struct flexio_process *process, void *source, size_t bytes,
				    flexio_uintptr_t *daddr);
flexio_status flexio_device_mkey_create(struct flexio_process *process,
					struct flexio_mkey_attr *attr, struct flexio_mkey **mkey);
flexio_status flexio_device_mkey_destroy(struct flexio_mkey *mkey);
flexio_status flexio_mkey_destroy(struct flexio_mkey *mkey);
uint32_t flexio_mkey_get_id(struct flexio_mkey *mkey);
flexio_status flexio_window_create(struct flexio_process *process, struct ibv_pd *pd,
				   struct flexio_window **window);
flexio_status flexio_window_destroy(struct flexio_window *window);
uint32_t flexio_window_get_id(struct flexio_window *window);
flexio_status flexio_outbox_create(struct flexio_process *process, struct flexio_outbox_attr *attr,
				   struct flexio_outbox **outbox);
flexio_status flexio_outbox_destroy(struct flexio_outbox *outbox);
uint32_t flexio_outbox_get_id(struct flexio_outbox *outbox);
struct flexio_uar *flexio_outbox_get_uar(struct flexio_outbox *outbox);
flexio_status flexio_uar_create(struct flexio_process *process, struct flexio_uar **uar);
/* Before 24.x the second of three arguments was a UAR of mlx5dv. */
#define DPA_UAR_2(process, uar) (flexio_uar_create)(process, uar)
#define DPA_UAR_3(process, devx, uar) ((void)(devx), (flexio_uar_create)(process, uar))
#define DPA_UAR(a, b, c, name, ...) name
#define flexio_uar_create(...) DPA_UAR(__VA_ARGS__, DPA_UAR_3, DPA_UAR_2, )(__VA_ARGS__)
flexio_status flexio_uar_destroy(struct flexio_uar *uar);
flexio_status flexio_uar_extend(struct flexio_uar *uar, struct ibv_context *context,
				struct flexio_uar **extended);
uint32_t flexio_uar_get_id(struct flexio_uar *uar);
uint32_t flexio_uar_get_extended_id(struct flexio_uar *uar);

/* Threads. */
flexio_status flexio_event_handler_create(struct flexio_process *process,
					  struct flexio_event_handler_attr *attr,
					  struct flexio_event_handler **handler);
flexio_status flexio_event_handler_run(struct flexio_event_handler *handler, uint64_t argument);
flexio_status flexio_event_handler_destroy(struct flexio_event_handler *handler);
struct flexio_thread *flexio_event_handler_get_thread(struct flexio_event_handler *handler);
uint32_t flexio_event_handler_get_id(struct flexio_event_handler *handler);
uint32_t flexio_event_handler_get_obj_id(struct flexio_event_handler *handler);
uint32_t flexio_event_handler_get_activation_id(struct flexio_event_handler *handler);
flexio_status flexio_cmdq_create(struct flexio_process *process, struct flexio_cmdq_attr *attr,
				 struct flexio_cmdq **queue);
flexio_status flexio_cmdq_task_add(struct flexio_cmdq *queue, flexio_func_t *stub, uint64_t argument);
flexio_status flexio_cmdq_state_running(struct flexio_cmdq *queue);
int flexio_cmdq_is_empty(struct flexio_cmdq *queue);
flexio_status flexio_cmdq_destroy(struct flexio_cmdq *queue);

/* Queues. */
flexio_status flexio_cq_create(struct flexio_process *process, struct ibv_context *context,
			       const struct flexio_cq_attr *attr, struct flexio_cq **cq);
flexio_status flexio_cq_destroy(struct flexio_cq *cq);
uint32_t flexio_cq_get_cq_num(struct flexio_cq *cq);
flexio_status flexio_rq_create(struct flexio_process *process, struct ibv_context *context,
			       uint32_t cqn, const struct flexio_wq_attr *attr,
			       struct flexio_rq **rq);
flexio_status flexio_rq_destroy(struct flexio_rq *rq);
uint32_t flexio_rq_get_wq_num(struct flexio_rq *rq);
struct mlx5dv_devx_obj *flexio_rq_get_tir(struct flexio_rq *rq);
flexio_status flexio_rq_set_err_state(struct flexio_rq *rq);
flexio_status flexio_sq_create(struct flexio_process *process, struct ibv_context *context,
			       uint32_t cqn, const struct flexio_wq_attr *attr,
			       struct flexio_sq **sq);
flexio_status flexio_sq_destroy(struct flexio_sq *sq);
uint32_t flexio_sq_get_wq_num(struct flexio_sq *sq);
flexio_status flexio_qp_create(struct flexio_process *process, struct ibv_context *context,
			       struct flexio_qp_attr *attr, struct flexio_qp **qp);
flexio_status flexio_qp_modify(struct flexio_qp *qp, struct flexio_qp_attr *attr,
			       struct flexio_qp_attr_opt_param_mask *mask);
flexio_status flexio_qp_destroy(struct flexio_qp *qp);
uint32_t flexio_qp_get_qp_num(struct flexio_qp *qp);
enum flexio_qp_state flexio_qp_state_get(struct flexio_qp *qp);

/* Messages. */
flexio_status flexio_msg_stream_create(struct flexio_process *process,
				       flexio_msg_stream_attr_t *attr, FILE *out, pthread_t *thread,
				       struct flexio_msg_stream **stream);
flexio_status flexio_msg_stream_destroy(struct flexio_msg_stream *stream);
flexio_status flexio_msg_stream_flush(struct flexio_msg_stream *stream);
flexio_status flexio_msg_stream_level_set(struct flexio_msg_stream *stream,
					  flexio_msg_dev_level level);
int flexio_msg_stream_get_id(struct flexio_msg_stream *stream);

#ifdef __cplusplus
}
#endif

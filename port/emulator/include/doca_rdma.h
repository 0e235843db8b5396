/* RDMA with its data path on the DPA, or on the CPU in tasks. */
#pragma once

#include <doca_buf.h>
#include <doca_dpa.h>
#include <doca_pe.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_rdma;
struct doca_rdma_connection;

enum doca_rdma_transport_type {
	DOCA_RDMA_TRANSPORT_TYPE_RC = 0,
	DOCA_RDMA_TRANSPORT_TYPE_DC = 1,
};

/* What a receive's message was. */
enum doca_rdma_opcode {
	DOCA_RDMA_OPCODE_RECV_SEND = 0,
	DOCA_RDMA_OPCODE_RECV_SEND_WITH_IMM = 1,
	DOCA_RDMA_OPCODE_RECV_WRITE_WITH_IMM = 2,
};

doca_error_t doca_rdma_cap_task_send_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_receive_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_write_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_read_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_send_imm_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_write_imm_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_atomic_cmp_swp_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_atomic_fetch_add_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_create(struct doca_dev *device, struct doca_rdma **rdma);
doca_error_t doca_rdma_destroy(struct doca_rdma *rdma);
struct doca_ctx *doca_rdma_as_ctx(struct doca_rdma *rdma);
doca_error_t doca_rdma_set_permissions(struct doca_rdma *rdma, uint32_t permissions);
doca_error_t doca_rdma_set_transport_type(struct doca_rdma *rdma,
					  enum doca_rdma_transport_type transport);
doca_error_t doca_rdma_set_grh_enabled(struct doca_rdma *rdma, bool is_enabled);
doca_error_t doca_rdma_set_gid_index(struct doca_rdma *rdma, uint32_t index);
doca_error_t doca_rdma_set_send_queue_size(struct doca_rdma *rdma, uint32_t entries);
doca_error_t doca_rdma_set_recv_queue_size(struct doca_rdma *rdma, uint32_t entries);
doca_error_t doca_rdma_task_receive_set_dst_buf_list_len(struct doca_rdma *rdma, uint32_t buffers);
doca_error_t doca_rdma_set_max_num_connections(struct doca_rdma *rdma, uint16_t connections);
doca_error_t doca_rdma_dpa_completion_attach(struct doca_rdma *rdma,
					     struct doca_dpa_completion *completion);
doca_error_t doca_rdma_get_dpa_handle(struct doca_rdma *rdma, doca_dpa_dev_rdma_t *handle);
doca_error_t doca_rdma_export(struct doca_rdma *rdma, const void **details, size_t *bytes,
			      struct doca_rdma_connection **connection);
doca_error_t doca_rdma_connect(struct doca_rdma *rdma, const void *details, size_t bytes,
			       struct doca_rdma_connection *connection);
doca_error_t doca_rdma_connection_disconnect(struct doca_rdma_connection *connection);
doca_error_t doca_rdma_connection_get_id(const struct doca_rdma_connection *connection,
					 uint32_t *id);

/* Tasks of the CPU. The function for a task's end gets what the program remembers of the task and of
 * its context.
 */
struct doca_rdma_task_receive;
struct doca_rdma_task_send;
struct doca_rdma_task_send_imm;
struct doca_rdma_task_read;
struct doca_rdma_task_write;
struct doca_rdma_task_write_imm;
struct doca_rdma_task_atomic_cmp_swp;
struct doca_rdma_task_atomic_fetch_add;

typedef void (*doca_rdma_task_receive_completion_cb_t)(struct doca_rdma_task_receive *task,
						       union doca_data user,
						       union doca_data of_ctx);
doca_error_t doca_rdma_task_receive_set_conf(struct doca_rdma *rdma,
					     doca_rdma_task_receive_completion_cb_t done,
					     doca_rdma_task_receive_completion_cb_t failed,
					     uint32_t tasks);
doca_error_t doca_rdma_task_receive_allocate_init(struct doca_rdma *rdma, struct doca_buf *to,
						  union doca_data user,
						  struct doca_rdma_task_receive **task);
struct doca_task *doca_rdma_task_receive_as_task(struct doca_rdma_task_receive *task);
typedef void (*doca_rdma_task_send_completion_cb_t)(struct doca_rdma_task_send *task,
						    union doca_data user,
						    union doca_data of_ctx);
doca_error_t doca_rdma_task_send_set_conf(struct doca_rdma *rdma,
					  doca_rdma_task_send_completion_cb_t done,
					  doca_rdma_task_send_completion_cb_t failed,
					  uint32_t tasks);
doca_error_t doca_rdma_task_send_allocate_init(struct doca_rdma *rdma,
					       struct doca_rdma_connection *connection,
					       const struct doca_buf *from,
					       union doca_data user,
					       struct doca_rdma_task_send **task);
struct doca_task *doca_rdma_task_send_as_task(struct doca_rdma_task_send *task);
typedef void (*doca_rdma_task_send_imm_completion_cb_t)(struct doca_rdma_task_send_imm *task,
							union doca_data user,
							union doca_data of_ctx);
doca_error_t doca_rdma_task_send_imm_set_conf(struct doca_rdma *rdma,
					      doca_rdma_task_send_imm_completion_cb_t done,
					      doca_rdma_task_send_imm_completion_cb_t failed,
					      uint32_t tasks);
doca_error_t doca_rdma_task_send_imm_allocate_init(struct doca_rdma *rdma,
						   struct doca_rdma_connection *connection,
						   const struct doca_buf *from,
						   doca_be32_t immediate, union doca_data user,
						   struct doca_rdma_task_send_imm **task);
struct doca_task *doca_rdma_task_send_imm_as_task(struct doca_rdma_task_send_imm *task);
typedef void (*doca_rdma_task_read_completion_cb_t)(struct doca_rdma_task_read *task,
						    union doca_data user,
						    union doca_data of_ctx);
doca_error_t doca_rdma_task_read_set_conf(struct doca_rdma *rdma,
					  doca_rdma_task_read_completion_cb_t done,
					  doca_rdma_task_read_completion_cb_t failed,
					  uint32_t tasks);
doca_error_t doca_rdma_task_read_allocate_init(struct doca_rdma *rdma,
					       struct doca_rdma_connection *connection,
					       const struct doca_buf *from, struct doca_buf *to,
					       union doca_data user,
					       struct doca_rdma_task_read **task);
struct doca_task *doca_rdma_task_read_as_task(struct doca_rdma_task_read *task);
typedef void (*doca_rdma_task_write_completion_cb_t)(struct doca_rdma_task_write *task,
						     union doca_data user,
						     union doca_data of_ctx);
doca_error_t doca_rdma_task_write_set_conf(struct doca_rdma *rdma,
					   doca_rdma_task_write_completion_cb_t done,
					   doca_rdma_task_write_completion_cb_t failed,
					   uint32_t tasks);
doca_error_t doca_rdma_task_write_allocate_init(struct doca_rdma *rdma,
						struct doca_rdma_connection *connection,
						const struct doca_buf *from,
						struct doca_buf *to, union doca_data user,
						struct doca_rdma_task_write **task);
struct doca_task *doca_rdma_task_write_as_task(struct doca_rdma_task_write *task);
typedef void (*doca_rdma_task_write_imm_completion_cb_t)(struct doca_rdma_task_write_imm *task,
							 union doca_data user,
							 union doca_data of_ctx);
doca_error_t doca_rdma_task_write_imm_set_conf(struct doca_rdma *rdma,
					       doca_rdma_task_write_imm_completion_cb_t done,
					       doca_rdma_task_write_imm_completion_cb_t failed,
					       uint32_t tasks);
doca_error_t doca_rdma_task_write_imm_allocate_init(struct doca_rdma *rdma,
						    struct doca_rdma_connection *connection,
						    const struct doca_buf *from,
						    struct doca_buf *to, doca_be32_t immediate,
						    union doca_data user,
						    struct doca_rdma_task_write_imm **task);
struct doca_task *doca_rdma_task_write_imm_as_task(struct doca_rdma_task_write_imm *task);
typedef void (*doca_rdma_task_atomic_cmp_swp_completion_cb_t)(
	struct doca_rdma_task_atomic_cmp_swp *task, union doca_data user,
							      union doca_data of_ctx);
doca_error_t doca_rdma_task_atomic_cmp_swp_set_conf(struct doca_rdma *rdma,
	doca_rdma_task_atomic_cmp_swp_completion_cb_t done,
	doca_rdma_task_atomic_cmp_swp_completion_cb_t failed, uint32_t tasks);
doca_error_t doca_rdma_task_atomic_cmp_swp_allocate_init(struct doca_rdma *rdma,
	struct doca_rdma_connection *connection, struct doca_buf *to, struct doca_buf *result,
							 uint64_t compare, uint64_t swap,
							 union doca_data user,
	struct doca_rdma_task_atomic_cmp_swp **task);
struct doca_task *doca_rdma_task_atomic_cmp_swp_as_task(
	struct doca_rdma_task_atomic_cmp_swp *task);
typedef void (*doca_rdma_task_atomic_fetch_add_completion_cb_t)(
	struct doca_rdma_task_atomic_fetch_add *task, union doca_data user,
								union doca_data of_ctx);
doca_error_t doca_rdma_task_atomic_fetch_add_set_conf(struct doca_rdma *rdma,
	doca_rdma_task_atomic_fetch_add_completion_cb_t done,
	doca_rdma_task_atomic_fetch_add_completion_cb_t failed, uint32_t tasks);
doca_error_t doca_rdma_task_atomic_fetch_add_allocate_init(struct doca_rdma *rdma,
	struct doca_rdma_connection *connection, struct doca_buf *to, struct doca_buf *result,
							   uint64_t add, union doca_data user,
	struct doca_rdma_task_atomic_fetch_add **task);
struct doca_task *doca_rdma_task_atomic_fetch_add_as_task(
	struct doca_rdma_task_atomic_fetch_add *task);
enum doca_rdma_opcode doca_rdma_task_receive_get_result_opcode(
	const struct doca_rdma_task_receive *task);
uint32_t doca_rdma_task_receive_get_result_len(const struct doca_rdma_task_receive *task);
doca_be32_t doca_rdma_task_receive_get_result_immediate_data(
	const struct doca_rdma_task_receive *task);
struct doca_buf *doca_rdma_task_receive_get_dst_buf(const struct doca_rdma_task_receive *task);
const struct doca_buf *doca_rdma_task_send_get_src_buf(const struct doca_rdma_task_send *task);
const struct doca_buf *doca_rdma_task_send_imm_get_src_buf(
	const struct doca_rdma_task_send_imm *task);
const struct doca_buf *doca_rdma_task_read_get_src_buf(const struct doca_rdma_task_read *task);
struct doca_buf *doca_rdma_task_read_get_dst_buf(const struct doca_rdma_task_read *task);
const struct doca_buf *doca_rdma_task_write_get_src_buf(
	const struct doca_rdma_task_write *task);
struct doca_buf *doca_rdma_task_write_get_dst_buf(const struct doca_rdma_task_write *task);
const struct doca_buf *doca_rdma_task_write_imm_get_src_buf(
	const struct doca_rdma_task_write_imm *task);
struct doca_buf *doca_rdma_task_write_imm_get_dst_buf(
	const struct doca_rdma_task_write_imm *task);
void doca_rdma_task_receive_set_dst_buf(struct doca_rdma_task_receive *task,
					struct doca_buf *to);
void doca_rdma_task_send_set_src_buf(struct doca_rdma_task_send *task,
				     const struct doca_buf *from);
void doca_rdma_task_send_imm_set_src_buf(struct doca_rdma_task_send_imm *task,
					 const struct doca_buf *from);
void doca_rdma_task_send_imm_set_immediate_data(struct doca_rdma_task_send_imm *task,
						doca_be32_t immediate);
void doca_rdma_task_read_set_src_buf(struct doca_rdma_task_read *task,
				     const struct doca_buf *from);
void doca_rdma_task_read_set_dst_buf(struct doca_rdma_task_read *task, struct doca_buf *to);
void doca_rdma_task_write_set_src_buf(struct doca_rdma_task_write *task,
				      const struct doca_buf *from);
void doca_rdma_task_write_set_dst_buf(struct doca_rdma_task_write *task, struct doca_buf *to);
void doca_rdma_task_write_imm_set_src_buf(struct doca_rdma_task_write_imm *task,
					  const struct doca_buf *from);
void doca_rdma_task_write_imm_set_dst_buf(struct doca_rdma_task_write_imm *task,
					  struct doca_buf *to);
void doca_rdma_task_write_imm_set_immediate_data(struct doca_rdma_task_write_imm *task,
						 doca_be32_t immediate);
void doca_rdma_task_atomic_cmp_swp_set_dst_buf(struct doca_rdma_task_atomic_cmp_swp *task,
					       struct doca_buf *to);
void doca_rdma_task_atomic_cmp_swp_set_result_buf(struct doca_rdma_task_atomic_cmp_swp *task,
						  struct doca_buf *result);
void doca_rdma_task_atomic_cmp_swp_set_swap_data(struct doca_rdma_task_atomic_cmp_swp *task,
						 uint64_t operand);
void doca_rdma_task_atomic_cmp_swp_set_cmp_data(struct doca_rdma_task_atomic_cmp_swp *task,
						uint64_t operand);
void doca_rdma_task_atomic_fetch_add_set_dst_buf(struct doca_rdma_task_atomic_fetch_add *task,
						 struct doca_buf *to);
void doca_rdma_task_atomic_fetch_add_set_result_buf(
	struct doca_rdma_task_atomic_fetch_add *task, struct doca_buf *result);
void doca_rdma_task_atomic_fetch_add_set_add_data(struct doca_rdma_task_atomic_fetch_add *task,
						  uint64_t operand);
const struct doca_rdma_connection *
doca_rdma_task_receive_get_result_rdma_connection(const struct doca_rdma_task_receive *task);

#ifdef __cplusplus
}
#endif

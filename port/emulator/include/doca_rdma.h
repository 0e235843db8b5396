/* RDMA with its data path on the DPA. */
#pragma once

#include <doca_dpa.h>
#include <doca_mmap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_rdma;
struct doca_rdma_connection;

doca_error_t doca_rdma_cap_task_send_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_receive_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_write_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_cap_task_read_is_supported(const struct doca_devinfo *info);
doca_error_t doca_rdma_create(struct doca_dev *device, struct doca_rdma **rdma);
doca_error_t doca_rdma_destroy(struct doca_rdma *rdma);
struct doca_ctx *doca_rdma_as_ctx(struct doca_rdma *rdma);
doca_error_t doca_rdma_set_permissions(struct doca_rdma *rdma, uint32_t permissions);
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

#ifdef __cplusplus
}
#endif

/* Buffers and their inventories. A buffer of an address has no data until the program sets them. */
#pragma once

#include <doca_mmap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_inventory;

doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *before);
doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *before);
doca_error_t doca_buf_get_refcount(struct doca_buf *buf, uint16_t *count);
doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head);
doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *bytes);
doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);
doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *bytes);
doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t bytes);
doca_error_t doca_buf_set_data_len(struct doca_buf *buf, size_t bytes);
doca_error_t doca_buf_reset_data_len(struct doca_buf *buf);
doca_error_t doca_buf_inventory_create(size_t elements, struct doca_buf_inventory **inventory);
doca_error_t doca_buf_inventory_start(struct doca_buf_inventory *inventory);
doca_error_t doca_buf_inventory_stop(struct doca_buf_inventory *inventory);
doca_error_t doca_buf_inventory_destroy(struct doca_buf_inventory *inventory);
doca_error_t doca_buf_inventory_get_num_elements(struct doca_buf_inventory *inventory,
						 uint32_t *elements);
doca_error_t doca_buf_inventory_get_num_free_elements(struct doca_buf_inventory *inventory,
						      uint32_t *elements);
doca_error_t doca_buf_inventory_buf_get_by_addr(struct doca_buf_inventory *inventory,
						struct doca_mmap *mmap, void *address,
						size_t bytes, struct doca_buf **buf);
doca_error_t doca_buf_inventory_buf_get_by_data(struct doca_buf_inventory *inventory,
						struct doca_mmap *mmap, void *data, size_t bytes,
						struct doca_buf **buf);
doca_error_t doca_buf_inventory_buf_get_by_args(struct doca_buf_inventory *inventory,
						struct doca_mmap *mmap, void *address,
						size_t bytes, void *data, size_t data_bytes,
						struct doca_buf **buf);

#ifdef __cplusplus
}
#endif

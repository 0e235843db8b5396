/* Buffers and their inventories: refused. */
#pragma once

#include <doca_mmap.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_inventory;

doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t bytes);
doca_error_t doca_buf_chain_list(struct doca_buf *first, struct doca_buf *second);
doca_error_t doca_buf_inventory_create(size_t elements, struct doca_buf_inventory **inventory);
doca_error_t doca_buf_inventory_start(struct doca_buf_inventory *inventory);
doca_error_t doca_buf_inventory_destroy(struct doca_buf_inventory *inventory);
doca_error_t doca_buf_inventory_buf_get_by_addr(struct doca_buf_inventory *inventory,
						struct doca_mmap *mmap, void *address,
						size_t bytes, struct doca_buf **buf);

#ifdef __cplusplus
}
#endif

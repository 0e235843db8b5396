/* Memory maps. */
#pragma once

#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_mmap;

doca_error_t doca_mmap_create(struct doca_mmap **mmap);
doca_error_t doca_mmap_destroy(struct doca_mmap *mmap);
doca_error_t doca_mmap_start(struct doca_mmap *mmap);
doca_error_t doca_mmap_stop(struct doca_mmap *mmap);
doca_error_t doca_mmap_add_dev(struct doca_mmap *mmap, struct doca_dev *device);
doca_error_t doca_mmap_set_max_num_devices(struct doca_mmap *mmap, uint32_t devices);
doca_error_t doca_mmap_set_permissions(struct doca_mmap *mmap, uint32_t access);
doca_error_t doca_mmap_set_memrange(struct doca_mmap *mmap, void *address, size_t bytes);
doca_error_t doca_mmap_get_memrange(const struct doca_mmap *mmap, void **address, size_t *bytes);
doca_error_t doca_mmap_set_dpa_memrange(struct doca_mmap *mmap, struct doca_dpa *dpa,
					uint64_t address, size_t bytes);
doca_error_t doca_mmap_dev_get_dpa_handle(struct doca_mmap *mmap, struct doca_dev *device,
					  doca_dpa_dev_mmap_t *handle);
doca_error_t doca_mmap_export_rdma(struct doca_mmap *mmap, const struct doca_dev *device,
				   const void **export_data, size_t *bytes);
/* `user` has no effect. */
doca_error_t doca_mmap_create_from_export(const union doca_data *user, const void *export_data,
					  size_t bytes, struct doca_dev *device,
					  struct doca_mmap **mmap);

#ifdef __cplusplus
}
#endif

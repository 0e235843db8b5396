/* Memory of the DPA's heap that queues use. */
#pragma once

#include <doca_dpa.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_umem;

doca_error_t doca_umem_dpa_create(struct doca_dpa *dpa, doca_dpa_dev_uintptr_t address, size_t bytes,
				  uint32_t access, struct doca_umem **umem);
doca_error_t doca_umem_destroy(struct doca_umem *umem);

#ifdef __cplusplus
}
#endif

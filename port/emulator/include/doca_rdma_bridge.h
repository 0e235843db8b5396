/* From a device to its protection domain of rdma-core. */
#pragma once

#include <infiniband/verbs.h>
#include <doca_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

doca_error_t doca_rdma_bridge_get_dev_pd(const struct doca_dev *device, struct ibv_pd **pd);

#ifdef __cplusplus
}
#endif

/* From verbs of DOCA to those of rdma-core. */
#pragma once

#include <infiniband/verbs.h>
#include <doca_verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_pd *doca_verbs_bridge_verbs_pd_get_ibv_pd(struct doca_verbs_pd *pd);

#ifdef __cplusplus
}
#endif

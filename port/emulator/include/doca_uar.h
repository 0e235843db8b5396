/* Pages of doorbells. */
#pragma once

#include <doca_dpa.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_uar;

doca_error_t doca_uar_dpa_create(struct doca_dpa *dpa, struct doca_uar **uar);
doca_error_t doca_uar_destroy(struct doca_uar *uar);

#ifdef __cplusplus
}
#endif

/* Progress engines: refused, since no task of the CPU is emulated. */
#pragma once

#include <doca_ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_pe;

doca_error_t doca_pe_create(struct doca_pe **engine);
doca_error_t doca_pe_destroy(struct doca_pe *engine);
uint8_t doca_pe_progress(struct doca_pe *engine);

#ifdef __cplusplus
}
#endif

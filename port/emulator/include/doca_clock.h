/* Clocks of the NIC. */
#pragma once

#include <doca_dev.h>

#ifdef __cplusplus
extern "C" {
#endif

doca_error_t doca_clock_cap_nic_real_time_is_supported(const struct doca_devinfo *info);
doca_error_t doca_clock_cap_nic_free_running_is_supported(const struct doca_devinfo *info);

#ifdef __cplusplus
}
#endif

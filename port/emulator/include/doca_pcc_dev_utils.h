/* The clock that programs of congestion control share with others, for device code. */
#pragma once

#include <doca_dpa_dev.h>

/* Microseconds. */
#define doca_pcc_dev_get_timer() dpa_emulator_time()

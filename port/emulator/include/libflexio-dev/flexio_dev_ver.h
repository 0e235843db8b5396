/* Versions of the device's interface. */
#pragma once

#define FLEXIO_DEV_VER(year, month, patch) \
	((((unsigned long)(year)) << 32) | (((unsigned long)(month)) << 16) | (unsigned long)(patch))
#define FLEXIO_DEV_CURRENT_VERSION FLEXIO_DEV_VER(25, 1, 0)
#define FLEXIO_DEV_LAST_VERSION FLEXIO_DEV_CURRENT_VERSION

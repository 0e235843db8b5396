/* Versions of the host's interface. */
#pragma once

/* A version by year, month and patch, as the vendor numbers releases. */
#define FLEXIO_VER(year, month, patch) \
	((((unsigned long)(year)) << 32) | (((unsigned long)(month)) << 16) | (unsigned long)(patch))
#define FLEXIO_CURRENT_VERSION FLEXIO_VER(25, 1, 0)
#define FLEXIO_LAST_VERSION FLEXIO_CURRENT_VERSION

/* Versions of the host's interface. */
#ifndef DPA_EMULATOR_FLEXIO_VER_H
#define DPA_EMULATOR_FLEXIO_VER_H

/* A version by year, month and patch, as the vendor numbers releases. */
#define FLEXIO_VER(year, month, patch) \
	((((unsigned long)(year)) << 32) | (((unsigned long)(month)) << 16) | (unsigned long)(patch))
#define FLEXIO_CURRENT_VERSION FLEXIO_VER(25, 1, 0)
#define FLEXIO_LAST_VERSION FLEXIO_CURRENT_VERSION

#endif

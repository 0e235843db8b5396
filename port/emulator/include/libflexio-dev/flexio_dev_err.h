/* Codes with which a process ends. */
#pragma once

#include <stdint.h>

/* Codes of a program's own lie between these two. */
#define FLEXIO_DEV_ERR_USER_MIN 128
#define FLEXIO_DEV_ERR_USER_MAX 255
#define FLEXIO_DEV_ERR_PROCESS_FINISH 0x40

void dpa_emulator_end_process(uint32_t code);

/* Ends the process with a code of the program's own. */
static inline void flexio_dev_error(uint32_t code)
{
	dpa_emulator_end_process(code);
}

/* Device part: the example `counter` with buffers for the longest frames. */
#include "common.h"
#include "../../examples/counter/device.c"

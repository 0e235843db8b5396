#ifndef DPA_EMULATOR_FLEXIO_DEV_DEBUG_H
#define DPA_EMULATOR_FLEXIO_DEV_DEBUG_H
#include <libflexio-dev/flexio_dev.h>
#endif

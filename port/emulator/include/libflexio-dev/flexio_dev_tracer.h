#ifndef DPA_EMULATOR_FLEXIO_DEV_TRACER_H
#define DPA_EMULATOR_FLEXIO_DEV_TRACER_H
#include <libflexio-dev/flexio_dev.h>
#endif

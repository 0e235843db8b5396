#include <libflexio-dev/flexio_dev.h>

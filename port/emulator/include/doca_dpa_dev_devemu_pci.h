#include <doca_dpa_dev.h>

#include <doca_buf.h>

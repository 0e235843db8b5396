#include <doca_comch.h>

/* Programs of tasks on the CPU have a device part only because each program has one. */
#include <doca_dpa_dev.h>

__dpa_rpc__ uint64_t nothing(void)
{
	return 0;
}

/* Device part: adds two numbers, says so, and can crash. */
#include <libflexio-dev/flexio_dev.h>

__dpa_rpc__ uint64_t add(uint64_t left, uint64_t right)
{
	flexio_dev_print("%lu + %lu = %lu\n", left, right, left + right);
	return left + right;
}

__dpa_rpc__ uint64_t crash(uint64_t address)
{
	return *(volatile uint64_t *)address;
}

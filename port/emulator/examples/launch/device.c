/* Device part: each thread of the kernel squares its rank. */
#include <doca_dpa_dev.h>
#include <dpaintrin.h>

__dpa_global__ void square(uint64_t results)
{
	unsigned int rank = doca_dpa_dev_thread_rank();

	((uint64_t *)results)[rank] = (uint64_t)rank * rank;
	__dpa_thread_memory_writeback();
}

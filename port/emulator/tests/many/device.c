/* Device part: a handler that no test gives an event. */
#include "../../examples/counter/queues/shared.h"
#include "../../examples/counter/queues/device.h"

__dpa_global__ void never_runs(uint64_t argument)
{
	(void)argument;
	flexio_dev_thread_reschedule();
}

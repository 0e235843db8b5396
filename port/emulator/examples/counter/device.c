/* Device part: counts frames and sends each back with its addresses swapped. */
#include "common.h"
#include "queues/device.h"

__dpa_rpc__ uint64_t frames(uint64_t argument)
{
	return __atomic_load_n(&((struct counter *)argument)->frames, __ATOMIC_ACQUIRE);
}

__dpa_rpc__ uint64_t bytes(uint64_t argument)
{
	return ((struct counter *)argument)->bytes;
}

__dpa_global__ void count(uint64_t argument)
{
	struct counter *counter = (struct counter *)argument;
	uint8_t *frame;
	uint32_t length;

	while ((frame = next_frame(&counter->queues, &length))) {
		send_back(&counter->queues, frame, length);
		counter->bytes += length;
		__atomic_fetch_add(&counter->frames, 1, __ATOMIC_RELEASE);
		frame_done(&counter->queues);
	}
	wait_for_frames(&counter->queues);
}

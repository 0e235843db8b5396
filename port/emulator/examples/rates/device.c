/* Device part: answers frames, as a handler or in a loop, and counts cycles. */
#include "common.h"
#include "../counter/queues/device.h"

static void answer(struct rates *rates)
{
	uint8_t *frame;
	uint32_t length;

	for (uint64_t at = 0; at < rates->burst; at++) {
		frame = next_frame(&rates->queues, &length);
		if (!frame)
			return;
		if (!rates->frames++)
			rates->begun = __dpa_thread_cycles();
		send_back(&rates->queues, frame, length);
		frame_done(&rates->queues);
		if (rates->frames == rates->wanted)
			rates->took = __dpa_thread_cycles() - rates->begun;
	}
}

__dpa_global__ void as_handler(uint64_t argument)
{
	answer((struct rates *)argument);
	wait_for_frames(&((struct rates *)argument)->queues);
}

/* The same by hand, without activations. */
__dpa_rpc__ uint64_t by_hand(uint64_t argument)
{
	struct rates *rates = (struct rates *)argument;

	while (!rates->took)
		answer(rates);
	return rates->took;
}

__dpa_rpc__ uint64_t new_round(uint64_t argument)
{
	((struct rates *)argument)->frames = ((struct rates *)argument)->took = 0;
	return 0;
}

__dpa_rpc__ uint64_t took(uint64_t argument)
{
	return __atomic_load_n(&((struct rates *)argument)->took, __ATOMIC_ACQUIRE);
}

/* What the host part tells the device part. */
#include "queues/shared.h"

struct counter {
	struct queues queues;
	uint64_t frames, bytes;
};

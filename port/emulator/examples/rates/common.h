/* What the host part tells the device part. */
#include "../counter/queues/shared.h"

struct rates {
	struct queues queues;
	uint64_t frames, wanted; /* so far, and in a round */
	uint64_t burst; /* frames of an activation */
	uint64_t begun, took; /* cycles */
};

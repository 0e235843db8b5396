/* Handlers that go to sleep, and what wakes them or does not. */
#include <stdint.h>
#include "../../examples/counter/queues/shared.h"

struct state {
	struct queues queues;
	struct queue bell; /* another queue of the handler */
	uint64_t done, ready, stop, how;
	uint32_t handler;
};

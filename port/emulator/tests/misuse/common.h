/* A process, and another one whose queues and keys it must not use. */
#include <stdint.h>
#define LOG_DEPTH 3
#include "../../examples/counter/queues/shared.h"

struct state {
	struct queues queues;
	struct queue other_cq;
	uint32_t other_sq, other_outbox, other_key, window, count;
	uint64_t memory, host;
};

/* Two handlers that answer each other. */
#include <stdint.h>
#include "../../examples/counter/queues/shared.h"

struct side {
	struct queue queue; /* where the other's answers come */
	uint64_t word, other_word; /* the same over plain memory: a word of each, by address */
	uint64_t wanted, done, step;
	uint32_t other;
};

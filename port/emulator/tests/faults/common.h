/* What host part and device part share. */
#define LOG_DEPTH 2
#include "../../examples/counter/queues/shared.h"

/* Bytes of a block, odd so that its end is no line's. */
#define BLOCK 200

struct shared {
	struct queues queues;
	uint64_t block;
	uint64_t host, other; /* regions of the host, of BLOCK bytes */
	uint32_t key, host_key, other_key, window;
	uint32_t go;
	uint32_t bell; /* wakes a handler */
};

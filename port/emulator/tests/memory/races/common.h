/* What host part and device part share. */
#define LOG_DEPTH 2
#include "../../../examples/counter/queues/shared.h"

struct shared {
	struct queues queues;
	uint64_t count;
	uint32_t data, more; /* two halves of a word */
	uint64_t flag, turn, done;
	struct { uint32_t locked; } lock;
	uint64_t host_flag;
	uint32_t host_key, window;
	uint32_t bell, other; /* wake the second handler; its number */
	uint8_t text[64];
};

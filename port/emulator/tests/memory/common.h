/* What host part and device part share. */
#define LOG_DEPTH 2
#include "../../examples/counter/queues/shared.h"

/* Words of each region of the host. */
#define WORDS 32

struct shared {
	struct queues queues;
	uint64_t first, second, freed, foreign; /* blocks of 200, 76 and 48 bytes; of another process */
	uint64_t host_a, host_b;		/* regions of the host, of WORDS words */
	uint64_t host_signal;			/* where the device part asks the host for its act */
	uint32_t key_a, key_b, key_both, key_signal, window, signal_window;
	uint32_t acted; /* the host has done it */
};

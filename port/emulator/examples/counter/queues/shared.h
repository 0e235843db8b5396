/* Queues, as host part and device part know them. */
#include <stdint.h>

#ifndef LOG_DEPTH
#define LOG_DEPTH 6
#endif
#define DEPTH (1u << LOG_DEPTH)
#ifndef BUFFER
#define BUFFER 2048
#endif

/* A completion queue. */
struct queue {
	uint64_t ring, record;
	uint32_t number, log_depth;
	uint32_t index; /* completions consumed */
	uint32_t gap;
};

/* Queues for frames. */
struct queues {
	struct queue cq;
	uint64_t rq_ring, rq_record, sq_ring;
	uint32_t sq, key, sent;
};

/* Queues for frames, as host part and device part know them. */
#include <stdint.h>

#ifndef LOG_DEPTH
#define LOG_DEPTH 6
#endif
#define DEPTH (1u << LOG_DEPTH)
#define BUFFER 2048

struct queues {
	uint64_t cq_ring, cq_record, rq_ring, rq_record, sq_ring;
	uint32_t cq, sq, key, index, sent;
};

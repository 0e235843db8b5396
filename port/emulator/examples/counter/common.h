/* What the host part tells the device part. */
#include <stdint.h>

#define LOG_DEPTH 3
#define DEPTH (1 << LOG_DEPTH)
#define BUFFER 2048

struct counter {
	uint64_t cq_ring, cq_record, rq_ring, rq_record, sq_ring;
	uint32_t cq, sq, key, index, sent;
	uint64_t frames, bytes;
};

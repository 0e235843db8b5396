/* What host part and device part share. */
#include <stdint.h>

#define MESSAGES 12
#define FRAMES 32
/* Bytes of a write between programs: more than three parts of a link. */
#define LARGE 100000

/* What the threads and calls of a scene need. */
struct work {
	uint64_t device, completion, other_completion, rdma, other_rdma, notification, event, second;
	uint64_t buffer, other_buffer, results;
	uint32_t key, other_key, host_key, sf_key;
	uint64_t host_memory;
	uint32_t mode, count;
};

/* Programs that meet, and what the memory of each has, in words: what each has written, a sum, who
 * was first, what goes out, an atomic's answer, messages that came and their sum, and where they
 * land. */
#define PROGRAMS 4
enum { WRITTEN, ADDED = PROGRAMS, FIRST, OUT, WAS, HEARD, HEARD_SUM, LANDS, WORDS };

/* Travels by value. */
struct three {
	uint64_t first;
	uint32_t second;
	double third;
} __dpa_global__;

/* What the handler does when a message has come. */
enum mode {
	COUNTS,
	NO_REQUEST,
	NO_ATTRIBUTE,
	NOT_FLUSHED,
	NOT_REPOSTED,
	AFTER_ACK,
	NOT_FENCED,
	WINDOW_NOT_FENCED,
	TOO_MANY_ACKS,
};

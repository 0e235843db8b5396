/* Requests as frames carry them, and the table that answers them. */
#include "../counter/queues/shared.h"

#define SLOTS 16u

enum operation { PUT = 1, GET = 2 };
enum answer { DONE, NO_SUCH_KEY, NO_ROOM, NO_REQUEST };

struct request {
	uint8_t to[6], from[6], type[2];
	uint8_t operation, answer;
	uint64_t key, value;
};

struct slot {
	uint64_t is_used, key, value;
};

struct keyvalue {
	struct queues queues;
	uint64_t table, requests, keys;
};

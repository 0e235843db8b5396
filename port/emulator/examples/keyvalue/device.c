/* Device part: a table of keys and values that frames fill and ask. */
#include "common.h"
#include "../counter/queues/device.h"

__dpa_rpc__ uint64_t requests(uint64_t argument)
{
	return __atomic_load_n(&((struct keyvalue *)argument)->requests, __ATOMIC_ACQUIRE);
}

__dpa_rpc__ uint64_t keys(uint64_t argument)
{
	return ((struct keyvalue *)argument)->keys;
}

/* The key's slot, or a free one where it belongs, or none in a full table. */
static struct slot *find(const struct keyvalue *keyvalue, uint64_t key)
{
	struct slot *table = (struct slot *)keyvalue->table;
	uint64_t begin = (key * 0x9e3779b97f4a7c15u) >> 32;

	for (uint32_t at = 0; at < SLOTS; at++) {
		struct slot *slot = &table[(begin + at) % SLOTS];
		if (!slot->is_used || slot->key == key)
			return slot;
	}
	return NULL;
}

static enum answer answer(struct keyvalue *keyvalue, struct request *request, uint32_t length)
{
	struct slot *slot;

	if (length < sizeof(*request))
		return NO_REQUEST;
	slot = find(keyvalue, request->key);
	switch (request->operation) {
	case PUT:
		if (!slot)
			return NO_ROOM;
		keyvalue->keys += !slot->is_used;
		*slot = (struct slot){ 1, request->key, request->value };
		return DONE;
	case GET:
		if (!slot || !slot->is_used)
			return NO_SUCH_KEY;
		request->value = slot->value;
		return DONE;
	default:
		return NO_REQUEST;
	}
}

__dpa_global__ void serve(uint64_t argument)
{
	struct keyvalue *keyvalue = (struct keyvalue *)argument;
	struct request *request;
	uint32_t length;

	while ((request = (void *)next_frame(&keyvalue->queues, &length))) {
		request->answer = answer(keyvalue, request, length);
		send_back(&keyvalue->queues, (uint8_t *)request, length);
		__atomic_fetch_add(&keyvalue->requests, 1, __ATOMIC_RELEASE);
		frame_done(&keyvalue->queues);
	}
	wait_for_frames(&keyvalue->queues);
}

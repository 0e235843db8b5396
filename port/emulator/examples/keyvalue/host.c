/* Host part: an empty table, and queues for requests. Ends after a number of them. */
#include "common.h"
#include "../counter/queues/host.h"

extern struct flexio_app *keyvalue;
extern flexio_func_t serve, requests, keys;

int main(int words, char **word)
{
	uint64_t found, sum = 0, argument;
	struct queues_of_host host = { 0 };
	struct keyvalue shared = { 0 };

	open_process(keyvalue);
	make_queues(serve, &host, &shared.queues);
	shared.table = device_memory(process, SLOTS * sizeof(struct slot));
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	found = receive(&host, argument, requests, words > 1 ? strtoull(word[1], NULL, 10) : 1);
	CHECK(flexio_process_call(process, &keys, &sum, argument));
	printf("%lu requests, %lu keys\n", found, sum);
	destroy_queues(&host);
	close_process();
	return 0;
}

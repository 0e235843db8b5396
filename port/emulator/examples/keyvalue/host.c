/* Host part: an empty table, and queues for requests. Ends after a number of them. */
#include "common.h"
#include "../queues/host.h"

extern struct flexio_app *keyvalue;
extern flexio_func_t serve, requests, keys;

int main(int words, char **word)
{
	uint64_t found = words > 1 ? strtoull(word[1], NULL, 10) : 1, sum = 0;
	struct queues_of_host host = { 0 };
	struct steering steering;
	struct keyvalue shared = { 0 };
	uint64_t argument;

	CHECK(open_process(keyvalue));
	CHECK(make_queues(serve, &host, &shared.queues));
	CHECK(flexio_buf_dev_alloc(process, SLOTS * sizeof(struct slot), &shared.table));
	CHECK(flexio_buf_dev_memset(process, 0, SLOTS * sizeof(struct slot), shared.table));
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	CHECK(receive(&host, argument, requests, &found, &steering));
	CHECK(flexio_process_call(process, &keys, &sum, argument));
	printf("%lu requests, %lu keys\n", found, sum);
	unsteer(&steering);
	CHECK(destroy_queues(&host));
	return close_process();
}

/* Host part: makes the queues, steers all frames to them, and waits for a number of frames. */
#include "common.h"
#include "../queues/host.h"

extern struct flexio_app *counter;
extern flexio_func_t count, frames, bytes;

int main(int words, char **word)
{
	uint64_t found = words > 1 ? strtoull(word[1], NULL, 10) : 1, sum = 0;
	struct queues_of_host host = { 0 };
	struct steering steering;
	struct counter shared = { 0 };
	uint64_t argument;

	CHECK(open_process(counter));
	CHECK(make_queues(count, &host, &shared.queues));
	/* No place for the result: it refuses. */
	CHECK(!flexio_rq_create(process, NULL, shared.queues.cq, &host.attr, NULL));
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	CHECK(receive(&host, argument, frames, &found, &steering));
	CHECK(flexio_process_call(process, &bytes, &sum, argument));
	printf("%lu frames, %lu bytes\n", found, sum);

	CHECK(!flexio_cq_destroy(host.cq)); /* in use: it refuses */
	unsteer(&steering);
	CHECK(destroy_queues(&host));
	return close_process();
}

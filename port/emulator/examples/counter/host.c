/* Host part: makes the queues, steers all frames to them, and waits for a number of frames. */
#include "common.h"
#include "queues/host.h"

extern struct flexio_app *counter;
extern flexio_func_t count, frames, bytes;

int main(int words, char **word)
{
	uint64_t found, sum = 0, argument;
	struct queues_of_host host = { 0 };
	struct counter shared = { 0 };

	open_process(counter);
	make_queues(count, &host, &shared.queues);
	CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument));
	found = receive(&host, argument, frames, words > 1 ? strtoull(word[1], NULL, 10) : 1);
	CHECK(flexio_process_call(process, &bytes, &sum, argument));
	printf("%lu frames, %lu bytes\n", found, sum);

	destroy_queues(&host);
	close_process();
	return 0;
}

/* Host part: calls a function of the device part, and outlives one that crashes. */
#include "../counter/queues/shared.h"
#include "../counter/queues/host.h"

extern struct flexio_app *hello;
extern flexio_func_t add, crash;

int main(int count, char **words)
{
	flexio_msg_stream_attr_t attr = { .data_bsize = 2048, .level = FLEXIO_MSG_DEV_INFO };
	struct flexio_msg_stream *stream;
	uint64_t sum = 0;
	int status;

	(void)words;
	open_process(hello);
	CHECK(flexio_msg_stream_create(process, &attr, stdout, NULL, &stream));
	status = flexio_process_call(process, &add, &sum, (uint64_t)3, (uint64_t)39);
	printf("status %d, result %lu\n", status, sum);
	if (count > 1) {
		status = flexio_process_call(process, &crash, &sum, (uint64_t)64);
		printf("status %d, error status %d\n", status, flexio_err_status_get(process));
		status = flexio_process_call(process, &add, &sum, (uint64_t)1, (uint64_t)1);
		printf("status %d\n", status);
	}
	CHECK(flexio_msg_stream_destroy(stream));
	close_process();
	return 0;
}

/* Host part: calls of entry points with marks in all places. */
#include "common.h"
#include "../../examples/counter/queues/shared.h"
#include "../../examples/counter/queues/host.h"

extern struct flexio_app *marks;
extern flexio_func_t add, hidden, middle, handler, crash;

int main(void)
{
	struct flexio_event_handler_attr attr = { .host_stub_func = handler };
	struct flexio_event_handler *made;
	uint64_t results[3];

	open_process(marks);
	CHECK(flexio_process_call(process, add, &results[0], (pair){ 1, 2 }, (struct shared){ 3 }));
	CHECK(flexio_process_call(process, hidden, &results[1], (number)4));
	CHECK(flexio_process_call(process, middle, &results[2], (other){ 5 }, (function)0));
	CHECK(flexio_event_handler_create(process, &attr, &made));
	printf("%lu %lu %lu\n", results[0], results[1], results[2]);
	fflush(stdout);
	flexio_process_call(process, crash, &results[0], (uint64_t)64);
	return 0;
}

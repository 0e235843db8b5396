/* Host part: crashes FUNCTION ARGUMENT calls it, and then a process that is new. The argument may be
 * `heap-end`, behind the device's memory, or `file-end`, a page of a file that has none. */
#define _GNU_SOURCE
#include "../../examples/counter/queues/shared.h"
#include "../../examples/counter/queues/host.h"
#include <sys/mman.h>

extern struct flexio_app *crashes;
extern flexio_func_t same;

int main(int count, char **words)
{
	struct flexio_heap_mem_info heap;
	flexio_func_t *function;
	uint64_t argument, result = 0;
	int status;

	CHECK(count != 3);
	open_process(crashes);
	argument = strtoull(words[2], NULL, 0);
	if (!strcmp(words[2], "heap-end")) {
		CHECK(flexio_process_mem_info_get(process, &heap));
		argument = heap.base_addr + heap.size;
	} else if (!strcmp(words[2], "file-end")) {
		void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, memfd_create("empty", 0), 0);

		CHECK(page == MAP_FAILED);
		argument = (uint64_t)page;
	}
	CHECK(flexio_func_register(crashes, words[1], &function));
	status = flexio_process_call(process, function, &result, argument);
	printf("status %d, result %lu, ended %d\n", status, result, flexio_err_status_get(process));
	status = flexio_process_call(process, &same, &result, 5);
	printf("again: status %d\n", status);
	CHECK(flexio_process_create(context, crashes, NULL, &process));
	CHECK(flexio_process_call(process, &same, &result, 5));
	printf("new: result %lu\n", result);
	return 0;
}

/* Host part: answers queues|words MESSAGES prints the messages of the second handler, and how often
 * a thread of this program has waited for something. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "common.h"
#include "../../examples/counter/queues/host.h"
#include <sys/resource.h>

extern struct flexio_app *answers;
extern flexio_func_t over_queues, over_words, wake, done;

int main(int count, char **words)
{
	int over = count == 3 && !strcmp(words[1], "words");
	struct flexio_event_handler_attr attr = { .host_stub_func = over ? over_words : over_queues };
	struct flexio_event_handler *handlers[2];
	struct queue bells[2] = { 0 };
	struct side sides[2] = { 0 };
	uint64_t arguments[2], place[2], result;
	struct rusage usage, own;

	CHECK(count != 3);
	open_process(answers);
	for (int at = 0; at < 2; at++) {
		CHECK(flexio_event_handler_create(process, &attr, &handlers[at]));
		make_cq(process, LOG_DEPTH, handlers[at], &bells[at]);
		place[at] = device_memory(process, 64);
	}
	for (int at = 0; at < 2; at++) {
		sides[at].queue = bells[at];
		sides[at].other = bells[!at].number;
		sides[at].word = place[at];
		sides[at].other_word = place[!at];
		sides[at].step = (uint64_t)at;
		sides[at].wanted = strtoull(words[2], NULL, 0);
		CHECK(flexio_copy_from_host(process, &sides[at], sizeof(*sides), &arguments[at]));
		CHECK(flexio_event_handler_run(handlers[at], arguments[at]));
	}
	if (over) {
		uint64_t first = 1;
		CHECK(flexio_process_call(process, wake, &result, (uint64_t)bells[1].number));
		CHECK(flexio_host2dev_memcpy(process, &first, 8, place[0]));
	}
	CHECK(flexio_process_call(process, wake, &result, (uint64_t)bells[0].number));
	for (result = 0; result < sides[1].wanted; usleep(5000))
		CHECK(flexio_process_call(process, done, &result, arguments[1]));
	/* Those of this host thread, which waits, are none of the handlers'. */
	CHECK(getrusage(RUSAGE_SELF, &usage) || getrusage(RUSAGE_THREAD, &own));
	printf("answers %lu, switches %ld\n", result, usage.ru_nvcsw - own.ru_nvcsw);
	close_process();
	return 0;
}

/* Host part: frames in turn to a handler and to a loop by hand. Prints nanoseconds for a frame, the
 * least of all rounds. */
#include "common.h"
#include "../counter/queues/host.h"

extern struct flexio_app *rates;
extern flexio_func_t as_handler, by_hand, new_round, took;

static uint64_t round_of(int hand, struct queues_of_host *host, uint64_t argument)
{
	struct steering steering;
	uint64_t cycles;

	CHECK(flexio_process_call(process, &new_round, &cycles, argument));
	steer(host->rq, &steering);
	do {
		usleep(hand ? 0 : 1000);
		CHECK(flexio_process_call(process, hand ? &by_hand : &took, &cycles, argument));
	} while (!cycles);
	unsteer(&steering);
	return cycles;
}

int main(int words, char **word)
{
	uint64_t wanted = words > 1 ? strtoull(word[1], NULL, 10) : 1000000, argument[2];
	uint64_t burst = words > 2 ? strtoull(word[2], NULL, 10) : 16;
	int rounds = words > 3 ? atoi(word[3]) : 5;
	struct queues_of_host host[2] = { 0 };
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX };

	open_process(rates);
	for (int hand = 0; hand < 2; hand++) {
		struct rates shared = { .wanted = wanted, .burst = burst };
		make_queues(hand ? NULL : as_handler, &host[hand], &shared.queues);
		CHECK(flexio_copy_from_host(process, &shared, sizeof(shared), &argument[hand]));
	}
	CHECK(flexio_event_handler_run(host[0].handler, argument[0]));
	for (int at = 0; at < 2 * rounds; at++) {
		uint64_t cycles = round_of(at % 2, &host[at % 2], argument[at % 2]);
		best[at % 2] = cycles < best[at % 2] ? cycles : best[at % 2];
	}
	printf("%.1f %.1f\n", best[0] / 1.8 / wanted, best[1] / 1.8 / wanted);
	for (int hand = 0; hand < 2; hand++)
		destroy_queues(&host[hand]);
	close_process();
	return 0;
}

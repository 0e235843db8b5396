/* Device part: entry points with marks in all places, some of them static. */
#include "common.h"
#include <libflexio-dev/flexio_dev.h>
#include "more.h"

/* __dpa_rpc__ in a comment, and below in a text, is none. */
__dpa_rpc__ uint64_t add(pair one, struct shared two)
{
	const char *text = "__dpa_rpc__ typedef (";

	return one.x * 100 + one.y * 10 + two.number + (text[0] == 'x');
}

static __dpa_rpc__ __attribute__((unused)) uint64_t hidden(number one) { return one + MORE; }

uint64_t __dpa_rpc__ middle(other one, function two);
uint64_t __dpa_rpc__ middle(other one, function two) { return one.x + ADDED + (two != 0); }

__dpa_rpc__ uint64_t crash(uint64_t address)
{
	return *(volatile uint64_t *)address; /* ERROR crash */
}

static void __dpa_global__
handler(uint64_t argument)
{
	(void)argument;
	flexio_dev_thread_reschedule();
}

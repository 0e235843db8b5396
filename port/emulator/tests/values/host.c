/* Host part: calls with structures and numbers of all kinds. */
#include "common.h"
#include "../../examples/counter/queues/shared.h"
#include "../../examples/counter/queues/host.h"

extern struct flexio_app *values;
extern flexio_func_t in_registers, of_floats, many_floats, around_the_last, in_memory, mixed;
extern flexio_func_t by_its_address, beyond_its_end;
extern flexio_func_t two_long_ones, aligned_ones, narrow, narrow_result, no_result, nothing;
extern flexio_func_t variable, fraction, pair, complex, of_this_file;

#define SHOW(function, ...)                                                                \
	do {                                                                               \
		uint64_t result = 5;                                                       \
		int status = flexio_process_call(process, &function, &result, ##__VA_ARGS__); \
		printf(#function " %d %ld\n", status, (long)result);                       \
	} while (0)

int main(void)
{
	struct long_one first = { 1, { 0 }, 2 }, second = { 3, { 0, 0, 0, 0, 0, 0, 0, 0, 5 }, 4 };
	struct long_one other = { 5, { 6, 0, 0, 0, 0, 0, 0, 0, 7 }, 8 };
	struct nested nested = { { 1, 2 }, { 3, { 9, 9, 4 } } };
	struct aligned aligned = { 3 };
	struct has_long_double number = { 4 };
	struct nothing empty = {};
	uint64_t memory;

	setvbuf(stdout, NULL, _IONBF, 0);
	open_process(values);
	memory = device_memory(process, 8);
	SHOW(in_registers, (struct in_one){ 1, 2 }, (struct whole_first){ 300, 4 },
	     (struct part_first){ 5, 600000 });
	SHOW(of_floats, 1.0f, (struct floats){ 2, 3, 4 }, 5.0);
	SHOW(many_floats, 1.0, 2.0f, 3.0, 4.0f, 5.0, 6.0f, 7.0, 8.0f, 9.0, 1.0f, 2ul);
	SHOW(around_the_last, 1ul, 2ul, 3ul, 4ul, 5ul, (struct two){ 6, 7 }, 8ul, 9ul);
	SHOW(in_memory, (struct three){ { 1, 2, 3 } }, 4, other, (struct packed){ 9, 1 });
	SHOW(by_its_address, (struct three){ { 4, 5, 6 } });
	SHOW(beyond_its_end, (struct three){ { 4, 5, 6 } });
	SHOW(two_long_ones, first, second);
	SHOW(mixed, nested, (union either){ 5 }, (struct bits){ 6, 7, 8 }, RED + 9);
	SHOW(aligned_ones, 1, (struct three){ { 9, 9, 2 } }, aligned, number, empty,
	     (__int128)5 | (__int128)6 << 64);
	SHOW(narrow, -5, 250, -7, 65000, -3, 1, 'A');
	SHOW(narrow_result, 6);
	SHOW(no_result, memory);
	SHOW(nothing);
	SHOW(variable, 1ul, 2ul);
	SHOW(fraction, 1ul);
	SHOW(pair, 1ul);
	SHOW(complex, 1.0);
	SHOW(of_this_file, (struct two){ 7, 8 }, 4.5f);
	SHOW(nothing);
	close_process();
	return 0;
}

/* Device part: calls whose arguments are structures and numbers of all kinds. Each result has
 * every argument in digits of its own. */
#include <dpaintrin.h>
#include "common.h"

__dpa_rpc__ uint64_t in_registers(struct in_one a, struct whole_first b, struct part_first c)
{
	return (uint64_t)a.number + (uint64_t)(a.part * 10) + (uint64_t)b.number +
	       (uint64_t)(b.part * 1000) + (uint64_t)(c.part * 10000) + (uint64_t)c.number;
}

__dpa_rpc__ uint64_t of_floats(float a, struct floats b, double c)
{
	return (uint64_t)a + (uint64_t)(b.x * 10) + (uint64_t)(b.y * 100) + (uint64_t)(b.z * 1000) +
	       (uint64_t)(c * 10000);
}

/* The tenth and the eleventh are on the stack. */
__dpa_rpc__ uint64_t many_floats(double a, float b, double c, float d, double e, float f, double g,
				 float h, double i, float j, uint64_t k)
{
	double sum = a + b * 10 + c * 100 + d * 1000 + e * 1e4 + f * 1e5 + g * 1e6 + h * 1e7 +
		     i * 1e8 + j * 1e9;

	return (uint64_t)sum + k * 10000000000u;
}

/* The pair does not fit into the last register, the number behind it does. */
__dpa_rpc__ uint64_t around_the_last(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				     struct two f, uint64_t g, uint64_t h)
{
	return a + b * 10 + c * 100 + d * 1000 + e * 10000 + f.first * 100000 +
	       f.second * 1000000 + g * 10000000 + h * 100000000;
}

__dpa_rpc__ uint64_t in_memory(struct three a, uint32_t b, struct long_one c, struct packed d)
{
	return a.words[0] + a.words[1] * 10 + a.words[2] * 100 + b * 1000 + c.number * 10000 +
	       (uint64_t)(c.parts[0] * 100000) + (uint64_t)(c.parts[8] * 1000000) +
	       c.last * 10000000 + d.first * 100000000u + d.second * 1000000000u;
}

/* Accesses through a pointer are checked. */
static __attribute__((noipa)) uint64_t sum_of(struct three *a)
{
	a->words[1] += 1;
	return a->words[0] + a->words[1] * 10 + a->words[2] * 100;
}

__dpa_rpc__ uint64_t by_its_address(struct three a) { return sum_of(&a); }

/* Its last word is behind all arguments. */
__dpa_rpc__ uint64_t beyond_its_end(struct three a)
{
	return sum_of((struct three *)((uint64_t *)&a + 1)) % 100;
}

__dpa_rpc__ uint64_t two_long_ones(struct long_one a, struct long_one b)
{
	return a.number + a.last * 10 + b.number * 100 + b.last * 1000 +
	       (uint64_t)(b.parts[8] * 10000);
}

__dpa_rpc__ uint64_t mixed(struct nested a, union either b, struct bits c, enum colour d)
{
	return (uint64_t)a.one.number + (uint64_t)(a.one.part * 10) + a.rest.a * 100u +
	       a.rest.b[2] * 1000u + (uint64_t)(b.part * 10000) + c.low * 100000u +
	       c.high * 1000000u + c.wide * 10000000u + d * 100000000u;
}

__dpa_rpc__ uint64_t aligned_ones(uint8_t a, struct three b, struct aligned c,
				  struct has_long_double d, struct nothing e, __int128 f)
{
	(void)e;
	return a + b.words[2] * 10 + c.word * 100 + (uint64_t)(d.number * 1000) +
	       (uint64_t)f * 10000 + (uint64_t)(f >> 64) * 100000;
}

__dpa_rpc__ uint64_t narrow(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, _Bool f, char g)
{
	return (uint64_t)(a * 1 + b * 10 + c * 100 + d * 1000 + e * 1000000 + f * 3 + g * 5);
}

__dpa_rpc__ int narrow_result(int a) { return -a; }
__dpa_rpc__ void no_result(uint64_t *at) { *at = 77; }
__dpa_rpc__ uint64_t nothing(void) { return 99; }

__dpa_rpc__ uint64_t variable(uint64_t a, ...) { return a; }
__dpa_rpc__ double fraction(uint64_t a) { return (double)a; }
__dpa_rpc__ struct two pair(uint64_t a) { return (struct two){ a, a }; }
__dpa_rpc__ uint64_t complex(_Complex double a) { return (uint64_t)__real__ a; }

/* Only this file sees it. */
static __dpa_rpc__ uint64_t of_this_file(struct two a, float b)
{
	return a.first * 100 + a.second * 10 + (uint64_t)(b * 2);
}

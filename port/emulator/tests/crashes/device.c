/* Device part: calls that crash, in device code or in the C library on its behalf. */
#include <libflexio-dev/flexio_dev.h>
#include <string.h>

#define CALL(name) __dpa_rpc__ uint64_t name(uint64_t argument)

CALL(load)
{
	return *(volatile uint64_t *)argument; /* HERE load */
}

CALL(divide)
{
	return 7 / (uint32_t)argument; /* HERE divide */
}

CALL(trap)
{
	if (!argument)
		__builtin_trap(); /* HERE trap */
	return argument;
}

/* As many bytes as the address says. The C library reads them. */
CALL(copy)
{
	static uint8_t bytes[64];

	memcpy(bytes, (const void *)argument, argument); /* HERE copy */
	return bytes[0];
}

CALL(length)
{
	return strlen((const char *)argument); /* HERE length */
}

CALL(same)
{
	return argument;
}

/* Calls of DOCA in host parts of tests. */
#pragma once

#include <doca_error.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                            \
	do {                                                                                   \
		doca_error_t error_of_call = (call);                                           \
		if (error_of_call != DOCA_SUCCESS) {                                           \
			printf("%s: %s\n", #call, doca_error_get_name(error_of_call));         \
			exit(1);                                                               \
		}                                                                              \
	} while (0)
#define SAY(call) printf("%s\n", doca_error_get_name(call))

/* Errors. */
#pragma once

#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum doca_error {
	DOCA_SUCCESS,
	DOCA_ERROR_UNKNOWN,
	DOCA_ERROR_NOT_PERMITTED,
	DOCA_ERROR_IN_USE,
	DOCA_ERROR_NOT_SUPPORTED,
	DOCA_ERROR_AGAIN,
	DOCA_ERROR_INVALID_VALUE,
	DOCA_ERROR_NO_MEMORY,
	DOCA_ERROR_INITIALIZATION,
	DOCA_ERROR_TIME_OUT,
	DOCA_ERROR_SHUTDOWN,
	DOCA_ERROR_CONNECTION_RESET,
	DOCA_ERROR_CONNECTION_ABORTED,
	DOCA_ERROR_CONNECTION_INPROGRESS,
	DOCA_ERROR_NOT_CONNECTED,
	DOCA_ERROR_NO_LOCK,
	DOCA_ERROR_NOT_FOUND,
	DOCA_ERROR_IO_FAILED,
	DOCA_ERROR_BAD_STATE,
	DOCA_ERROR_UNSUPPORTED_VERSION,
	DOCA_ERROR_OPERATING_SYSTEM,
	DOCA_ERROR_DRIVER,
	DOCA_ERROR_UNEXPECTED,
	DOCA_ERROR_ALREADY_EXIST,
	DOCA_ERROR_FULL,
	DOCA_ERROR_EMPTY,
	DOCA_ERROR_IN_PROGRESS,
	DOCA_ERROR_TOO_BIG,
	DOCA_ERROR_AUTHENTICATION,
	DOCA_ERROR_BAD_CONFIG,
	DOCA_ERROR_SKIPPED,
	DOCA_ERROR_DEVICE_FATAL_ERROR,
} doca_error_t;

const char *doca_error_get_name(doca_error_t error);
const char *doca_error_get_descr(doca_error_t error);

/* The first error of several stays. */
#define DOCA_ERROR_PROPAGATE(first, next)       \
	do {                                    \
		if ((first) == DOCA_SUCCESS)    \
			(first) = (next);       \
	} while (0)
#define DOCA_IS_ERROR(error) ((error) != DOCA_SUCCESS)

#ifdef __cplusplus
}
#endif

#include <dpa_doca_refused.h>

/* Logs of the program. The emulator's own lines go to standard error. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum doca_log_level {
	DOCA_LOG_LEVEL_DISABLE = 10,
	DOCA_LOG_LEVEL_CRIT = 20,
	DOCA_LOG_LEVEL_ERROR = 30,
	DOCA_LOG_LEVEL_WARNING = 40,
	DOCA_LOG_LEVEL_INFO = 50,
	DOCA_LOG_LEVEL_DEBUG = 60,
	DOCA_LOG_LEVEL_TRACE = 70,
};
struct doca_log_backend;

doca_error_t doca_log_backend_create_standard(void);
doca_error_t doca_log_backend_create_with_file_sdk(FILE *file, struct doca_log_backend **backend);
doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend, uint32_t level);
doca_error_t doca_log_level_set_global_lower_limit(uint32_t level);
doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level);

doca_error_t dpa_emulator_host_log(uint32_t level, const char *source, const char *text);

#define DOCA_LOG_REGISTER(source) \
	static const char *const dpa_emulator_log_source __attribute__((unused)) = #source
#define DOCA_LOG(level, ...)                                                        \
	do {                                                                        \
		char dpa_emulator_text[1024];                                       \
		snprintf(dpa_emulator_text, sizeof(dpa_emulator_text), __VA_ARGS__); \
		(void)dpa_emulator_host_log(level, dpa_emulator_log_source, dpa_emulator_text); \
	} while (0)
#define DOCA_LOG_CRIT(...) DOCA_LOG(DOCA_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_LOG_ERR(...) DOCA_LOG(DOCA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_LOG_WARN(...) DOCA_LOG(DOCA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_LOG_INFO(...) DOCA_LOG(DOCA_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_LOG_DBG(...) DOCA_LOG(DOCA_LOG_LEVEL_DEBUG, __VA_ARGS__)
#define DOCA_LOG_TRC(...) DOCA_LOG(DOCA_LOG_LEVEL_TRACE, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

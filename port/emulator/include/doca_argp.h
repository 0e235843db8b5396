/* Arguments of the command line. */
#pragma once

#include <string.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum doca_argp_type {
	DOCA_ARGP_TYPE_STRING = 0,
	DOCA_ARGP_TYPE_INT = 1,
	DOCA_ARGP_TYPE_BOOLEAN = 2,
};
struct doca_argp_param;
typedef doca_error_t (*doca_argp_param_cb_t)(void *value, void *config);

doca_error_t doca_argp_init(const char *program, void *config);
doca_error_t doca_argp_start(int argc, char **argv);
doca_error_t doca_argp_destroy(void);
doca_error_t doca_argp_param_create(struct doca_argp_param **param);
doca_error_t doca_argp_register_param(struct doca_argp_param *param);
/* These answer as the others do; the API's answer nothing. */
doca_error_t doca_argp_param_set_short_name(struct doca_argp_param *param, const char *name);
doca_error_t doca_argp_param_set_long_name(struct doca_argp_param *param, const char *name);
doca_error_t doca_argp_param_set_arguments(struct doca_argp_param *param, const char *arguments);
doca_error_t doca_argp_param_set_description(struct doca_argp_param *param, const char *text);
doca_error_t doca_argp_param_set_callback(struct doca_argp_param *param, doca_argp_param_cb_t call);
doca_error_t doca_argp_param_set_type(struct doca_argp_param *param, enum doca_argp_type type);
doca_error_t doca_argp_param_set_mandatory(struct doca_argp_param *param);

#ifdef __cplusplus
}
#endif

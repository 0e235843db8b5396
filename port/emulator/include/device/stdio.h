#pragma once
#include <stddef.h>
int snprintf(char *text, size_t bytes, const char *format, ...);
int sprintf(char *text, const char *format, ...);
int vsnprintf(char *text, size_t bytes, const char *format, __builtin_va_list arguments);

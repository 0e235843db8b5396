#pragma once
#include <stddef.h>
int abs(int value);
long labs(long value);
int atoi(const char *text);
void qsort(void *base, size_t count, size_t bytes, int (*compare)(const void *, const void *));

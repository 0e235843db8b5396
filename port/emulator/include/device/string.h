#pragma once
#include <stddef.h>
void *memcpy(void *target, const void *source, size_t bytes);
void *memmove(void *target, const void *source, size_t bytes);
void *memset(void *target, int value, size_t bytes);
int memcmp(const void *left, const void *right, size_t bytes);
void *memchr(const void *data, int value, size_t bytes);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t most);
int strcmp(const char *left, const char *right);
int strncmp(const char *left, const char *right, size_t most);
char *strcpy(char *target, const char *source);
char *strncpy(char *target, const char *source, size_t most);
char *strcat(char *target, const char *source);
char *strchr(const char *text, int value);
char *strrchr(const char *text, int value);
char *strstr(const char *text, const char *part);

/* Bytes into a file, through one buffer of fixed size. */

#define _GNU_SOURCE
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 18 };

static int file = -1;
static uint8_t buffer[BUFFER_BYTES];
static size_t used;
/* Bytes written before the buffer. */
static uint64_t written;
static bool has_failed;
static char name[4096];

bool rec_output_open(const char *path) {
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    snprintf(name, sizeof name, "%s", path);
    if (file < 0) {
        fprintf(stderr, "dpamatch-record: %s: %s; this rank is not recorded\n", path, strerror(errno));
    }
    return file >= 0;
}

uint64_t rec_output_offset(void) { return written + used; }

void rec_quiet_begin(struct rec_quiet *quiet) {
    sigset_t too_large, pending;
    sigpending(&pending);
    quiet->was_pending = sigismember(&pending, SIGXFSZ) == 1;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &quiet->before);
}

void rec_quiet_end(const struct rec_quiet *quiet) {
    const struct timespec no_time = {0};
    sigset_t too_large;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    while (!quiet->was_pending && sigtimedwait(&too_large, NULL, &no_time) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

static void flush(void) {
    size_t at = 0;
    struct rec_quiet quiet;
    rec_quiet_begin(&quiet);
    while (at < used && !has_failed) {
        ssize_t count = write(file, buffer + at, used - at);
        if (count > 0) {
            at += (size_t)count;
        } else if (count == 0 || errno != EINTR) {
            fprintf(stderr, "dpamatch-record: %s is cut off: %s; the program goes on unrecorded\n", name,
                    strerror(count == 0 ? ENOSPC : errno));
            has_failed = true;
        }
    }
    rec_quiet_end(&quiet);
    /* After a failure offsets still advance, but no further byte is written: the file ends at the failure. */
    written += used;
    used = 0;
}

bool rec_output_close(void) {
    flush();
    if (close(file) != 0 && !has_failed) {
        fprintf(stderr, "dpamatch-record: %s is cut off: %s\n", name, strerror(errno));
        has_failed = true;
    }
    file = -1;
    return !has_failed;
}

void rec_put_bytes(const void *bytes, size_t count) {
    const uint8_t *from = bytes;
    while (count > 0) {
        if (used == BUFFER_BYTES) {
            flush();
        }
        size_t part = BUFFER_BYTES - used < count ? BUFFER_BYTES - used : count;
        memcpy(buffer + used, from, part);
        used += part;
        from += part;
        count -= part;
    }
}

static void put(uint64_t value, unsigned bytes) {
    uint8_t big_endian[8];
    for (unsigned k = 0; k < bytes; k++) {
        big_endian[k] = (uint8_t)(value >> 8 * (bytes - 1 - k));
    }
    rec_put_bytes(big_endian, bytes);
}

void rec_put_u8(unsigned value) { put(value, 1); }
void rec_put_u16(unsigned value) { put(value, 2); }
void rec_put_i32(int64_t value) { put((uint64_t)value, 4); }
void rec_put_u64(uint64_t value) { put(value, 8); }

void rec_put_i32s(const int *values, int count) {
    if (values == NULL || count < 0) {
        count = 0;
    }
    rec_put_i32(count);
    for (int k = 0; k < count; k++) {
        rec_put_i32(values[k]);
    }
}

void rec_put_text(const char *text) {
    size_t length = strlen(text);
    rec_put_i32((int64_t)length);
    rec_put_bytes(text, length);
}

/* One rank's file from beginning to end. */

#define _GNU_SOURCE
#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The format, as docs/record.md describes it. */
enum { VERSION = 13, END_OF_STREAM = 293, ALL_FUNCTIONS = 290 };
static const char MAGIC[8] = "\xff\xaa\xdd" "DUMPI";
static const uint64_t FOOTER_MAGIC = 0xF007FEE7;
/* Bits of a record's mask: statuses (two bits), wall times, thread. */
enum { MASK = 3 | 8 | 64 };

enum { PATH_BYTES = 3072, NAME_BYTES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Written with the lock held; read without it, to avoid the lock. */
static volatile bool is_open;
/* MPI was started through the recorder. */
static bool has_begun;
static bool wants_polls;
static int64_t base_s;
static int64_t start_s;
static char host[NAME_BYTES];

/* All calls, and the calls without a record. Incremented without the lock. */
static uint32_t called[FUNCTIONS];
static uint32_t ignored[FUNCTIONS];
/* Records in the file. Written with the lock held. */
static uint64_t records;

static int threads;
static __thread int thread_plus_one;
/* MPI calls within MPI calls are not recorded. */
static __thread int depth;

void rec_lock(void) { pthread_mutex_lock(&lock); }
void rec_unlock(void) { pthread_mutex_unlock(&lock); }
bool rec_wants_polls(void) { return wants_polls; }

struct call rec_enter_from(int function, void *site) {
    struct call call = {.function = function, .site = site};
    depth++;
    clock_gettime(CLOCK_MONOTONIC, &call.entered);
    return call;
}

static void put_time(const struct timespec *time) {
    rec_put_u16((unsigned)((time->tv_sec - base_s) & 0xffff));
    rec_put_i32(time->tv_nsec);
}

bool rec_leave(const struct call *call, bool wanted) {
    struct timespec returned;
    depth--;
    __atomic_fetch_add(&called[call->function], 1, __ATOMIC_RELAXED);
    if (wanted && is_open && depth == 0) {
        clock_gettime(CLOCK_MONOTONIC, &returned);
        if (thread_plus_one == 0) {
            thread_plus_one = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
        }
        rec_lock();
        if (is_open) {
            /* Handle look-ups call the library by its P names, so they enter no wrapper. */
            rec_sites_put(records++, call->function, call->site);
            rec_put_u16((unsigned)call->function);
            rec_put_u8(MASK);
            rec_put_u16((unsigned)(thread_plus_one - 1) & 0xffff);
            put_time(&call->entered);
            put_time(&returned);
            return true;
        }
        rec_unlock();
    }
    __atomic_fetch_add(&ignored[call->function], 1, __ATOMIC_RELAXED);
    return false;
}

void rec_end(void) { rec_unlock(); }

static const char *folder_of_traces(void) {
    const char *folder = getenv("DPAMATCH_RECORD_DIR");
    return folder == NULL || *folder == 0 ? "." : folder;
}

/* Creates a new description of the run; its name without ".meta". */
static bool new_description(const char *folder, char *name, int ranks) {
    char path[PATH_BYTES + NAME_BYTES + 16];
    char stamp[64];
    struct tm local;
    time_t start = (time_t)start_s;
    const char *wanted = getenv("DPAMATCH_RECORD_NAME");
    if (wanted != NULL && *wanted != 0) {
        snprintf(stamp, sizeof stamp, "%s", wanted);
    } else {
        localtime_r(&start, &local);
        strftime(stamp, sizeof stamp, "dumpi-%Y.%m.%d.%H.%M.%S", &local);
    }
    for (int again = 0;; again++) {
        if (again == 0) {
            snprintf(name, NAME_BYTES, "%s", stamp);
        } else {
            snprintf(name, NAME_BYTES, "%s.%d", stamp, again);
        }
        snprintf(path, sizeof path, "%s/%s.meta", folder, name);
        int meta = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (meta >= 0) {
            dprintf(meta,
                    "hostname=%s\nnumprocs=%d\nusername=<none>\nstartime=%lld\nfileprefix=%s\n"
                    "version=%d\nsubversion=0\nsubsubversion=0\n",
                    host, ranks, (long long)start_s, name, VERSION);
            return close(meta) == 0;
        }
        if (errno != EEXIST) {
            fprintf(stderr, "dpamatch-record: %s: %s\n", path, strerror(errno));
            return false;
        }
    }
}

void rec_begin_session(const struct call *start) {
    const char *folder = folder_of_traces();
    const char *polls = getenv("DPAMATCH_RECORD_POLLS");
    char name[NAME_BYTES] = "";
    char path[PATH_BYTES + NAME_BYTES + 16];
    int rank, ranks;
    has_begun = true;
    wants_polls = polls == NULL || strcmp(polls, "no") != 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    gethostname(host, sizeof host - 1);
    start_s = (int64_t)time(NULL);
    mkdir(folder, 0777); /* It may exist; if it cannot be made, opening a file in it fails. */
    if (rank == 0 && !new_description(folder, name, ranks)) {
        name[0] = 0;
    }
    /* All ranks use the name that rank 0 found. */
    PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (name[0] == 0) {
        return;
    }
    snprintf(path, sizeof path, "%.*s/%s-%04d.bin", PATH_BYTES, folder, name, rank);
    rec_lock();
    if (rec_output_open(path)) {
        base_s = start->entered.tv_sec;
        rec_put_bytes(MAGIC, sizeof MAGIC);
        rec_put_i32(0);
        rec_put_i32(base_s);
        rec_handles_begin();
        is_open = true;
        rec_sites_open(path);
    }
    rec_unlock();
}

static void put_short_text(const char *text) {
    size_t length = strlen(text);
    rec_put_u16((unsigned)length);
    rec_put_bytes(text, length);
}

static void put_counts(const uint32_t *counts) {
    uint64_t sum = 0;
    for (int k = 0; k < FUNCTIONS; k++) {
        rec_put_i32(counts[k]);
        sum += counts[k];
    }
    rec_put_i32(sum > UINT32_MAX ? UINT32_MAX : (int64_t)sum);
}

void rec_end_session(void) {
    rec_lock();
    if (is_open) {
        is_open = false;
        rec_put_u16(END_OF_STREAM);

        uint64_t header = rec_output_offset();
        rec_put_u8(VERSION);
        rec_put_u8(0);
        rec_put_u8(0);
        rec_put_u64((uint64_t)start_s);
        put_short_text(host);
        put_short_text("<none>");
        rec_put_i32(0); /* no mesh: coordinates, extents */
        rec_put_i32(0);

        uint64_t footer = rec_output_offset();
        rec_put_u64(FOOTER_MAGIC);
        put_counts(called);
        put_counts(ignored);
        rec_put_i32(0); /* no key-value pairs */

        uint64_t counters = rec_output_offset();
        rec_put_i32(0);
        uint64_t sizes = rec_output_offset();
        rec_put_datatype_sizes();
        uint64_t addresses = rec_output_offset();
        rec_put_i32(0);

        const uint64_t index[] = {sizes, addresses, counters, header, sizeof MAGIC, footer, 0};
        rec_put_bytes(MAGIC, sizeof MAGIC);
        for (size_t k = 0; k < sizeof index / sizeof *index; k++) {
            rec_put_u64(index[k]);
        }
        rec_output_close();
        rec_sites_close();
    }
    rec_unlock();
}

static struct timespec loaded;

__attribute__((constructor)) static void note_start(void) { clock_gettime(CLOCK_REALTIME, &loaded); }

/* Whether another process of this rank has begun a trace since this one was loaded, say the program that a script
 * runs. */
static bool another_has_begun(void) {
    bool found = false;
    DIR *folder = opendir(folder_of_traces());
    for (struct dirent *entry; folder != NULL && !found && (entry = readdir(folder)) != NULL;) {
        struct stat about;
        size_t length = strlen(entry->d_name);
        found = length > 5 && strcmp(entry->d_name + length - 5, ".meta") == 0 &&
                fstatat(dirfd(folder), entry->d_name, &about, 0) == 0 && about.st_mtim.tv_sec >= loaded.tv_sec;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return found;
}

/* Reports a program that was to be recorded but never started MPI: it would otherwise end silently. */
__attribute__((destructor)) static void say_if_nothing(void) {
    const char *recorded = getenv("DPAMATCH_RECORD_PID"); /* from dpamatch-record: the process to record */
    const char *ranks[] = {getenv("OMPI_COMM_WORLD_RANK"), getenv("PMIX_RANK"), getenv("PMI_RANK")};
    bool is_first = false;
    for (int k = 0; k < 3; k++) {
        is_first = is_first || (ranks[k] != NULL && strcmp(ranks[k], "0") == 0);
    }
    bool is_meant = recorded == NULL ? is_first : atol(recorded) == (long)getpid();
    if (has_begun || !is_meant || another_has_begun()) {
        return;
    }
    fprintf(stderr,
            "dpamatch-record: nothing was recorded: %s started no MPI that the recorder sees. Is it linked statically, or "
            "with another MPI library than the recorder?\n",
            program_invocation_short_name);
}

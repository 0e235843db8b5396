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
static int world_rank, world_size;
/* The description of the run. */
static char meta[PATH_BYTES + NAME_BYTES + 16];
/* The description of a run whose recording has ended, and calls that came later. */
static char ended_meta[sizeof meta];
static unsigned long long late;

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
    rec_find_library();
    depth++;
    clock_gettime(CLOCK_MONOTONIC, &call.entered);
    return call;
}

static void put_time(const struct timespec *time) {
    rec_put_u16((unsigned)((time->tv_sec - base_s) & 0xffff));
    rec_put_i32(time->tv_nsec);
}

static void put_head(const struct call *call, const struct timespec *returned) {
    rec_sites_put(records++, call->function, call->site);
    rec_put_u16((unsigned)call->function);
    rec_put_u8(MASK);
    rec_put_u16((unsigned)(thread_plus_one - 1) & 0xffff);
    put_time(&call->entered);
    put_time(returned);
}

/* ordering: statistics, and numbers of threads, which only differ. */
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
            put_head(call, &returned);
            return true;
        }
        rec_unlock();
    }
    if (wanted && depth == 0 && ended_meta[0] != 0) {
        __atomic_fetch_add(&late, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&ignored[call->function], 1, __ATOMIC_RELAXED);
    return false;
}

void rec_end(void) { rec_unlock(); }

/* ordering: a statistic. */
void rec_next(struct call *call, int function) {
    struct timespec returned;
    clock_gettime(CLOCK_MONOTONIC, &returned);
    call->function = function;
    __atomic_fetch_add(&called[function], 1, __ATOMIC_RELAXED);
    put_head(call, &returned);
}

void rec_leave_known(void) { depth--; }

void rec_leave_unnumbered(const struct call *call, int at) {
    (void)call;
    if (--depth == 0) {
        rec_note_unnumbered(at);
    }
}

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
        int meta = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (meta >= 0) {
            struct rec_quiet quiet;
            rec_quiet_begin(&quiet);
            int count = dprintf(meta,
                    "hostname=%s\nnumprocs=%d\nusername=<none>\nstartime=%lld\nfileprefix=%s\n"
                    "version=%d\nsubversion=0\nsubsubversion=0\n",
                    host, ranks, (long long)start_s, name, VERSION);
            rec_quiet_end(&quiet);
            if (close(meta) != 0 || count < 0) {
                fprintf(stderr, "dpamatch-record: %s: %s; nothing is recorded\n", path, strerror(errno));
                return false;
            }
            return true;
        }
        if (errno != EEXIST) {
            fprintf(stderr, "dpamatch-record: %s: %s; nothing is recorded\n", path, strerror(errno));
            return false;
        }
    }
}

bool rec_has_begun(void) { return has_begun; }

/* Opens the files. All processes of `comm` use the name that its process 0 found, which is `first` of the run. */
static void begin(const struct call *start, MPI_Comm comm, bool is_first, bool has_all) {
    const char *folder = folder_of_traces();
    const char *polls = getenv("DPAMATCH_RECORD_POLLS");
    const char *wanted = getenv("DPAMATCH_RECORD_NAME");
    char name[NAME_BYTES] = "";
    char path[PATH_BYTES + NAME_BYTES + 16];
    has_begun = true;
    wants_polls = polls == NULL || strcmp(polls, "no") != 0;
    gethostname(host, sizeof host - 1);
    start_s = (int64_t)time(NULL);
    mkdir(folder, 0777); /* It may exist; if it cannot be made, opening a file in it fails. */
    if (is_first && !new_description(folder, name, world_size)) {
        name[0] = 0;
    }
    if (has_all) {
        PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, comm);
    } else if (!is_first && wanted != NULL) {
        snprintf(name, sizeof name, "%s", wanted);
    }
    if (name[0] == 0) {
        return;
    }
    snprintf(meta, sizeof meta, "%.*s/%s.meta", PATH_BYTES, folder, name);
    snprintf(path, sizeof path, "%.*s/%s-%04d.bin", PATH_BYTES, folder, name, world_rank);
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

void rec_begin_session(const struct call *start) {
    if (has_begun) {
        return; /* A session began it. */
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
    begin(start, MPI_COMM_WORLD, world_rank == 0, true);
}

void rec_begin_session_without_world(const struct call *start, MPI_Comm comm, int rank, int ranks) {
    const char *wanted = getenv("DPAMATCH_RECORD_NAME");
    int members = 0, own = 0;
    PMPI_Comm_size(comm, &members);
    PMPI_Comm_rank(comm, &own);
    world_rank = rank;
    world_size = ranks;
    if (members < ranks && (wanted == NULL || *wanted == 0)) {
        /* No communication may involve the others, so there is no common name. */
        has_begun = true;
        fprintf(stderr,
                "dpamatch-record: rank %d is not recorded: its first communicator from a group has %d of %d processes. "
                "The option -n NAME makes it possible.\n",
                rank, members, ranks);
        return;
    }
    begin(start, comm, members < ranks ? rank == 0 : own == 0, members == ranks);
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

void rec_end_session(bool is_collective) {
    if (meta[0] != 0) {
        rec_notes_end(meta, world_rank, is_collective);
        memcpy(ended_meta, meta, sizeof meta);
        meta[0] = 0;
    }
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
    rec_end_session(false); /* for a program that exits without MPI_Finalize */
    if (late > 0) {
        rec_note_late(ended_meta, world_rank, late);
    }
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
    const char *library = rec_loaded_library();
    if (library != NULL) {
        fprintf(stderr,
                "dpamatch-record: nothing was recorded: %s loaded %s, but no call that starts MPI passed through the "
                "recorder\n",
                program_invocation_short_name, library);
        return;
    }
    fprintf(stderr,
            "dpamatch-record: nothing was recorded: %s started no MPI that the recorder sees. Is it linked statically, or "
            "with another MPI library than the recorder?\n",
            program_invocation_short_name);
}

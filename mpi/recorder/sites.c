/* Call sites of sends, receives and probes: the return address of each call.
 *
 * The format of the trace has no field for it, so each rank has a second file, NAME-NNNN.sites, a text:
 *
 *   dpamatch call sites 1
 *   object 0 /path/of/the/program          an executable or shared library, as it was loaded
 *   site 0 0 1234                          site 0 is in object 0, at this address of the file (hexadecimal)
 *   call 17 0                              record 17 of the trace, counted from 0, was made at site 0
 *
 * A line comes before those that use its number. */

#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "table.h"

enum { OBJECTS_MAX = 256, FRAMES = 16 };

static FILE *file;
static struct table sites;
static int32_t sites_known;
/* Base addresses of the known objects. */
static const void *objects[OBJECTS_MAX];
static unsigned objects_known;

/* Sends, receives, starts of persistent ones, probes, by their numbers in the format. */
static bool has_site(int function) {
    return function <= 1 || (function >= 3 && function <= 5) || (function >= 8 && function <= 12) || function == 22 ||
           function == 23 || (function >= 26 && function <= 32) || function == 33 || function == 34;
}

void rec_sites_open(const char *rank_file) {
    const char *wanted = getenv("DPAMATCH_RECORD_SITES");
    char path[PATH_MAX];
    if (wanted == NULL || strcmp(wanted, "yes") != 0) {
        return;
    }
    /* Its name ends in .bin. */
    snprintf(path, sizeof path, "%.*s.sites", (int)strlen(rank_file) - 4, rank_file);
    file = fopen(path, "wxe");
    if (file == NULL) {
        fprintf(stderr, "dpamatch-record: %s: %s\n", path, strerror(errno));
        return;
    }
    fputs("dpamatch call sites 1\n", file);
}

/* Whether an address is in the MPI library or in the recorder; the program's own call is then further out. */
static bool is_library(const Dl_info *info) {
    const char *name = info->dli_fname == NULL ? NULL : strrchr(info->dli_fname, '/');
    name = name == NULL ? info->dli_fname : name + 1;
    return name != NULL && (strncmp(name, "libmpi", 6) == 0 || strncmp(name, "libdpamatch-record", 18) == 0);
}

/* The number of an object; a new one gets a line. OBJECTS_MAX if there are too many. */
static unsigned object_of(const Dl_info *info, const struct link_map *map) {
    char path[PATH_MAX];
    for (unsigned k = 0; k < objects_known; k++) {
        if (objects[k] == info->dli_fbase) {
            return k;
        }
    }
    if (objects_known == OBJECTS_MAX) {
        return OBJECTS_MAX;
    }
    /* The program itself has no name here. */
    const char *name = map->l_name[0] != 0 ? map->l_name : "/proc/self/exe";
    fprintf(file, "object %u %s\n", objects_known, realpath(name, path) != NULL ? path : name);
    objects[objects_known] = info->dli_fbase;
    return objects_known++;
}

/* The number of a site; a new one gets a line. Negative if the address is in no object. */
static int32_t site_of(void *address) {
    Dl_info info;
    struct link_map *map;
    const uint64_t key = (uint64_t)(uintptr_t)address;
    const struct entry *known = rec_table_find(&sites, key);
    if (known != NULL) {
        return known->number;
    }
    /* The call itself is before the address that it returns to. */
    if (dladdr1((char *)address - 1, &info, (void **)&map, RTLD_DL_LINKMAP) == 0) {
        return -1;
    }
    unsigned object = object_of(&info, map);
    if (object == OBJECTS_MAX || rec_table_add(&sites, key, sites_known) == NULL) {
        return -1;
    }
    fprintf(file, "site %d %u %llx\n", sites_known, object,
            (unsigned long long)((uintptr_t)address - 1 - (uintptr_t)map->l_addr));
    return sites_known++;
}

void rec_sites_put(uint64_t record, int function, void *site) {
    Dl_info info;
    struct rec_quiet quiet;
    if (file == NULL || !has_site(function)) {
        return;
    }
    if (dladdr((char *)site - 1, &info) != 0 && is_library(&info)) {
        /* A Fortran interface lies between: go on to the first caller outside. */
        void *frames[FRAMES];
        int count = backtrace(frames, FRAMES);
        for (int k = 0; k < count; k++) {
            if (dladdr((char *)frames[k] - 1, &info) != 0 && !is_library(&info)) {
                site = frames[k];
                break;
            }
        }
    }
    rec_quiet_begin(&quiet);
    int32_t number = site_of(site);
    if (number >= 0) {
        fprintf(file, "call %llu %d\n", (unsigned long long)record, number);
    }
    rec_quiet_end(&quiet);
}

void rec_sites_close(void) {
    if (file != NULL) {
        struct rec_quiet quiet;
        rec_quiet_begin(&quiet);
        bool has_failed = ferror(file) != 0;
        if (fclose(file) != 0 || has_failed) {
            fprintf(stderr, "dpamatch-record: the call sites are cut off\n");
        }
        rec_quiet_end(&quiet);
        file = NULL;
    }
}

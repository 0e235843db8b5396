/* The MPI library's own functions. Usually the recorder is loaded before the library, so the next function of a name
 * is the library's. A program may also load the library later, for itself or for a plug-in alone. So the first MPI
 * call looks for it: behind the recorder, then in each loaded object. */

#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef REAL_NAMES
#define REAL(name) __typeof__(real_##name) real_##name;
#include "real.def"
#undef REAL
#endif

/* Where an address is from; null if it is in no object. */
static const void *object_of(const void *address) {
    Dl_info info;
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static bool is_own(const void *address) { return object_of(address) == object_of((const void *)&rec_find_library); }

struct search {
    void *handle;
    const char *name;
};

/* Ends the search at an object that itself defines MPI's functions. */
static int look_into(struct dl_phdr_info *object, size_t size, void *search_) {
    struct search *search = search_;
    (void)size;
    if (object->dlpi_name == NULL || object->dlpi_name[0] == 0) {
        return 0; /* the program, whose handle finds everything */
    }
    void *handle = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    void *start = handle == NULL ? NULL : dlsym(handle, "PMPI_Init");
    Dl_info info;
    if (start != NULL && !is_own(start) && dladdr(start, &info) != 0) {
        search->handle = handle;
        search->name = info.dli_fname;
        return 1;
    }
    if (handle != NULL) {
        dlclose(handle);
    }
    return 0;
}

static struct search find(void) {
    struct search search = {0};
    Dl_info info;
    void *start = dlsym(RTLD_NEXT, "PMPI_Init");
    if (start != NULL && dladdr(start, &info) != 0) {
        search.handle = RTLD_NEXT;
        search.name = info.dli_fname;
        return search;
    }
    dl_iterate_phdr(look_into, &search);
    return search;
}

const char *rec_loaded_library(void) {
#ifdef OPEN_MPI
    /* The recorder itself needs Open MPI's data, so the library is loaded in each program. */
    return NULL;
#else
    return find().name;
#endif
}

#ifdef OPEN_MPI
static const char BUILT_FOR[] = "Open MPI";
#elif defined MPICH_NAME || defined MPICH_VERSION
static const char BUILT_FOR[] = "MPICH";
#else
static const char BUILT_FOR[] = "";
#endif

/* The two libraries' handles differ, so a call with the other one's would crash. */
static void check_kind(const struct search *library) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    int (*ask)(char *, int *) = (int (*)(char *, int *))dlsym(library->handle, "PMPI_Get_library_version");
    if (ask == NULL || ask(version, &length) != MPI_SUCCESS) {
        return;
    }
    bool is_open_mpi = strstr(version, "Open MPI") != NULL;
    if (BUILT_FOR[0] != 0 && is_open_mpi != (strcmp(BUILT_FOR, "Open MPI") == 0)) {
        fprintf(stderr, "dpamatch-record: the recorder was built for %s, but the program loaded %s, which is %.40s\n",
                BUILT_FOR, library->name, version);
        exit(1);
    }
}

#ifdef REAL_NAMES
static const char *missing_first;
static int missing;

/* In place of a function that the recorder was built with and the loaded library does not have. */
static int is_missing(void) {
    fprintf(stderr,
            "dpamatch-record: the loaded MPI library lacks %d functions of the one that the recorder was built for, %s "
            "first, and the program or the recorder called one: build the recorder with this library\n",
            missing, missing_first);
    exit(1);
}
#endif

static void find_all(void) {
    struct search library = find();
#ifdef MPI_LIBRARY
    /* A language's bindings may ask whether MPI is loaded, and take the recorder for it: then they load no library. */
    if (library.handle == NULL && dlopen(MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL) != NULL) {
        library = find();
    }
#endif
    if (library.handle == NULL) {
        fprintf(stderr, "dpamatch-record: a call of MPI was made, but no MPI library is loaded: the program ends\n");
        exit(1);
    }
    check_kind(&library);
#ifdef REAL_NAMES
#define REAL(name)                                                                  \
    real_##name = (__typeof__(real_##name))dlsym(library.handle, #name);            \
    if (real_##name == NULL || is_own((const void *)real_##name)) {                 \
        missing_first = missing++ == 0 ? #name : missing_first;                     \
        real_##name = (__typeof__(real_##name))(void *)is_missing;                          \
    }
#include "real.def"
#undef REAL
#endif
}

void rec_find_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_all);
}

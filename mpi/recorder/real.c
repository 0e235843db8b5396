/* The MPI library's own functions. The recorder is loaded before the library, so the next function of a name is the
 * library's. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "record.h"

#ifdef REAL_NAMES
#define REAL(name) __typeof__(real_##name) real_##name;
#include "real.def"
#undef REAL

__attribute__((constructor)) static void find_all(void) {
    const char *missing = NULL;
    /* The recorder ignores programs without MPI, such as a shell between the launcher and the program. */
    if (dlsym(RTLD_NEXT, "PMPI_Init") == NULL) {
        return;
    }
#define REAL(name)                                                         \
    real_##name = (__typeof__(real_##name))dlsym(RTLD_NEXT, #name);        \
    missing = real_##name == NULL ? #name : missing;
#include "real.def"
#undef REAL
    if (missing != NULL) {
        fprintf(stderr, "dpamatch-record: the MPI library has no %s: the recorder was built for another one\n", missing);
        abort();
    }
}
#endif

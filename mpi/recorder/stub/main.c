/* Runs a part of program.c, which is in a plug-in of this name; the program itself knows no MPI. A third argument:
 * the plug-in calls its library past the recorder. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *plugin = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | (argc > 3 ? RTLD_DEEPBIND : 0)) : NULL;
    int (*run)(const char *) = plugin == NULL ? NULL : (int (*)(const char *))dlsym(plugin, "run");
    if (run == NULL || run(argv[2]) != 0) {
        fprintf(stderr, "%s\n", plugin == NULL ? dlerror() : "the plug-in failed");
        return 1;
    }
    puts("done");
    return 0;
}

/* The main of unit_MODULE, which contains the unit tests of a module: unit_MODULE FILE [GLib's options]. A
 * program with the tests of one file needs no FILE.
 *
 * The tests of a file run in a process of their own. A test can start its program again, as
 * g_test_trap_subprocess does, with arguments that do not name the file: the environment does.
 */
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

#define VARIABLE "KW_UNIT_FILE"

/* The files, and the main of a file that has one. */
#define KW_UNIT_FILE_HERE(name) __attribute__((weak)) int kw_test_##name(int argc, char **argv);
#include "unit_tests.def"
#undef KW_UNIT_FILE_HERE

static const struct {
    const char *name;
    int (*main)(int argc, char **argv); /* NULL: none */
} files[] = {
#define KW_UNIT_FILE_HERE(name) {#name, kw_test_##name},
#include "unit_tests.def"
#undef KW_UNIT_FILE_HERE
};

static struct {
    const char *file, *path;
    void (*run)(void);
} tests[2000];
static size_t tests_count;

void
kw_unit_register(const char *file, const char *path, void (*run)(void))
{
    g_assert(tests_count < G_N_ELEMENTS(tests));
    tests[tests_count].file = file;
    tests[tests_count].path = path;
    tests[tests_count++].run = run;
}

/* The number of the file, or that of all files. */
static size_t
find_file(const char *name)
{
    size_t at = 0;
    while (at < G_N_ELEMENTS(files) && g_strcmp0(files[at].name, name) != 0)
        at++;
    return at;
}

static int
run_file(size_t file, int argc, char **argv)
{
    if (files[file].main)
        return files[file].main(argc, argv);
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < tests_count; i++)
        if (!tests[i].path && strcmp(tests[i].file, files[file].name) == 0)
            tests[i].run();
    for (size_t i = 0; i < tests_count; i++)
        if (tests[i].path && strcmp(tests[i].file, files[file].name) == 0)
            g_test_add_func(tests[i].path, tests[i].run);
    return g_test_run();
}

int
main(int argc, char **argv)
{
    size_t file = find_file(argc > 1 ? argv[1] : NULL);
    if (file < G_N_ELEMENTS(files)) {
        g_setenv(VARIABLE, argv[1], TRUE);
        argv[1] = argv[0];
        return run_file(file, argc - 1, argv + 1);
    }
    file = G_N_ELEMENTS(files) == 1 ? 0 : find_file(g_getenv(VARIABLE));
    if (file < G_N_ELEMENTS(files))
        return run_file(file, argc, argv);
    fprintf(stderr, "usage: %s FILE [OPTION...], where FILE is one of:\n", argv[0]);
    for (size_t i = 0; i < G_N_ELEMENTS(files); i++)
        fprintf(stderr, "  %s\n", files[i].name);
    return 2;
}

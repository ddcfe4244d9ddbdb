/* The main of unit_MODULE, which contains the unit tests of a module: unit_MODULE TEST [GLib's options].
 *
 * Each test runs in a process of its own. A test can start its program again, as g_test_trap_subprocess does,
 * with arguments that do not name the test: the environment does.
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

#define VARIABLE "KW_UNIT_TEST"

#define KW_UNIT_TEST(name) int kw_test_##name(int argc, char **argv);
#include "unit_tests.def"
#undef KW_UNIT_TEST

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} tests[] = {
#define KW_UNIT_TEST(name) {#name, kw_test_##name},
#include "unit_tests.def"
#undef KW_UNIT_TEST
};

/* The number of the test, or that of all tests. */
static size_t
find_test(const char *name)
{
    size_t at = 0;
    while (at < G_N_ELEMENTS(tests) && g_strcmp0(tests[at].name, name) != 0)
        at++;
    return at;
}

int
main(int argc, char **argv)
{
    size_t test = find_test(argc > 1 ? argv[1] : NULL);
    if (test < G_N_ELEMENTS(tests)) {
        g_setenv(VARIABLE, argv[1], TRUE);
        argv[1] = argv[0];
        return tests[test].run(argc - 1, argv + 1);
    }
    test = find_test(g_getenv(VARIABLE));
    if (test < G_N_ELEMENTS(tests))
        return tests[test].run(argc, argv);
    fprintf(stderr, "usage: %s TEST [OPTION...], where TEST is one of:\n", argv[0]);
    for (size_t i = 0; i < G_N_ELEMENTS(tests); i++)
        fprintf(stderr, "  %s\n", tests[i].name);
    return 2;
}

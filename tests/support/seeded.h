/* g_test_init for programs with random tests. GLib chooses a new seed in each run for g_test_rand_int and
 * related functions (and prints it). KW_SEED, which scripts/test sets, fixes the seed, as for the other
 * random tests. An argument --seed takes precedence.
 */
#pragma once

#include <glib.h>
#include <string.h>

#define SEEDED_ARGUMENTS_MOST 64

static inline void
seeded_init(int *argc, char ***argv)
{
    static char *arguments[SEEDED_ARGUMENTS_MOST + 2], seed[sizeof "--seed=R02S" + 32];
    const char *given = g_getenv("KW_SEED");
    if (given) {
        g_assert(*argc < SEEDED_ARGUMENTS_MOST);
        unsigned number = (unsigned)g_ascii_strtoull(given, NULL, 10);
        g_snprintf(seed, sizeof seed, "--seed=R02S%08x%08x%08x%08x", number, 0, 0, 0);
        arguments[0] = (*argv)[0];
        arguments[1] = seed;
        memcpy(arguments + 2, *argv + 1, (size_t)*argc * sizeof **argv); /* with the NULL at the end */
        *argv = arguments;
        ++*argc;
    }
    g_test_init(argc, argv, NULL);
}

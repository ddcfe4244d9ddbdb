/* How the tests in a file of unit tests are written. cmake/module.cmake includes this file before each of
 * them.
 *
 *   KW_TEST(test_name, "/module/topic/name")
 *   {
 *       ...
 *   }
 *
 * defines a test and registers it, and KW_TEST_START(start) { ... } defines what runs once before the tests
 * of the file: it can add tests that have data, with GLib's functions. A file can have a main instead, which
 * cmake renames.
 */
#pragma once

#include <glib.h>

int main(int argc, char **argv);

/* Called before main, in the order of the file. path: NULL for what runs before the tests. */
void kw_unit_register(const char *file, const char *path, void (*run)(void));

#define KW_TEST(name, path)                                                                                  \
    static void name(void);                                                                                  \
    __attribute__((constructor)) static void register_##name(void)                                           \
    {                                                                                                        \
        kw_unit_register(KW_UNIT_FILE, path, name);                                                          \
    }                                                                                                        \
    static void name(void)

#define KW_TEST_START(name) KW_TEST(name, NULL)

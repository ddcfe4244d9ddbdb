/* The memory budget of policies on machines of different sizes; freed memory is returned to the system. */
#include "policy/memory.h"

#include "base/machine.h"
#include "base/thread.h"
#include "config/reader.h"
#include "gateway/memory_trim.h"
#include "schema/policy.h"

#if !defined(__SANITIZE_ADDRESS__)
#include <jemalloc/jemalloc.h>
#endif
#include <string.h>

#define MIB ((int64_t)1024 * 1024)

/* Returns -1 if the policy is rejected. */
static int64_t
budget(const char *settings, int64_t machine_bytes)
{
    g_autofree char *text = g_strconcat(settings, "tables: {t: {fields: {a: int}, key: [field: a]}}\n", NULL);
    g_autoptr(kw_diagnostics) found = kw_diagnostics_new("test");
    size_t schemas_count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&schemas_count);
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, schemas_count, found);
    g_autofree char *problems = kw_diagnostics_text(found);
    if (!model)
        g_error("%s", problems);
    int64_t bytes = -1;
    if (kw_memory_budget(model, machine_bytes, found, &bytes))
        return bytes;
    g_assert_cmpuint(kw_diagnostics_count(found), ==, 1);
    return -1;
}

KW_TEST(half_of_the_machine, "/gateway/memory/half")
{
    g_assert_cmpint(budget("", 8192 * MIB), ==, 4096 * MIB);
    g_assert_cmpint(budget("", 336 * MIB), ==, 168 * MIB);
}

KW_TEST(a_configured_budget_is_used, "/gateway/memory/given")
{
    g_assert_cmpint(budget("limits: {memory: 200MiB}\n", 8192 * MIB), ==, 200 * MIB);
    g_assert_cmpint(budget("limits: {memory: 9GiB}\n", 8192 * MIB), ==, 9216 * MIB);
}

KW_TEST(limits_that_exceed_the_default, "/gateway/memory/exceeded")
{
    g_assert_cmpint(budget("store: {cache: 3GiB}\n", 8192 * MIB), ==, 4096 * MIB);
    g_assert_cmpint(budget("store: {cache: 4GiB}\n", 8192 * MIB), ==, -1);
    g_assert_cmpint(budget("limits: {frame: 512MiB}\n", 2048 * MIB), ==, -1);
}

KW_TEST(a_small_machine, "/gateway/memory/small")
{
    g_assert_cmpint(budget("", 256 * MIB), ==, 168 * MIB);
    g_assert_cmpint(budget("", 128 * MIB), ==, -1);
    g_assert_cmpint(budget("limits: {frame: 4MiB}\nstore: {cache: 8MiB}\n", 128 * MIB), ==, 64 * MIB);
}

#if !defined(__SANITIZE_ADDRESS__)
enum { CHUNKS = 20000, CHUNK = 8 * 1024 }; /* 156 MiB */

/* Frees the chunks except some. */
static void
free_most(void *user)
{
    void **chunks = user;
    for (int i = 0; i < CHUNKS; i++)
        if (i % 64)
            g_free(chunks[i]);
}

KW_TEST(memory_freed_by_a_thread_that_ended_its_work, "/gateway/memory/returned")
{
    ssize_t decay_ms = 0;
    size_t size = sizeof decay_ms;
    g_assert_cmpint(mallctl("opt.dirty_decay_ms", &decay_ms, &size, NULL, 0), ==, 0);
    g_assert_cmpint(decay_ms, ==, 10); /* the default is 10,000 */

    g_autofree void **chunks = g_new0(void *, CHUNKS);
    int64_t before = kw_machine_resident_bytes();
    for (int i = 0; i < CHUNKS; i++)
        chunks[i] = memset(g_malloc(CHUNK), 1, CHUNK);
    g_assert_cmpint(kw_machine_resident_bytes(), >, before + 140 * MIB);
    kw_thread thread;
    kw_thread_start(&thread, "frees", free_most, chunks);
    kw_thread_join(&thread);

    kw_memory_trim_start();
    g_usleep(2500 * 1000);
    g_assert_cmpint(kw_machine_resident_bytes(), <, before + 16 * MIB);

    for (int i = 0; i < CHUNKS; i += 64)
        g_free(chunks[i]);
    kw_memory_trim_stop();
}

/* It is returned at once, not after the second of the interval. */
KW_TEST(memory_freed_in_a_burst, "/gateway/memory/burst")
{
    kw_memory_trim_start();
    g_autofree void **chunks = g_new0(void *, CHUNKS);
    int64_t before = kw_machine_resident_bytes();
    for (int i = 0; i < CHUNKS; i++) {
        chunks[i] = memset(g_malloc(CHUNK), 1, CHUNK);
        kw_budget_charge(KW_MEMORY_ROWS, CHUNK);
    }
    for (int i = 0; i < CHUNKS; i++) {
        kw_budget_charge(KW_MEMORY_ROWS, -CHUNK);
        g_free(chunks[i]);
    }
    for (int i = 0; i < 100 && kw_machine_resident_bytes() >= before + 32 * MIB; i++)
        g_usleep(1000);
    g_assert_cmpint(kw_machine_resident_bytes(), <, before + 32 * MIB);
    kw_memory_trim_stop();
}
#endif

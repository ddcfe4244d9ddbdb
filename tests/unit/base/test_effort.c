/* Work ends at its deadline, after its maximum amount, when it needs too much memory, or when it is
 * cancelled; the error says which.
 */
#include "base/effort.h"

#include <glib.h>
#include <string.h>

static void
expect(const kw_effort *effort, kw_code code, const char *words)
{
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_effort_fail(effort, "it was tested", &error));
    g_assert_cmpint(error.code, ==, code);
    if (!strstr(error.text, words))
        g_error("%s", error.text);
}

KW_TEST(test_no_effort, "/effort/none")
{
    g_assert_true(kw_effort_spend(NULL, UINT64_MAX));
    g_assert_true(kw_effort_hold(NULL, SIZE_MAX));
}

KW_TEST(test_amount, "/effort/amount")
{
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .units_most = 100000};
    for (int i = 0; i < 99; i++)
        g_assert_true(kw_effort_spend(&effort, 1000));
    g_assert_false(kw_effort_spend(&effort, 1000));
    g_assert_false(kw_effort_spend(&effort, 0)); /* still used up */
    expect(&effort, KW_LIMIT, "too much work while it was tested");
}

KW_TEST(test_deadline, "/effort/deadline")
{
    kw_effort effort = {.deadline = kw_deadline_in_ms(20)}, passed = {.deadline = 1};
    while (kw_effort_spend(&effort, KW_EFFORT_LOOK))
        ;
    g_assert_true(kw_deadline_passed(effort.deadline));
    expect(&effort, KW_TIMEOUT, "the deadline passed while it was tested");
    g_assert_false(kw_effort_spend(&passed, 1)); /* the first call checks the clock */
}

KW_TEST(test_memory, "/effort/memory")
{
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .bytes_most = 3 << 20};
    g_assert_true(kw_effort_hold(&effort, 2 << 20));
    g_assert_true(kw_effort_hold(&effort, 3 << 20)); /* the same part has grown */
    g_assert_true(kw_effort_hold(&effort, 2 << 20)); /* the part has shrunk, and is kept */
    kw_effort_keep(&effort);
    g_assert_true(kw_effort_hold(&effort, 1 << 20));
    g_assert_false(kw_effort_hold(&effort, (1 << 20) + 1));
    g_assert_false(kw_effort_spend(&effort, 1));
    expect(&effort, KW_LIMIT, "more than 3 MiB of memory were needed while it was tested");
}

/* Memory that is not in an arena is charged to the account, up to the share of a call, and while it is not
 * short. */
KW_TEST(test_charged_memory, "/effort/charged")
{
    enum { MIB = 1 << 20 };
    kw_account *account = kw_account_new();
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .account = account};
    kw_budget_configure(64 * MIB);
    g_assert_true(kw_effort_hold(&effort, 20 * MIB) && kw_effort_charge(&effort));
    g_assert_cmpint(kw_account_bytes(account), ==, 20 * MIB);
    g_assert_true(kw_effort_hold(&effort, 10 * MIB) && kw_effort_charge(&effort));
    g_assert_cmpint(kw_account_bytes(account), ==, 10 * MIB);
    kw_effort_keep(&effort);
    g_assert_true(kw_effort_hold(&effort, 20 * MIB) && kw_effort_charge(&effort));
    g_assert_cmpint(kw_account_bytes(account), ==, 30 * MIB);
    g_assert_true(kw_effort_hold(&effort, 23 * MIB));
    g_assert_false(kw_effort_charge(&effort));
    g_assert_false(kw_effort_spend(&effort, 1));
    expect(&effort, KW_LIMIT, "the call needs more than 33554432 bytes of memory");
    kw_effort_release(&effort);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_effort later = {.deadline = KW_DEADLINE_NONE, .account = account};
    kw_budget_charge(KW_MEMORY_ROWS, 60 * MIB);
    g_assert_true(kw_effort_hold(&later, 20 * MIB));
    g_assert_false(kw_effort_charge(&later));
    expect(&later, KW_BUSY, "the gateway is short of memory");
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_budget_charge(KW_MEMORY_ROWS, -60 * MIB);
    kw_account_unref(account);
    kw_budget_configure(0);
}

/* Work whose arena grew while memory was short ends with BUSY. An arena above the share of a call alone does
 * not end it. */
KW_TEST(test_arena_short_of_memory, "/effort/arena_short_of_memory")
{
    enum { MIB = 1 << 20 };
    kw_account *account = kw_account_new();
    kw_arena *arena = kw_arena_new_for(account, KW_MEMORY_ROWS);
    kw_budget_configure(64 * MIB);
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .arena = arena};
    kw_arena_alloc(arena, 20 * MIB);
    g_assert_true(kw_effort_spend(&effort, KW_EFFORT_LOOK));
    kw_budget_charge(KW_MEMORY_ROWS, 30 * MIB);
    kw_arena_alloc(arena, 10 * MIB);
    g_assert_false(kw_effort_spend(&effort, KW_EFFORT_LOOK));
    expect(&effort, KW_BUSY, "the gateway is short of memory");
    kw_budget_charge(KW_MEMORY_ROWS, -30 * MIB);
    kw_arena_reset(arena);
    kw_effort large = {.deadline = KW_DEADLINE_NONE, .arena = arena};
    kw_arena_mark mark = kw_arena_mark_now(arena);
    kw_arena_alloc(arena, 40 * MIB);
    g_assert_true(kw_effort_spend(&large, KW_EFFORT_LOOK));
    kw_arena_rewind(arena, mark);
    kw_budget_charge(KW_MEMORY_ROWS, 50 * MIB);
    kw_arena_alloc(arena, 10 * MIB);
    g_assert_false(kw_effort_spend(&large, KW_EFFORT_LOOK));
    kw_budget_charge(KW_MEMORY_ROWS, -50 * MIB);
    kw_arena_free(arena);
    kw_account_unref(account);
    kw_budget_configure(0);
}

static bool
is_set(void *user)
{
    return *(bool *)user;
}

KW_TEST(test_cancelled, "/effort/cancelled")
{
    bool cancelled = false;
    kw_effort effort = {.deadline = KW_DEADLINE_NONE, .is_cancelled = is_set, .user = &cancelled};
    g_assert_true(kw_effort_spend(&effort, KW_EFFORT_LOOK));
    cancelled = true;
    g_assert_false(kw_effort_spend(&effort, KW_EFFORT_LOOK));
    expect(&effort, KW_UNAVAILABLE, "cancelled while it was tested");
}

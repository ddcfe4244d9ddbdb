/* The budget sums the charges of all threads, limits accounts to their share, and reports pressure in
 * steps. */
#include "base/budget.h"

#include "base/arena.h"
#include "base/thread.h"

#include <glib.h>
#include <string.h>

#define MIB ((int64_t)1024 * 1024)

static void
charge_and_end(void *user)
{
    int64_t *bytes = user;
    kw_budget_charge(KW_MEMORY_ROWS, *bytes);
}

KW_TEST(threads_are_summed, "/budget/threads")
{
    int64_t before = kw_budget_used(), each = 1000;
    kw_thread threads[8];
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "charge", charge_and_end, &each);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
    g_assert_cmpint(kw_budget_used() - before, ==, 8 * each);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_rows), ==, 8 * each);
    kw_budget_charge(KW_MEMORY_ROWS, -8 * each);
    kw_budget_settle();
    g_assert_cmpint(kw_budget_used(), ==, before);
}

/* Small charges of a thread are collected; the total is never off by more than one step. */
KW_TEST(small_charges_are_collected, "/budget/small-charges")
{
    kw_budget_settle();
    int64_t before = kw_budget_used(), charged = 0;
    for (int i = 0; i < 10000; i++) {
        kw_budget_charge(KW_MEMORY_CALLS, 100);
        charged += 100;
        g_assert_cmpint(ABS(kw_budget_used() - before - charged), <=, KW_BUDGET_STEP);
    }
    kw_budget_charge(KW_MEMORY_CALLS, -charged);
    kw_budget_settle();
    g_assert_cmpint(kw_budget_used(), ==, before);
}

KW_TEST(pressure_rises_in_steps, "/budget/pressure")
{
    kw_budget_settle();
    g_assert_cmpint(kw_budget_used(), ==, 0);
    kw_account *small = kw_account_new(), *big = kw_account_new();
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_NONE);
    g_assert_cmpint(kw_budget_left(small), ==, INT64_MAX);
    kw_budget_configure(160 * MIB);
    kw_account_charge(big, KW_MEMORY_REPLIES, 127 * MIB);
    g_assert_cmpint(kw_budget_pressure(big), ==, KW_PRESSURE_NONE);
    g_assert_cmpint(kw_budget_excess(), ==, 0);
    kw_account_charge(big, KW_MEMORY_REPLIES, 2 * MIB);
    g_assert_cmpint(kw_budget_excess(), ==, MIB);
    g_assert_cmpint(kw_budget_pressure(big), ==, KW_PRESSURE_HIGH);
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_HIGH);
    g_assert_true(kw_account_is_over_share(big));
    g_assert_false(kw_account_is_over_share(small));
    kw_account_charge(big, KW_MEMORY_REPLIES, 7 * MIB);
    g_assert_cmpint(kw_budget_pressure(big), ==, KW_PRESSURE_FULL);
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_HIGH);
    g_assert_cmpint(kw_budget_left(small), ==, 8 * MIB);
    kw_account_charge(big, KW_MEMORY_REPLIES, -136 * MIB);
    g_assert_cmpint(kw_budget_pressure(big), ==, KW_PRESSURE_NONE);
    kw_account_unref(small);
    kw_account_unref(big);
    kw_budget_configure(0);
}

/* Large accounts cannot use the last tenth, even within their share. Small ones can, until they are large. */
KW_TEST(a_reserve_is_left_for_small_accounts, "/budget/reserve")
{
    kw_budget_settle();
    kw_account *small = kw_account_new(), *big = kw_account_new(),
               *others[2] = {kw_account_new(), kw_account_new()};
    kw_budget_configure(160 * MIB);
    kw_account_charge(big, KW_MEMORY_CALLS, 40 * MIB);
    kw_account_charge(others[0], KW_MEMORY_CALLS, 90 * MIB);
    kw_account_charge(others[1], KW_MEMORY_CALLS, 14 * MIB - KW_BUDGET_STEP);
    g_assert_false(kw_account_is_over_share(big));
    g_assert_true(kw_account_is_over_share(others[0]));
    g_assert_cmpint(kw_budget_left(big), ==, KW_BUDGET_STEP);
    g_assert_false(kw_budget_is_in_reserve());
    g_assert_cmpint(kw_budget_pressure(big), ==, KW_PRESSURE_HIGH);
    kw_account_charge(big, KW_MEMORY_CALLS, KW_BUDGET_STEP);
    g_assert_cmpint(kw_budget_pressure(big), ==, KW_PRESSURE_FULL);
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_HIGH);
    g_assert_cmpint(kw_budget_pressure(NULL), ==, KW_PRESSURE_HIGH);
    g_assert_true(kw_budget_is_in_reserve());
    g_assert_cmpint(kw_budget_left(small), ==, KW_ACCOUNT_LARGE);
    kw_account_charge(small, KW_MEMORY_CALLS, KW_ACCOUNT_LARGE - 1);
    g_assert_cmpint(kw_budget_left(small), ==, 1);
    kw_account_charge(small, KW_MEMORY_CALLS, 1);
    g_assert_true(kw_account_is_large(small));
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_FULL);
    kw_account_charge(small, KW_MEMORY_CALLS, -KW_ACCOUNT_LARGE);
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_HIGH);
    kw_account_charge(others[1], KW_MEMORY_CALLS, 16 * MIB);
    g_assert_cmpint(kw_budget_pressure(small), ==, KW_PRESSURE_FULL);
    g_assert_cmpint(kw_budget_pressure(NULL), ==, KW_PRESSURE_FULL);
    kw_account_charge(big, KW_MEMORY_CALLS, -kw_account_bytes(big));
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
        kw_account_charge(others[i], KW_MEMORY_CALLS, -kw_account_bytes(others[i]));
        kw_account_unref(others[i]);
    }
    kw_account_unref(small);
    kw_account_unref(big);
    kw_budget_configure(0);
}

/* Small accounts do not reduce the shares of others; caches do. */
KW_TEST(only_large_accounts_and_caches_reduce_shares, "/budget/shares")
{
    kw_account *accounts[200];
    kw_budget_configure(100 * MIB);
    g_assert_cmpint(kw_account_share(), ==, 100 * MIB);
    for (size_t i = 0; i < G_N_ELEMENTS(accounts); i++) {
        accounts[i] = kw_account_new();
        kw_account_charge(accounts[i], KW_MEMORY_CALLS, 4096);
    }
    g_assert_cmpint(kw_account_share(), ==, 100 * MIB);
    for (size_t i = 0; i < 3; i++)
        kw_account_charge(accounts[i], KW_MEMORY_CALLS, KW_ACCOUNT_LARGE);
    g_assert_cmpint(kw_account_share(), ==, 25 * MIB);
    kw_budget_charge(KW_MEMORY_CACHES, 60 * MIB);
    g_assert_cmpint(kw_account_share(), ==, 10 * MIB);
    g_assert_cmpint(kw_budget_for_callers(), ==, 40 * MIB);
    kw_budget_configure(60 * MIB + KW_ACCOUNT_LARGE);
    g_assert_cmpint(kw_account_share(), ==, KW_ACCOUNT_LARGE);
    kw_budget_configure(100 * MIB);
    kw_budget_charge(KW_MEMORY_CACHES, -60 * MIB);
    for (size_t i = 0; i < G_N_ELEMENTS(accounts); i++) {
        kw_account_charge(accounts[i], KW_MEMORY_CALLS, -kw_account_bytes(accounts[i]));
        kw_account_unref(accounts[i]);
    }
    g_assert_cmpint(kw_account_share(), ==, 100 * MIB);
    kw_budget_configure(0);
    g_assert_cmpint(kw_account_share(), ==, INT64_MAX);
    g_assert_cmpint(kw_budget_for_callers(), ==, INT64_MAX);
    g_assert_cmpint(kw_budget_excess(), ==, 0);
    g_assert_false(kw_budget_is_in_reserve());
}

KW_TEST(arenas_are_charged, "/budget/arenas")
{
    kw_account *account = kw_account_new(), *other = kw_account_new();
    int64_t calls = kw_metrics_read(KW_METRIC_memory_calls), rows = kw_metrics_read(KW_METRIC_memory_rows);
    kw_arena *arena = kw_arena_new_for(account, KW_MEMORY_CALLS);
    g_assert_true(kw_arena_account(arena) == account);
    int64_t empty = kw_account_bytes(account);
    g_assert_cmpint(empty, >, 0);
    g_assert_cmpint(empty, <=, 4096);
    kw_arena_alloc(arena, 3 * MIB);
    for (int i = 0; i < 1000; i++)
        kw_arena_alloc(arena, 100);
    g_assert_cmpint(kw_account_bytes(account), >=, 3 * MIB + 100000);
    g_assert_cmpint(kw_account_bytes(account), <=, 3 * MIB + 300000);
    kw_arena_reset(arena);
    g_assert_cmpint(kw_account_bytes(account), ==, empty);
    kw_arena *adopted = kw_arena_new_for(other, KW_MEMORY_ROWS);
    kw_arena_alloc(adopted, MIB);
    int64_t held = kw_account_bytes(other);
    kw_arena_adopt(arena, adopted);
    g_assert_cmpint(kw_account_bytes(other), ==, 0);
    g_assert_cmpint(kw_account_bytes(account), ==, empty + held);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_rows), ==, rows);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_calls), ==, calls + empty + held);
    kw_arena_free(arena);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    g_assert_cmpint(kw_metrics_read(KW_METRIC_memory_calls), ==, calls);
    kw_account_unref(account);
    kw_account_unref(other);
}

KW_TEST(an_account_records_that_its_client_left, "/budget/client-left")
{
    kw_account *account = kw_account_new();
    g_assert_false(kw_account_client_is_gone(NULL));
    g_assert_false(kw_account_client_is_gone(account));
    kw_account_set_client_gone(account);
    g_assert_true(kw_account_client_is_gone(account));
    kw_account_unref(kw_account_ref(account));
    kw_account_unref(account);
}

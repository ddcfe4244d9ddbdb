/* The fair queue: loses no items, rotates accounts, prefers older calls, and prefers small accounts to large
 * ones. */
#include "base/fair.h"

#include "base/clock.h"
#include "support/seed.h"

#define MIB ((int64_t)1024 * 1024)

KW_TEST(oldest_call_first, "/fair/old-first")
{
    static const uint64_t calls[] = {5, 7, 6, 5, 9, 1, 6}, wanted[] = {1, 5, 5, 6, 6, 7, 9};
    kw_fair *queue = kw_fair_new();
    kw_account *account = kw_account_new();
    kw_fair_item items[G_N_ELEMENTS(calls)];
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
        items[i] = (kw_fair_item){.account = account, .call = calls[i]};
        kw_fair_push(queue, &items[i]);
    }
    kw_fair_item *fives[2] = {NULL, NULL};
    for (size_t i = 0; i < G_N_ELEMENTS(items); i++) {
        kw_fair_item *item = kw_fair_pop(queue);
        g_assert_cmpuint(item->call, ==, wanted[i]);
        if (item->call == 5)
            fives[fives[0] != NULL] = item;
    }
    g_assert_true(fives[0] == &items[0] && fives[1] == &items[3]);
    g_assert_null(kw_fair_pop(queue));
    kw_account_unref(account);
    kw_fair_free(queue);
}

/* An account with a thousand queued items does not delay accounts with one item each. */
KW_TEST(accounts_rotate, "/fair/rotation")
{
    enum { MANY = 1000, OTHERS = 5 };
    kw_fair *queue = kw_fair_new();
    kw_account *accounts[1 + OTHERS];
    g_autofree kw_fair_item *items = g_new0(kw_fair_item, MANY + OTHERS);
    for (size_t i = 0; i < G_N_ELEMENTS(accounts); i++)
        accounts[i] = kw_account_new();
    for (size_t i = 0; i < MANY + OTHERS; i++) {
        items[i] = (kw_fair_item){.account = accounts[i < MANY ? 0 : 1 + i - MANY], .call = i};
        kw_fair_push(queue, &items[i]);
    }
    size_t others = 0;
    for (size_t i = 0; i < 1 + OTHERS; i++)
        others += kw_fair_pop(queue)->account != accounts[0];
    g_assert_cmpuint(others, ==, OTHERS);
    g_assert_cmpuint(kw_fair_count(queue), ==, MANY - 1);
    while (kw_fair_pop(queue))
        continue;
    for (size_t i = 0; i < G_N_ELEMENTS(accounts); i++)
        kw_account_unref(accounts[i]);
    kw_fair_free(queue);
}

KW_TEST(small_accounts_go_first, "/fair/small-first")
{
    enum { ITEMS = 64 };
    kw_fair *queue = kw_fair_new();
    kw_account *small = kw_account_new(), *large = kw_account_new();
    kw_fair_item items[2 * ITEMS];
    for (size_t i = 0; i < 2 * ITEMS; i++) {
        items[i] = (kw_fair_item){.account = i % 2 ? small : large, .call = i};
        kw_fair_push(queue, &items[i]);
    }
    kw_account_charge(large, KW_MEMORY_ROWS, MIB); /* it becomes large while it is queued */
    size_t of_large = 0;
    for (size_t i = 0; i < ITEMS; i++)
        of_large += kw_fair_pop(queue)->account == large;
    g_assert_cmpuint(of_large, ==, ITEMS / KW_FAIR_LARGE_EVERY);
    g_assert_true(kw_fair_has_small(queue));
    while (kw_fair_pop(queue))
        continue;
    g_assert_false(kw_fair_has_small(queue));
    kw_account_charge(large, KW_MEMORY_ROWS, -MIB);
    kw_account_unref(small);
    kw_account_unref(large);
    kw_fair_free(queue);
}

/* Items without an account are served in every second pop, regardless of the number of accounts. */
KW_TEST(every_second_pop_serves_items_without_account, "/fair/no-account")
{
    enum { ACCOUNTS = 20, ITEMS = 10 };
    kw_fair *queue = kw_fair_new();
    kw_account *accounts[ACCOUNTS];
    kw_fair_item of_accounts[ACCOUNTS], of_nobody[ITEMS];
    g_assert_cmpuint(kw_fair_ahead(queue, NULL), ==, 0);
    for (size_t i = 0; i < ACCOUNTS; i++) {
        accounts[i] = kw_account_new();
        of_accounts[i] = (kw_fair_item){.account = accounts[i]};
        kw_fair_push(queue, &of_accounts[i]);
    }
    g_assert_cmpuint(kw_fair_ahead(queue, NULL), <=, 2);
    g_assert_cmpuint(kw_fair_ahead(queue, accounts[0]), ==, ACCOUNTS);
    for (size_t i = 0; i < ITEMS; i++) {
        of_nobody[i] = (kw_fair_item){.account = NULL};
        kw_fair_push(queue, &of_nobody[i]);
    }
    g_assert_cmpuint(kw_fair_ahead(queue, NULL), ==, 2 * ITEMS + 2);
    size_t next = 0;
    for (size_t i = 0; i < 2 * ITEMS; i++) {
        kw_fair_item *item = kw_fair_pop(queue);
        if (!item->account)
            g_assert_true(item == &of_nobody[next++]);
    }
    g_assert_cmpuint(next, ==, ITEMS);
    while (kw_fair_pop(queue))
        continue;
    for (size_t i = 0; i < ACCOUNTS; i++)
        kw_account_unref(accounts[i]);
    kw_fair_free(queue);
}

/* After random pushes, pops and removals the queue contains exactly the items not removed. */
KW_TEST(nothing_is_lost, "/fair/random")
{
    enum { ITEMS = 500, ACCOUNTS = 7 };
    kw_random_inject(test_seed());
    kw_fair *queue = kw_fair_new();
    kw_account *accounts[ACCOUNTS] = {NULL}; /* the first is no account */
    g_autofree kw_fair_item *items = g_new0(kw_fair_item, ITEMS);
    size_t queued = 0;
    for (size_t i = 1; i < ACCOUNTS; i++)
        accounts[i] = kw_account_new();
    for (int step = 0; step < 50000; step++) {
        kw_fair_item *item = &items[kw_random_u64() % ITEMS];
        kw_account *account = accounts[kw_random_u64() % ACCOUNTS];
        if (account && kw_random_u64() % 10 == 0)
            kw_account_charge(account, KW_MEMORY_ROWS, kw_account_bytes(account) ? -MIB : MIB);
        if (!item->fifo) {
            *item = (kw_fair_item){.account = account, .call = kw_random_u64() % 20};
            kw_fair_push(queue, item);
            queued++;
        } else if (kw_random_u64() % 3 == 0) {
            kw_fair_remove(queue, item);
            queued--;
        } else {
            kw_fair_item *popped = kw_fair_pop(queue);
            g_assert_true(popped && !popped->fifo);
            queued--;
        }
        g_assert_cmpuint(kw_fair_count(queue), ==, queued);
    }
    while (kw_fair_pop(queue))
        queued--;
    g_assert_cmpuint(queued, ==, 0);
    for (size_t i = 0; i < ITEMS; i++)
        g_assert_null(items[i].fifo);
    for (size_t i = 1; i < ACCOUNTS; i++) {
        kw_account_charge(accounts[i], KW_MEMORY_ROWS, -kw_account_bytes(accounts[i]));
        kw_account_unref(accounts[i]);
    }
    kw_fair_free(queue);
}

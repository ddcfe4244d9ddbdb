/* A guard is left by an allocation for which there is no memory, and cleans up on the way. */
#include "base/guard.h"

#include "base/thread.h"

#include <string.h>

#define MIB ((size_t)1024 * 1024)

typedef struct work {
    kw_arena *arena, *inner;
    kw_account *account;
    size_t pieces; /* to allocate, of 1000 bytes each */
    size_t allocated;
    int cleaned; /* cleanups that ran */
    int passed;  /* times that the end of a function was reached */
    kw_error error;
} work;

static work
work_new(size_t limit, size_t pieces)
{
    kw_budget_configure((int64_t)limit);
    kw_account *account = kw_account_new();
    return (work){.arena = kw_arena_new_for(account, KW_MEMORY_CALLS), .account = account, .pieces = pieces};
}

static void
work_clear(work *self)
{
    kw_arena_free(self->arena);
    g_assert_cmpint(kw_account_bytes(self->account), ==, 0);
    kw_account_unref(self->account);
    kw_budget_settle();
    kw_budget_configure(0);
}

typedef work *counted;

static void
count_cleanup(counted *self)
{
    if (*self)
        (*self)->cleaned++;
}

static void
allocate(work *self)
{
    for (size_t i = 0; i < self->pieces; i++) {
        memset(kw_arena_alloc(self->arena, 1000), 1, 1000);
        self->allocated += 1000;
    }
}

/* Every level owns a buffer and a cleanup. */
static __attribute__((noinline)) void
descend(work *self, int levels)
{
    __attribute__((cleanup(count_cleanup))) counted own = self;
    g_auto(kw_buffer) scratch = KW_BUFFER_EMPTY;
    char label[200];
    g_snprintf(label, sizeof label, "level %d", levels);
    g_autofree char *text = g_strdup(label);
    kw_buffer_append_text(&scratch, text);
    if (levels > 1)
        descend(self, levels - 1);
    else
        allocate(self);
    self->passed++;
}

static void
descend_ten(void *user)
{
    descend(user, 10);
}

/* A call can hold half of the budget, however much is free. */
KW_TEST(a_large_call_is_refused, "/base/guard/large")
{
    work self = work_new(64 * MIB, 100000);
    g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_nonnull(strstr(self.error.text, "more than 33554432 bytes"));
    g_assert_cmpint(self.cleaned, ==, 10);
    g_assert_cmpint(self.passed, ==, 0);
    g_assert_cmpuint(self.allocated, >, 31 * MIB);
    g_assert_cmpint(kw_account_bytes(self.account), <=, 32 * MIB);
    work_clear(&self);
}

KW_TEST(a_call_within_its_share_is_not, "/base/guard/within")
{
    work self = work_new(64 * MIB, 30000);
    g_assert_true(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.passed, ==, 10);
    g_assert_cmpint(self.cleaned, ==, 10);
    g_assert_cmpint(kw_arena_shortage(self.arena), ==, KW_SHORTAGE_NONE);
    work_clear(&self);
}

/* The caches of the process are not available to calls. */
KW_TEST(caches_reduce_the_share, "/base/guard/caches")
{
    kw_budget_charge(KW_MEMORY_CACHES, 32 * MIB);
    work self = work_new(64 * MIB, 30000);
    g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_cmpuint(self.allocated, >, 15 * MIB);
    g_assert_cmpuint(self.allocated, <, 16 * MIB);
    work_clear(&self);
    kw_budget_charge(KW_MEMORY_CACHES, -32 * (int64_t)MIB);
}

KW_TEST(a_call_is_refused_while_memory_is_short, "/base/guard/short")
{
    work self = work_new(64 * MIB, 30000);
    kw_budget_charge(KW_MEMORY_ROWS, 50 * MIB);
    g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_BUSY);
    g_assert_cmpuint(self.error.retry_after_ms, >, 0);
    g_assert_cmpint(kw_budget_used(), <=, 64 * MIB + KW_BUDGET_STEP);
    g_assert_cmpint(self.cleaned, ==, 10);
    kw_budget_charge(KW_MEMORY_ROWS, -50 * (int64_t)MIB);
    work_clear(&self);
}

static void
one_large_allocation(void *user)
{
    work *self = user;
    memset(kw_arena_alloc(self->arena, 33 * MIB), 1, 33 * MIB);
    self->passed++;
}

KW_TEST(a_refused_allocation_is_not_made, "/base/guard/not-made")
{
    work self = work_new(64 * MIB, 0);
    g_assert_false(kw_guard_run(self.arena, one_large_allocation, &self, &self.error));
    g_assert_cmpint(kw_account_bytes(self.account), <, 10000);
    g_assert_cmpint(self.passed, ==, 0);
    work_clear(&self);
}

static void
allocate_below(void *user)
{
    work *self = user;
    for (size_t i = 0; i < self->pieces; i++) {
        kw_arena_alloc(i % 2 ? self->arena : self->inner, 1000);
        self->allocated += 1000;
    }
    self->passed++;
}

static void
allocate_below_a_local_one(void *user)
{
    work *self = user;
    kw_arena *inner = kw_arena_new_below(self->arena, KW_MEMORY_ROWS);
    kw_arena_free(kw_arena_new_below(self->arena, KW_MEMORY_ROWS));
    memset(kw_arena_alloc(inner, 1000), 1, 1000);
    allocate(self);
}

/* The part leaves no pointer to an arena that it created below the one of the guard. */
KW_TEST(an_arena_below_is_freed_with_its_root, "/base/guard/below-freed")
{
    work self = work_new(1 * MIB, 5000);
    g_assert_false(kw_guard_run(self.arena, allocate_below_a_local_one, &self, &self.error));
    work_clear(&self); /* no byte is charged any more */
}

/* Arenas below another one share its limit. */
KW_TEST(arenas_below_count, "/base/guard/below")
{
    work self = work_new(64 * MIB, 100000);
    self.inner = kw_arena_new_below(self.arena, KW_MEMORY_ROWS);
    g_assert_true(kw_arena_account(self.inner) == self.account);
    g_assert_false(kw_guard_run(self.inner, allocate_below, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_cmpuint(self.allocated, >, 31 * MIB);
    g_assert_cmpuint(self.allocated, <, 32 * MIB);
    g_assert_cmpuint(kw_arena_held(self.arena), ==, (size_t)kw_account_bytes(self.account));
    kw_arena_free(self.inner);
    g_assert_cmpuint(kw_arena_held(self.arena), <, 17 * MIB);
    g_assert_true(
        kw_guard_run(self.arena, descend_ten, &(work){.arena = self.arena, .pieces = 10000}, &self.error));
    work_clear(&self);
}

/* --- what ends a guard --------------------------------------------------------------------------- */

static void
end_and_allocate(void *user)
{
    work *self = user;
    kw_guard_end();
    allocate(self);
    self->passed++;
}

/* After the end of a guard, allocations succeed, and the next guard is left at once. */
KW_TEST(an_ended_guard_is_not_left, "/base/guard/ended")
{
    work self = work_new(64 * MIB, 40000);
    g_assert_true(kw_guard_run(self.arena, end_and_allocate, &self, &self.error));
    g_assert_cmpint(self.passed, ==, 1);
    g_assert_cmpint(kw_arena_shortage(self.arena), ==, KW_SHORTAGE_OF_SHARE);
    self.pieces = 0;
    g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_cmpint(self.passed, ==, 1);
    kw_arena_reset(self.arena);
    g_assert_true(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    work_clear(&self);
}

KW_TEST(allocations_outside_of_a_guard_are_charged, "/base/guard/outside")
{
    work self = work_new(64 * MIB, 40000);
    allocate(&self);
    g_assert_cmpint(kw_account_bytes(self.account), >, 32 * MIB);
    g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.passed, ==, 0);
    work_clear(&self);
}

/* Memory that an arena adopts exists already; the next guard is left. */
KW_TEST(adopted_memory_counts, "/base/guard/adopted")
{
    work self = work_new(64 * MIB, 0);
    kw_arena *other = kw_arena_new_for(self.account, KW_MEMORY_ROWS);
    kw_arena_alloc(other, 33 * MIB);
    kw_arena_adopt(self.arena, other);
    g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    work_clear(&self);
}

/* --- several guards ------------------------------------------------------------------------------ */

static void
run_inner(void *user)
{
    work *self = user;
    work inner = {.arena = self->inner, .pieces = 100000};
    g_assert_false(kw_guard_run(inner.arena, descend_ten, &inner, &inner.error));
    g_assert_cmpint(inner.error.code, ==, KW_LIMIT);
    g_assert_cmpint(inner.cleaned, ==, 10);
    self->passed++;
}

/* Leaving a guard does not leave the one around it. */
KW_TEST(guards_nest, "/base/guard/nested")
{
    work self = work_new(64 * MIB, 0);
    self.inner = self.arena;
    g_assert_true(kw_guard_run(self.arena, run_inner, &self, &self.error));
    g_assert_cmpint(self.passed, ==, 1);
    work_clear(&self);
}

static void
allocate_in_both(void *user)
{
    work *self = user;
    allocate(self);
    self->passed++;
}

/* An allocation in an arena does not leave the guard of another one. */
KW_TEST(a_guard_belongs_to_an_arena, "/base/guard/another")
{
    work self = work_new(64 * MIB, 40000);
    self.inner = kw_arena_new_for(self.account, KW_MEMORY_ROWS);
    g_assert_true(kw_guard_run(self.inner, allocate_in_both, &self, &self.error));
    g_assert_cmpint(self.passed, ==, 1);
    kw_arena_free(self.inner);
    work_clear(&self);
}

static void
run_in_another(void *user)
{
    work *self = user;
    kw_error ignored;
    kw_guard_run(self->inner, descend_ten, self, &ignored);
    g_assert_not_reached();
}

/* An allocation leaves the guard of its arena through those of other arenas. */
KW_TEST(a_guard_is_left_through_others, "/base/guard/through")
{
    work self = work_new(64 * MIB, 40000);
    self.inner = kw_arena_new_for(self.account, KW_MEMORY_ROWS);
    g_assert_false(kw_guard_run(self.arena, run_in_another, &self, &self.error));
    g_assert_cmpint(self.error.code, ==, KW_LIMIT);
    g_assert_cmpint(self.cleaned, ==, 10);
    self.pieces = 0;
    g_assert_true(kw_guard_run(self.arena, descend_ten, &self, &self.error));
    kw_arena_free(self.inner);
    work_clear(&self);
}

static void
replace_the_arena(void *user)
{
    work *self = user;
    kw_arena_free(self->arena);
    self->arena = kw_arena_new_for(self->account, KW_MEMORY_CALLS); /* it can have the same address */
    allocate(self);
    self->passed++;
}

KW_TEST(freeing_an_arena_ends_its_guard, "/base/guard/freed")
{
    work self = work_new(64 * MIB, 40000);
    g_assert_true(kw_guard_run(self.arena, replace_the_arena, &self, &self.error));
    g_assert_cmpint(self.passed, ==, 1);
    work_clear(&self);
}

static void
fill_without_account(void *user)
{
    kw_arena *arena = user;
    for (size_t i = 0; i < 40000; i++)
        kw_arena_alloc(arena, 1000);
}

KW_TEST(arenas_without_an_account_are_not_limited, "/base/guard/no-account")
{
    kw_error error;
    kw_budget_configure(64 * MIB);
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_assert_true(kw_guard_run(arena, fill_without_account, arena, &error));
    kw_budget_configure(0);
}

/* --- threads ------------------------------------------------------------------------------------- */

static void
leave_often(void *user)
{
    kw_account *account = user;
    for (int round = 0; round < 200; round++) {
        work self = {.arena = kw_arena_new_for(account, KW_MEMORY_CALLS), .pieces = 2000};
        g_assert_false(kw_guard_run(self.arena, descend_ten, &self, &self.error));
        g_assert_cmpint(self.cleaned, ==, 10);
        g_assert_cmpint(self.passed, ==, 0);
        kw_arena_free(self.arena);
    }
}

KW_TEST(threads_have_their_own_guards, "/base/guard/threads")
{
    kw_thread threads[4];
    kw_budget_configure(2 * MIB);
    kw_account *account = kw_account_new();
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_start(&threads[i], "leave", leave_often, account);
    for (size_t i = 0; i < G_N_ELEMENTS(threads); i++)
        kw_thread_join(&threads[i]);
    g_assert_cmpint(kw_account_bytes(account), ==, 0);
    kw_account_unref(account);
    kw_budget_configure(0);
}

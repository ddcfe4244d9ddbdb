/* See budget.h. Spare memory that threads keep for reuse is not charged; it is bounded by kw_budget_spare. */
#include "base/budget.h"

#include <glib.h>
#include <stdatomic.h>

struct kw_account {
    _Atomic uint32_t refs;
    _Atomic bool left;
    _Atomic int64_t bytes;
};

static _Atomic int64_t limit;
static _Atomic int64_t used;
static _Atomic int64_t caches; /* the part of `used` that is KW_MEMORY_CACHES */
static _Atomic int64_t large_accounts;
static _Thread_local int64_t collected;

static _Atomic int64_t freed; /* since the last call of on_freed */
static int64_t freed_most;
static void (*_Atomic on_freed)(void);

void
kw_budget_configure(int64_t bytes)
{
    atomic_store(&limit, bytes);
    kw_metrics_add(KW_METRIC_memory_limit, bytes - kw_metrics_read(KW_METRIC_memory_limit));
}

int64_t
kw_budget_limit(void)
{
    return atomic_load_explicit(&limit, memory_order_relaxed);
}

int64_t
kw_budget_used(void)
{
    return atomic_load_explicit(&used, memory_order_relaxed);
}

void
kw_budget_on_freed(int64_t bytes, void (*call)(void))
{
    freed_most = bytes;
    atomic_store(&on_freed, call);
}

static void
note_freed(int64_t bytes)
{
    void (*call)(void) = atomic_load(&on_freed);
    if (call && atomic_fetch_add(&freed, bytes) + bytes >= freed_most &&
        atomic_exchange(&freed, 0) >= freed_most)
        call();
}

void
kw_budget_settle(void)
{
    int64_t settled = collected;
    atomic_fetch_add_explicit(&used, settled, memory_order_relaxed);
    collected = 0;
    if (settled < 0)
        note_freed(-settled);
}

void
kw_budget_charge(kw_purpose purpose, int64_t bytes)
{
    kw_metrics_add((kw_metric)purpose, bytes);
    if (purpose == KW_MEMORY_CACHES)
        atomic_fetch_add_explicit(&caches, bytes, memory_order_relaxed);
    collected += bytes;
    if (collected >= KW_BUDGET_STEP || collected <= -KW_BUDGET_STEP)
        kw_budget_settle();
}

/* --- pressure ------------------------------------------------------------------------------------ */

int64_t
kw_budget_for_callers(void)
{
    int64_t most = kw_budget_limit();
    return most == 0 ? INT64_MAX : MAX(most - atomic_load_explicit(&caches, memory_order_relaxed), 0);
}

int64_t
kw_account_share(void)
{
    int64_t large = atomic_load_explicit(&large_accounts, memory_order_relaxed);
    return kw_budget_limit() == 0 ? INT64_MAX
                                  : MAX(kw_budget_for_callers() / (MAX(large, 0) + 1), KW_ACCOUNT_LARGE);
}

bool
kw_account_is_large(const kw_account *account)
{
    return account && kw_account_bytes(account) >= KW_ACCOUNT_LARGE;
}

bool
kw_account_is_over_share(const kw_account *account)
{
    return account && kw_account_bytes(account) > kw_account_share();
}

/* The limit without the reserve for small accounts. */
static int64_t
without_reserve(int64_t most)
{
    return most - most / 10;
}

int64_t
kw_budget_left(const kw_account *account)
{
    int64_t most = kw_budget_limit();
    if (most == 0)
        return INT64_MAX;
    int64_t used_bytes = kw_budget_used();
    int64_t for_large = kw_account_is_over_share(account) ? most - most / 20 * 3 : without_reserve(most);
    int64_t left = MAX(for_large - used_bytes, 0);
    if (kw_account_is_large(account))
        return left;
    int64_t until_large = KW_ACCOUNT_LARGE - (account ? kw_account_bytes(account) : 0);
    return MAX(left, MIN(MAX(most - used_bytes, 0), until_large));
}

int64_t
kw_budget_call_share(void)
{
    return kw_budget_limit() == 0 ? INT64_MAX : kw_budget_for_callers() / 2;
}

kw_shortage
kw_budget_shortage(const kw_account *account, size_t held, size_t more)
{
    if (kw_budget_limit() == 0)
        return KW_SHORTAGE_NONE;
    if ((int64_t)(held + more) > kw_budget_call_share())
        return KW_SHORTAGE_OF_SHARE;
    return (int64_t)more > kw_budget_left(account) ? KW_SHORTAGE_OF_MEMORY : KW_SHORTAGE_NONE;
}

bool
kw_budget_is_in_reserve(void)
{
    int64_t most = kw_budget_limit();
    return most > 0 && kw_budget_used() >= without_reserve(most);
}

int64_t
kw_budget_excess(void)
{
    int64_t most = kw_budget_limit();
    return most == 0 ? 0 : MAX(kw_budget_used() - (most - most / 5), 0);
}

kw_pressure
kw_budget_pressure(const kw_account *account)
{
    int64_t most = kw_budget_limit();
    if (most == 0 || kw_budget_used() < most - most / 5)
        return KW_PRESSURE_NONE;
    return kw_budget_left(account) > 0 ? KW_PRESSURE_HIGH : KW_PRESSURE_FULL;
}

size_t
kw_budget_spare(size_t most)
{
    int64_t bytes = kw_budget_limit();
    if (bytes == 0)
        return most;
    return kw_budget_used() < bytes - bytes / 5 ? MIN(most, (size_t)(bytes / 128)) : 0;
}

/* --- accounts ------------------------------------------------------------------------------------ */

kw_account *
kw_account_new(void)
{
    kw_account *account = g_new0(kw_account, 1);
    atomic_store_explicit(&account->refs, 1, memory_order_relaxed);
    return account;
}

kw_account *
kw_account_ref(kw_account *account)
{
    if (account)
        atomic_fetch_add_explicit(&account->refs, 1, memory_order_relaxed);
    return account;
}

void
kw_account_unref(kw_account *account)
{
    if (!account || atomic_fetch_sub(&account->refs, 1) > 1)
        return;
    g_assert(atomic_load(&account->bytes) == 0);
    g_free(account);
}

void
kw_account_charge(kw_account *account, kw_purpose purpose, int64_t bytes)
{
    kw_budget_charge(purpose, bytes);
    if (!account)
        return;
    int64_t before = atomic_fetch_add_explicit(&account->bytes, bytes, memory_order_relaxed);
    int64_t change = (before + bytes >= KW_ACCOUNT_LARGE) - (before >= KW_ACCOUNT_LARGE);
    if (change)
        atomic_fetch_add_explicit(&large_accounts, change, memory_order_relaxed);
}

int64_t
kw_account_bytes(const kw_account *account)
{
    return atomic_load_explicit(&account->bytes, memory_order_relaxed);
}

void
kw_account_set_client_gone(kw_account *account)
{
    atomic_store_explicit(&account->left, true, memory_order_relaxed);
}

bool
kw_account_client_is_gone(const kw_account *account)
{
    return account && atomic_load_explicit(&account->left, memory_order_relaxed);
}

/* The memory budget of the process: how many bytes it holds on behalf of callers, by purpose.
 *
 * Code that allocates memory on behalf of callers charges it here, and charges a negative amount when it
 * frees the memory. Each thread collects its charges and adds them to the total in steps of KW_BUDGET_STEP,
 * so that loops do not contend. The total is off by at most one step per thread. A charge never fails: code
 * checks kw_budget_pressure before it starts work that needs memory, and the arena of a call checks
 * kw_budget_shortage before each chunk (guard.h).
 *
 *   used   0 ....... 80 % ....... 85 % ....... 90 % ....... 100 %
 *          NONE      HIGH         FULL for large accounts that hold more than their share
 *                                              FULL for large accounts
 *                                                           FULL for everybody
 *
 * An account counts the bytes of one connection and records whether its client is still connected. An account
 * is large if it holds KW_ACCOUNT_LARGE bytes or more. The last tenth of the budget is a reserve for small
 * accounts: so small calls are served while large ones have used up the rest. The share of an account is the
 * budget minus the caches, divided by one more than the number of large accounts, but not less than
 * KW_ACCOUNT_LARGE. The share of a call is half of the budget minus the caches.
 *
 * Any thread.
 */
#pragma once

#include "base/metrics.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KW_BUDGET_STEP ((int64_t)64 * 1024)
#define KW_ACCOUNT_LARGE ((int64_t)64 * 1024)

/* Each purpose has its own gauge. */
typedef enum kw_purpose {
    KW_MEMORY_FRAMES = KW_METRIC_memory_frames,         /* bytes read from callers */
    KW_MEMORY_CALLS = KW_METRIC_memory_calls,           /* decoded requests and their results */
    KW_MEMORY_ROWS = KW_METRIC_memory_rows,             /* rows read from the store; scans' read-ahead */
    KW_MEMORY_PREFETCHED = KW_METRIC_memory_prefetched, /* pages of scans that were prefetched */
    KW_MEMORY_REPLIES = KW_METRIC_memory_replies,       /* encoded replies not sent yet */
    KW_MEMORY_STORE = KW_METRIC_memory_store,           /* calls that wait for the store; connections to it */
    KW_MEMORY_CACHES = KW_METRIC_memory_caches          /* charged at their full size from the start */
} kw_purpose;

typedef enum kw_pressure { KW_PRESSURE_NONE, KW_PRESSURE_HIGH, KW_PRESSURE_FULL } kw_pressure;

typedef struct kw_account kw_account;

/* Sets the limit. 0 means no limit, which is the default. */
void kw_budget_configure(int64_t bytes);
int64_t kw_budget_limit(void);
/* The total of all threads, caches included. */
int64_t kw_budget_used(void);

/* Negative bytes reduce the charge. */
void kw_budget_charge(kw_purpose purpose, int64_t bytes);
/* Adds this thread's collected charges to the total. Threads started with kw_thread_start do this when they
 * end. */
void kw_budget_settle(void);
/* Sets the function that is called whenever `bytes` were freed since its last call, by the thread that freed
 * the last of them. NULL: none. For the process. */
void kw_budget_on_freed(int64_t bytes, void (*call)(void));

/* Bytes that an account can still allocate before it meets KW_PRESSURE_FULL; INT64_MAX without a limit. A
 * small account can use the reserve only up to the size of a large one. NULL stands for an account that holds
 * nothing. */
int64_t kw_budget_left(const kw_account *account);
kw_pressure kw_budget_pressure(const kw_account *account);

/* The part of the limit that is left for callers: all but the caches. INT64_MAX without a limit. */
int64_t kw_budget_for_callers(void);
/* Bytes in use above 80 % of the limit: what has to be freed to end the pressure. */
int64_t kw_budget_excess(void);
/* True if only the reserve for small accounts is left. */
bool kw_budget_is_in_reserve(void);

/* Maximum bytes that one call can hold; INT64_MAX without a limit. */
int64_t kw_budget_call_share(void);

/* Why a call of the account, which holds `held` bytes, cannot hold `more` bytes in addition. */
typedef enum kw_shortage {
    KW_SHORTAGE_NONE,
    KW_SHORTAGE_OF_SHARE, /* it would exceed the share of a call, however much memory is free */
    KW_SHORTAGE_OF_MEMORY /* memory is short now */
} kw_shortage;

kw_shortage kw_budget_shortage(const kw_account *account, size_t held, size_t more);

/* How many bytes a thread can keep in a list of spare memory. Never more than `most`. */
size_t kw_budget_spare(size_t most);

/* --- accounts ------------------------------------------------------------------------------------ */

kw_account *kw_account_new(void);
kw_account *kw_account_ref(kw_account *account); /* NULL is allowed here and in the next two */
void kw_account_unref(kw_account *account);
/* Charges the account and the budget. */
void kw_account_charge(kw_account *account, kw_purpose purpose, int64_t bytes);
int64_t kw_account_bytes(const kw_account *account);
bool kw_account_is_large(const kw_account *account); /* NULL: false */
/* Maximum bytes of each large account while memory is short. */
int64_t kw_account_share(void);
bool kw_account_is_over_share(const kw_account *account);

/* Records that the client has disconnected: the replies to this account's calls are no longer needed. */
void kw_account_set_client_gone(kw_account *account);
bool kw_account_client_is_gone(const kw_account *account); /* NULL: false */

/* The memory budget of the process: how many bytes callers can make it hold, by purpose.
 *
 * Whoever allocates memory on behalf of callers charges it here and takes the charge back when the memory is
 * freed. Charges are collected per thread and reach the total in steps of KW_BUDGET_STEP, so that loops do
 * not contend; the total is off by at most one step for each thread. Nothing is refused here: callers of the
 * budget ask for the pressure before they start what takes memory.
 *
 *   used   0 ........ 80 % ........ 15/16 ......... 100 %
 *          NONE       HIGH          FULL for accounts that hold more than their share
 *                                                 FULL for everybody
 *
 * An account is what one connection holds, and whether its caller is still there. The share of an account is
 * the budget, less the caches, divided by the number of accounts that hold KW_ACCOUNT_LARGE or more.
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

/* Each has a gauge of its own. */
typedef enum kw_purpose {
    KW_MEMORY_FRAMES = KW_METRIC_memory_frames,   /* bytes read from callers */
    KW_MEMORY_CALLS = KW_METRIC_memory_calls,     /* decoded requests, and what verbs make of them */
    KW_MEMORY_ROWS = KW_METRIC_memory_rows,       /* rows read from the store; scans' read-ahead */
    KW_MEMORY_AHEAD = KW_METRIC_memory_ahead,     /* pages that were read before they were requested */
    KW_MEMORY_REPLIES = KW_METRIC_memory_replies, /* encoded replies that wait to be sent */
    KW_MEMORY_STORE = KW_METRIC_memory_store,     /* calls that wait for the store, and its connections */
    KW_MEMORY_CACHES = KW_METRIC_memory_caches    /* at their full size, from the start */
} kw_purpose;

typedef enum kw_pressure { KW_PRESSURE_NONE, KW_PRESSURE_HIGH, KW_PRESSURE_FULL } kw_pressure;

typedef struct kw_account kw_account;

/* 0: no limit, which is what holds before the first call. */
void kw_budget_configure(int64_t bytes);
int64_t kw_budget_limit(void);
/* Charged by all threads, caches included. */
int64_t kw_budget_used(void);

/* Bytes may be negative. */
void kw_budget_charge(kw_purpose purpose, int64_t bytes);
/* What this thread has collected reaches the total now. Threads of kw_thread_start do that when they end. */
void kw_budget_settle(void);

/* What an account can still take before it meets KW_PRESSURE_FULL; INT64_MAX without a limit. NULL: one that
 * is within its share. */
int64_t kw_budget_room(const kw_account *account);
kw_pressure kw_budget_pressure(const kw_account *account);

/* How many bytes a thread may keep in a list of spare memory. */
size_t kw_budget_spare(size_t most);

/* Gives freed memory back to the system when enough of it was freed since the last time. Called now and then
 * by one thread. True: it did. */
bool kw_budget_trim(void);

/* --- accounts --------------------------------------------------------------------------------------- */

kw_account *kw_account_new(void);
kw_account *kw_account_ref(kw_account *account); /* NULL is fine, also for the next two */
void kw_account_unref(kw_account *account);
/* Charges the budget, too. */
void kw_account_charge(kw_account *account, kw_purpose purpose, int64_t bytes);
int64_t kw_account_bytes(const kw_account *account);
/* Bytes that each large account may hold when memory is short. */
int64_t kw_account_share(void);
bool kw_account_is_over_share(const kw_account *account);

/* Nobody waits for the answers of this account's calls any more. */
void kw_account_leave(kw_account *account);
bool kw_account_has_left(const kw_account *account); /* NULL: false */

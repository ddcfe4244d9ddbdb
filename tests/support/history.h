/* Records what many callers did to a few keys, and checks whether a store can have given these replies.
 *
 * Each put has its own value (from 1, unique in the history); 0 means "no value", which is what a remove
 * writes. All times are of one clock: `start` before the call was sent, `end` after its reply arrived.
 *
 *   start        end      a successful write takes effect at one moment in between;
 *     |--put 7-----|      a write of unknown outcome takes effect then, later, or never;
 *         |--get-----|    a read returns the value in effect at one moment in between
 *
 * Not thread safe; each thread records its own history, and the test joins them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct history history;

typedef enum history_kind { HISTORY_GET, HISTORY_PUT, HISTORY_REMOVE } history_kind;

history *history_new(void);
void history_free(history *of);

/* Starts an operation now; value is 0 unless it is a put. Returns its number. */
size_t history_begin(history *of, history_kind kind, uint32_t key, uint64_t value);
/* The operation succeeded now. value: what a get returned, otherwise ignored. */
void history_end(history *of, size_t number, uint64_t value);
/* A write was certainly not applied; a get had no result. */
void history_failed(history *of, size_t number);
/* A write has an unknown outcome until history_end or history_failed. */

/* Adds the operations of `from`. */
void history_join(history *to, const history *from);
size_t history_count(const history *of);

/* Every get must return a written value. The write must have begun before the get ended, must not have
 * failed, and no other acknowledged write may have begun after its end and ended before the get began. So a
 * get returns nothing older than the last acknowledged value, including the caller's own. For keys without
 * removes the history must be linearizable (Gibbons and Korach, "Testing Shared Memories", 1997; unique
 * values make the check fast). Returns NULL, or a description of the error (g_free). */
char *history_wrong(const history *of);

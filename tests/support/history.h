/* What many callers did to a few keys, and whether a store may have answered so.
 *
 * Each put has a value of its own (from 1, unique over the history); 0 is "there is none", which is what a
 * remove writes. Times are of one clock: `start` before the call was sent, `end` when its answer was there.
 *
 *   start        end      a write takes effect at one moment in between, if it succeeded;
 *     |--put 7-----|      one whose fate is unknown takes effect then, later, or never;
 *         |--get-----|    a read gives what was in effect at one moment in between
 *
 * Not thread safe; threads keep a history each and join them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct history history;

typedef enum history_kind { HISTORY_GET, HISTORY_PUT, HISTORY_REMOVE } history_kind;

history *history_new(void);
void history_free(history *of);

/* Begins an operation now; value is 0 unless it is a put. Returns its number. */
size_t history_begin(history *of, history_kind kind, uint32_t key, uint64_t value);
/* It succeeded, now. value: what a get gave, else ignored. */
void history_end(history *of, size_t number, uint64_t value);
/* A write: certainly not applied. A get: no answer. */
void history_failed(history *of, size_t number);
/* A write without an answer, or one that says so, is unknown: that is how it is until its end is told. */

/* Adds the operations of the other one. */
void history_join(history *to, const history *from);
size_t history_count(const history *of);

/* Every get must give a value that was written, by a write that began before the get ended, that did not
 * fail, and that no other acknowledged write followed and ended before the get began: nothing older than
 * what had been acknowledged, read-your-writes among it. For keys without removes the whole must be
 * linearizable (Gibbons and Korach, "Testing Shared Memories", 1997: unique values make it easy). Returns
 * NULL, or says what is wrong (g_free). */
char *history_wrong(const history *of);

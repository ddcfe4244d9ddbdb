/* A queue of work that is fair to accounts: an account with much queued work does not delay those with
 * little.
 *
 *   small accounts   A  C  D     each has its items in the order of the calls that they belong to
 *   large accounts   B  E        (hold KW_ACCOUNT_LARGE bytes or more; client still connected)
 *
 * Accounts rotate: each kw_fair_pop serves the next one. Small accounts are preferred, but one of every
 * KW_FAIR_LARGE_EVERY pops serves a large account, so that none starves. Every second pop serves an item
 * without an account, if there is one. Within an account the item of the oldest call is served first: calls
 * are answered in order, so it frees memory soonest. Not thread safe.
 */
#pragma once

#include "base/budget.h"

#include <glib.h>

#define KW_FAIR_LARGE_EVERY 8

typedef struct kw_fair_fifo kw_fair_fifo;

/* A member of the struct that is queued. */
typedef struct kw_fair_item {
    kw_account *account; /* must live while the item is queued; NULL: the item has no account */
    uint64_t call;       /* number of the call; the smallest is served first */
    kw_fair_fifo *fifo;  /* set while the item is queued, else NULL */
    GList link;
} kw_fair_item;

typedef struct kw_fair kw_fair;

kw_fair *kw_fair_new(void);
/* The queue must be empty. NULL is allowed. */
void kw_fair_free(kw_fair *queue);

void kw_fair_push(kw_fair *queue, kw_fair_item *item);
/* Removes the next item and returns it; NULL if the queue is empty. */
kw_fair_item *kw_fair_pop(kw_fair *queue);
void kw_fair_remove(kw_fair *queue, kw_fair_item *item);
size_t kw_fair_count(const kw_fair *queue);
/* Estimates how many items would be served before one pushed for this account now. */
size_t kw_fair_ahead(const kw_fair *queue, const kw_account *account);
/* True if an item of a small account, or without an account, is queued. An account that has grown since it
 * was last served, or first queued, can still count as small. */
bool kw_fair_has_small(const kw_fair *queue);

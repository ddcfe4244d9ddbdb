/* A queue of work that is fair to accounts: whoever has queued much waits behind whoever has queued little.
 *
 *   small accounts   A  C  D     each has its items in the order of the calls that they belong to
 *   large accounts   B  E        (hold KW_ACCOUNT_LARGE bytes or more, and have not left)
 *
 * Accounts take turns; small ones go first, but one turn of KW_FAIR_LARGE_EVERY is a large one's, so that
 * nobody starves. Within an account the oldest call goes first, whenever its item came: calls are answered in
 * their order, so it is the one that frees memory soonest. Not thread safe.
 */
#pragma once

#include "base/budget.h"

#include <glib.h>

#define KW_FAIR_LARGE_EVERY 8

typedef struct kw_fair_fifo kw_fair_fifo;

/* Embedded in what is queued. */
typedef struct kw_fair_item {
    kw_account *account; /* must outlive the item's time in the queue; NULL: nobody's */
    uint64_t call;       /* number of the call; the smaller goes first */
    kw_fair_fifo *fifo;  /* while it is queued */
    GList link;
} kw_fair_item;

typedef struct kw_fair kw_fair;

kw_fair *kw_fair_new(void);
/* Must be empty. NULL is fine. */
void kw_fair_free(kw_fair *queue);

void kw_fair_push(kw_fair *queue, kw_fair_item *item);
/* NULL: it is empty. */
kw_fair_item *kw_fair_pop(kw_fair *queue);
void kw_fair_remove(kw_fair *queue, kw_fair_item *item);
size_t kw_fair_count(const kw_fair *queue);
/* About how many items go before one that is pushed for this account now. */
size_t kw_fair_ahead(const kw_fair *queue, const kw_account *account);
/* Does an item of a small account or of nobody wait, as far as is known? */
bool kw_fair_has_small(const kw_fair *queue);

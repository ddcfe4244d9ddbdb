/* Internal to service: a reply with a long list, such as the rows of a page. Its items are converted and
 * encoded in pieces, between which the loop serves other calls. So only the encoded items need memory, not
 * the structs of all of them. The reply is sent when it is complete.
 */
#pragma once

#include "service/exchange.h"

typedef struct kw_list_reply {
    const void *result; /* the method's result struct; its list is empty */
    const void *list;   /* that list, anywhere in the result */
    const kw_wire_container *items;
    size_t count;
    /* Makes item `index`, in the scratch arena or in the call's. Called once for each item, in order, in a
     * guard. */
    const void *(*make)(void *user, size_t index, kw_arena *scratch);
    void *user; /* in the call's arena */
} kw_list_reply;

/* The items of the list at this offset in the struct of a table. */
const kw_wire_container *kw_list_reply_items(const kw_wire_struct *table, size_t offset);

/* Answers with the list. result and list are not used after this returns. For calls that change nothing:
 * LIMIT if the reply is too large, BUSY if memory is short. */
void kw_list_reply_send(kw_exchange *exchange, const kw_list_reply *reply);

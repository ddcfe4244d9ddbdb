/* The service: messages in, verbs called, replies out. Everything a call needs before and after the verb:
 * decode, identify, deadline, names to field numbers, errors to the wire, figures.
 *
 * One kw_service for the process, one part of it per loop. The policy snapshot, the cursor keys and the gate
 * are swapped on each loop by a posted task; a call keeps the ones it began with.
 */
#pragma once

#include "base/fence.h"
#include "base/metrics.h"
#include "gather/cursor.h"
#include "net/net.h"
#include "path/call.h"
#include "schema/policy.h"
#include "sequence/sequence.h"
#include "store/store.h"

typedef struct kw_service kw_service;

typedef struct kw_forget_order {
    const char *table;
    const char *path;
    bool drop_rows;
} kw_forget_order;
typedef void (*kw_forget_done)(void *user, const char *const *emptied, size_t count, const kw_error *error);

typedef struct kw_service_settings {
    kw_store *store;         /* must outlive the service */
    kw_sequences *sequences; /* must outlive the service, too */
    unsigned loops;
    /* Admin.reload: reads the policy file again and calls done on `loop`, whatever comes of it. */
    void (*reload)(void *user, kw_loop *loop, void (*done)(void *done_user, const kw_error *error),
                   void *done_user);
    /* Admin.forget: clears what the catalog holds of a table or of one of its paths (NULL: all of them). done
     * is called on `loop` with the store tables that were emptied, which live until it returns. */
    void (*forget)(void *user, const kw_forget_order *order, kw_loop *loop, kw_forget_done done,
                   void *done_user);
    /* Store tables were created, not by the gateway itself; the texts live until it returns. */
    void (*created)(void *user, const char *const *store_tables, size_t count);
    void *user;
    const kw_fence
        *fence; /* while it is shut, calls that need the store are answered UNAVAILABLE; NULL: none */
} kw_service_settings;

/* Takes references on the policy and the keyring. The gate is shut until kw_service_open_gate. */
kw_service *kw_service_new(const kw_service_settings *settings, kw_policy *policy, kw_keyring *keyring);

/* After the net that used its handler was freed. */
void kw_service_free(kw_service *service);

/* What kw_net_new wants. */
kw_net_handler kw_service_handler(kw_service *service);

/* From now on; calls in flight keep what they have. Of one thread, not while draining. */
void kw_service_set_policy(kw_service *service, kw_policy *policy, kw_keyring *keyring);

/* While the gate is shut, calls that need the store are answered with `why` (a code other than OK). */
void kw_service_shut_gate(kw_service *service, const kw_error *why);
void kw_service_open_gate(kw_service *service);

/* New calls of these tables (NULL ends the list) wait; done is called on `loop` when those under way have
 * been answered. Released calls begin under the policy that was set before. Of one thread, one hold at a
 * time; a release before done was called takes the call back. Not once the net that ran the loops is gone. */
void kw_service_hold(kw_service *service, const char *const *tables, kw_loop *loop, void (*done)(void *user),
                     void *user);
void kw_service_release(kw_service *service);

/* --- figures; any thread ---------------------------------------------------------------------- */

size_t kw_service_method_count(void);
const char *kw_service_method_name(size_t method);
/* Calls of the method that ended with this code. */
uint64_t kw_service_calls(const kw_service *service, size_t method, kw_code code);
/* Latencies of the method over all loops, summed into *ret_sum. */
void kw_service_latency(const kw_service *service, size_t method, kw_histogram *ret_sum);

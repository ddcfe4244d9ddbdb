/* The catalog: which rows exist, and which gateways serve them.
 *
 *   kw_catalog_check    registers the gateway, reads the catalog, compares     -> an admission, or REFUSED
 *   (the gateway makes missing store tables and holds the calls of kw_admission_hold)
 *   kw_admission_commit looks again whether rows appeared, then writes the facts
 *   (the gateway takes the policy into service)
 *   kw_admission_serve, or kw_admission_abandon at any point before
 *
 * Gateways on a store that other processes use too (kw_store_is_shared) hold a lease in the catalog. They
 * register before they read, so of two that begin at once at least one sees the other. A gateway whose lease
 * has ended answers nothing (base/fence.h); one that finds its registration gone must be admitted again.
 *
 * Everything happens on one loop, one admission at a time.
 */
#pragma once

#include "base/fence.h"
#include "catalog/compare.h"
#include "catalog/image.h"

/* A gateway serves for so long after it sent a renewal that succeeded. */
#define KW_LEASE_MS 10000
/* Others take it for dead after so long, by the store's clock: clocks of region servers may differ by the
 * rest. */
#define KW_LEASE_DEAD_MS 15000

typedef struct kw_catalog kw_catalog;
typedef struct kw_admission kw_admission;

typedef struct kw_catalog_settings {
    kw_loop *loop;
    kw_door *door; /* of that loop; must outlive the catalog */
    const char *store_table;
    const char *gateway_id;
    bool shared;              /* other processes use the store, too */
    void (*lost)(void *user); /* the registration is gone: be admitted again; on the loop */
    void *user;
} kw_catalog_settings;

kw_catalog *kw_catalog_new(const kw_catalog_settings *settings);
/* Withdraws the registration, as far as the store answers within a second; then calls closed. An admission in
 * hand ends with an error, once the door is closed at the latest. */
void kw_catalog_close(kw_catalog *catalog, void (*closed)(void *user), void *user);
void kw_catalog_free(kw_catalog *catalog); /* NULL is fine */

/* Open while the lease lasts; NULL on a store of this process alone. */
const kw_fence *kw_catalog_fence(const kw_catalog *catalog);

/* admission is the receiver's (serve or abandon it); NULL exactly when error is set. REFUSED: a retry is
 * refused, too. UNAVAILABLE, TIMEOUT, BUSY: try again. */
typedef void (*kw_catalog_checked)(void *user, kw_admission *admission, const kw_error *error);
void kw_catalog_check(kw_catalog *catalog, kw_policy *policy, kw_deadline deadline, kw_catalog_checked done,
                      void *user);

/* Tables whose calls must be held, and those under way have ended, before the commit (NULL ends the list):
 * rows of the old and of the new policy would not agree, or the policy does not have the table, and others
 * may change or forget it from then on. */
size_t kw_admission_hold(const kw_admission *admission, const char *const **ret_tables);

/* True if the catalog has the path with the layout and the key rule of the policy: it can have rows. */
bool kw_admission_knows(const kw_admission *admission, size_t table, size_t path);

/* A store table that Keyway created. Before the commit. */
void kw_admission_made(kw_admission *admission, const char *store_table);

/* Without an error the facts are in the catalog. BUSY: another gateway changed them meanwhile, check again.
 * An answer that the store leaves open is asked for until it is certain, beyond the deadline. */
void kw_admission_commit(kw_admission *admission, kw_deadline deadline,
                         void (*done)(void *user, const kw_error *error), void *user);

/* What the catalog says of a path: for the policy that goes into service. After the commit. */
const kw_placement_facts *kw_admission_placement(const kw_admission *admission, size_t table, size_t path);
/* The order of a table's writes: the policy's, or the catalog's where the policy names none. */
kw_write_order kw_admission_order(const kw_admission *admission, size_t table);

/* The policy is in service: the registration says so from now on. Frees the admission. */
void kw_admission_serve(kw_admission *admission);
/* The policy is not taken: the registration is what it was before. Frees the admission. */
void kw_admission_abandon(kw_admission *admission);

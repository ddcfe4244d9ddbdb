/* What the files of the catalog share: the gateway's registration and its lease. */
#pragma once

#include "catalog/catalog.h"

/* Digests of the tables of one policy, with their texts. */
typedef struct kw_digests {
    kw_arena *arena; /* NULL: no tables */
    const kw_table_digest *items;
    size_t count;
} kw_digests;

kw_digests kw_digests_of_policy(const kw_policy *policy);
kw_digests kw_digests_copy(const kw_digests *digests);
void kw_digests_clear(kw_digests *digests);

struct kw_catalog {
    kw_catalog_settings settings;
    kw_bytes table;
    char instance[33]; /* random: names this process */
    /* The registration. `serving` is empty before the first policy serves. */
    kw_digests serving;
    kw_digests next;         /* while a policy is on its way; else empty */
    bool stored;             /* the store has a registration of this instance */
    bool admitted;           /* a policy serves, and the registration was not lost since */
    bool stale;              /* the stored digests are not the present ones */
    uint64_t lease_until_ns; /* kw_clock_boot_ns */
    kw_fence fence;          /* until the lease ends, if a policy serves */
    uint64_t leases;         /* makes each text of the lease another one */
    kw_timer *timer;
    bool renewing;
    struct kw_catalog_putting *putting; /* put.c */
    void (*closed)(void *user);         /* set: closing */
    void *closed_user;
};

typedef void (*kw_registered)(void *user, const kw_error *error);

/* Stores the registration, over whatever there is under this id, and begins the lease. */
void kw_catalog_register(kw_catalog *catalog, kw_deadline deadline, kw_registered done, void *user);

/* Stores that the digests changed, with the next renewal, which begins at once. */
void kw_catalog_update_registration(kw_catalog *catalog);

/* Removes the registration of this gateway: nothing serves. */
void kw_catalog_withdraw(kw_catalog *catalog);

/* Removes the registration of a gateway whose lease has ended. BUSY when it was renewed meanwhile. */
void kw_catalog_remove_dead(kw_catalog *catalog, const kw_registration *dead, kw_deadline deadline,
                            kw_registered done, void *user);

/* The catalog closes: a put that waits for its next try ends. */
void kw_catalog_end_put(kw_catalog *catalog);

/* True if the lease lasts. */
bool kw_catalog_holds_lease(const kw_catalog *catalog);

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
void kw_digests_clear(kw_digests *digests);

struct kw_catalog {
    kw_catalog_settings settings;
    kw_bytes table;
    /* What the registration says. */
    kw_digests serving;     /* empty before the first policy serves */
    kw_digests next;        /* while a policy is on its way; else empty */
    const char *forgetting; /* the table that this gateway forgets; NULL: none */
    uint64_t says;          /* counts the changes of these three */
    /* The registration itself; registry.c. */
    char instance[33];       /* names it in the store; "": there is none */
    uint64_t lease;          /* the number that the store has, as far as is known; 0: none */
    uint64_t leases;         /* numbers that were given out */
    uint64_t said;           /* what the store has of `says` */
    bool stored;             /* the store has the registration */
    bool admitted;           /* a policy serves, and the registration was not lost since */
    uint64_t lease_until_ns; /* kw_clock_boot_ns */
    kw_fence fence;          /* until the lease ends, if a policy serves */
    kw_timer *timer;
    bool renewing;
    unsigned removals;                  /* of registrations, on their way */
    struct kw_catalog_putting *putting; /* put.c */
    void (*closed)(void *user);         /* set: closing */
    void *closed_user;
};

typedef void (*kw_registered)(void *user, const kw_error *error);

/* Stores the registration as it is to be now, a new one if there is none, and begins the lease. done may be
 * called from inside. */
void kw_catalog_register(kw_catalog *catalog, kw_deadline deadline, kw_registered done, void *user);

/* Stores that what it says has changed, with the next renewal, which begins at once. */
void kw_catalog_update_registration(kw_catalog *catalog);

/* Removes the registration: nothing serves. */
void kw_catalog_withdraw(kw_catalog *catalog);

/* Removes the registration of a gateway whose lease has ended. BUSY when it was renewed meanwhile. */
void kw_catalog_remove_dead(kw_catalog *catalog, const kw_registration *dead, kw_deadline deadline,
                            kw_registered done, void *user);

/* True if the registration is this gateway's. */
bool kw_catalog_is_own(const kw_catalog *catalog, const kw_registration *registration);

/* The catalog closes: a put that waits for its next try ends. */
void kw_catalog_end_put(kw_catalog *catalog);

/* True if the lease lasts. UNAVAILABLE. */
bool kw_catalog_check_lease(const kw_catalog *catalog, kw_error *ret_error);

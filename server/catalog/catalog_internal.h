/* Private to this module: the gateway's registration and its lease. */
#pragma once

#include "catalog/catalog.h"
#include "store/plausible.h"

/* Digests of the tables of one policy, with their texts. */
typedef struct kw_digests {
    kw_arena *arena; /* NULL: no tables */
    const kw_table_digest *items;
    size_t count;
} kw_digests;

/* refusals: one for each table; a table with a refusal is left out. NULL: all tables. */
kw_digests kw_digests_of_policy(const kw_policy *policy, const kw_error *const *refusals);
void kw_digests_clear(kw_digests *digests);

struct kw_catalog {
    kw_catalog_settings settings;
    kw_bytes table;
    /* The content of the registration. */
    kw_digests serving;      /* empty until the first policy serves */
    kw_digests next;         /* while a policy is being admitted; otherwise empty */
    const char *forgetting;  /* the table that this gateway is forgetting; NULL: none */
    kw_arena *reports_arena; /* NULL: no reports */
    const kw_change_report *reports;
    size_t reports_count;
    bool has_callers;  /* as reported */
    uint64_t revision; /* incremented when one of these members changes */
    /* The registration itself; registry.c. */
    char instance[33];        /* its name in the store; "": there is none */
    uint64_t lease;           /* the number in the store, as far as is known; 0: none */
    uint64_t leases;          /* count of numbers used */
    uint64_t stored_revision; /* the value of `revision` that the store holds */
    bool stored;              /* true if the store has the registration */
    bool admitted;            /* true if a policy serves, and the registration was not lost since */
    uint64_t lease_until_ns;  /* by kw_clock_boot_ns */
    kw_fence fence;           /* open until the lease expires, if a policy serves */
    kw_plausible clock;       /* which timestamps of own leases are trusted as the store's time */
    kw_timer *timer;
    bool renewing;
    bool renewal_failed;                /* the last renewal; it was logged */
    bool keeps_registration;            /* the registration is not removed at the close */
    unsigned removals;                  /* removals of registrations in flight */
    struct kw_catalog_putting *putting; /* see put.c */
    bool ends_repeats;                  /* a put without an answer is not sent again */
    void (*closed)(void *user);         /* set: closing */
    void *closed_user;
};

typedef void (*kw_registered)(void *user, const kw_error *error);

/* Stores the registration with its current content, or a new one if there is none, and begins the lease. done
 * can be called before this returns. */
void kw_catalog_register(kw_catalog *catalog, kw_deadline deadline, kw_registered done, void *user);

/* Renews the lease at once, and stores the changed content with this renewal. */
void kw_catalog_update_registration(kw_catalog *catalog);

/* Removes the registration: the gateway serves nothing. */
void kw_catalog_withdraw(kw_catalog *catalog);

/* Removes the registration of a gateway whose lease has expired. BUSY if the lease was renewed in the
 * meantime. */
void kw_catalog_remove_dead(kw_catalog *catalog, const kw_registration *dead, kw_deadline deadline,
                            kw_registered done, void *user);

/* True if the registration is this gateway's. */
bool kw_catalog_is_own(const kw_catalog *catalog, const kw_registration *registration);

/* If a put waits for its next attempt, makes this attempt now. After kw_catalog_close, ends the put instead.
 */
void kw_catalog_end_put(kw_catalog *catalog);

/* True while the lease is valid; otherwise UNAVAILABLE. */
bool kw_catalog_check_lease(const kw_catalog *catalog, kw_error *ret_error);

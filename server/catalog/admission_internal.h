/* Shared by the two halves of an admission: kw_catalog_check and kw_admission_commit. */
#pragma once

#include "catalog/catalog_internal.h"
#include "catalog/probe.h"

struct kw_admission {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_policy *policy;
    kw_deadline deadline; /* of the current half */
    bool looked_up;       /* whether the catalog's table exists */
    kw_catalog_image *image;
    size_t count; /* tables of the policy */
    kw_facts **wanted;
    const kw_facts **recorded; /* NULL: the catalog does not contain the table */
    kw_facts_change *changes;
    bool *settled;                /* the result of the comparison does not depend on rows */
    bool *optional;               /* the policy can be served without the table */
    const kw_error **refusals;    /* NULL: the table is not refused */
    GHashTable *created;          /* store tables created for this policy */
    bool versioned;               /* the catalog keeps the policy */
    int64_t current;              /* the version that must be current at the commit */
    const kw_version_draft *next; /* the version after it, which becomes current; NULL: none */
    kw_version_name next_name;
    const kw_change_step *step; /* the caller's; NULL: none */
    kw_change_step taken;       /* the same step, but its base has the records that the image has */
    bool preview;
    kw_error conflict; /* of a preview */
    kw_catalog_checked checked;
    void (*committed)(void *user, const kw_error *error);
    void *user;
};

kw_admission *kw_admission_new(kw_catalog *catalog, kw_policy *policy, kw_deadline deadline,
                               kw_catalog_checked checked, void *user);
void kw_admission_free(kw_admission *admission);

bool kw_admission_is_refused(const kw_admission *admission, size_t table);
bool kw_admission_has_refusal(const kw_admission *admission);
/* The comparison or the store refuses the table. True if the admission continues without it: it is optional,
 * and the error is not one that a retry can remove. */
bool kw_admission_refuse(kw_admission *admission, size_t table, const kw_error *why, kw_error *ret_error);
/* The tables that gateways with the old and the new facts must not serve at the same time, with the earlier
 * names of renamed ones. In the arena; NULL ends the list. */
size_t kw_admission_list_exclusive(const kw_admission *admission, const char ***ret_tables);

/* The steps of a comparison, in their order. */
void kw_admission_look_up(kw_admission *admission);
bool kw_admission_check_all_owners(kw_admission *admission, kw_error *ret_error);
void kw_admission_settle(kw_admission *admission);
bool kw_admission_compare_all(kw_admission *admission, const kw_evidence *evidence, kw_error *ret_error);
/* UNAVAILABLE if the policy was compiled for another place of a change than the catalog will have. */
bool kw_admission_check_versions(const kw_admission *admission, kw_error *ret_error);
/* admission_gateways.c. Refuses optional tables that other gateways serve in another way. */
bool kw_admission_check_gateways(kw_admission *admission, kw_error *ret_error);
/* The tables whose dead registrations must be removed before the facts are put. */
size_t kw_admission_list_cleared(const kw_admission *admission, const char *const **ret_tables);

/* admission_records.c. UNAVAILABLE if the catalog's records are not the base of the step. */
bool kw_admission_take_step(kw_admission *admission, kw_error *ret_error);
/* NULL: none. */
const kw_change_step *kw_admission_step(const kw_admission *admission);
/* The records to put; false if those in the catalog stay. */
bool kw_admission_records(const kw_admission *admission, const kw_change_record **ret_records,
                          size_t *ret_count);
/* REFUSED if a table without facts would begin in a placement that another table had before a change. */
bool kw_admission_check_given(const kw_admission *admission, size_t table, kw_error *ret_error);

/* Finds out which store tables hold rows; the admission is the user argument of done. */
void kw_admission_probe(kw_admission *admission, bool exclusive_only, kw_probed done);

/* Compares the exclusive tables again. */
bool kw_admission_compare_again(kw_admission *admission, const kw_evidence *evidence, kw_error *ret_error);

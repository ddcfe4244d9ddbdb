/* What the two halves of an admission share. */
#pragma once

#include "catalog/inside.h"
#include "catalog/probe.h"

struct kw_admission {
    kw_catalog *catalog;
    kw_arena *arena;
    kw_policy *policy;
    kw_deadline deadline; /* of the half in hand */
    kw_table_spec spec;   /* of the catalog's table, when it is created */
    kw_family_spec family;
    kw_catalog_image *image;
    size_t count; /* tables of the policy */
    kw_facts **wanted;
    const kw_facts **recorded; /* NULL: the catalog does not know the table */
    kw_facts_change *changes;
    const char **exclusive; /* ends with NULL */
    size_t exclusive_count;
    GHashTable *made; /* store tables that were created for this policy */
    size_t dead_next; /* in the image's gateways */
    kw_catalog_checked checked;
    void (*committed)(void *user, const kw_error *error);
    void *user;
};

/* Asks which store tables hold rows; the admission is the user of done. */
void kw_admission_probe(kw_admission *admission, bool exclusive_only, kw_probed done);

/* Compares the exclusive tables once more. */
bool kw_admission_compare_again(kw_admission *admission, const kw_evidence *evidence, kw_error *ret_error);

/* True if the other gateway's lease has ended, by the store's clock. */
bool kw_admission_is_dead(const kw_admission *admission, const kw_registration *other);
/* True if it serves, or is about to serve, one of these tables. */
bool kw_registration_has_table(const kw_registration *other, const char *const *tables, size_t count);

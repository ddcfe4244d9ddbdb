/* Changes of the key rule of table "t", path primary: policies of each place, and steps between them. */
#pragma once

#include "town.h"

#define NEW_KEY                                                                                              \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: int\n"                                                                                         \
    "    key: [{field: ts}, {field: id}]\n"
#define NEW_RULE NEW_KEY "    layout: 2\n    store_table: t2\n"

typedef struct changing {
    kw_policy *old;    /* before the change */
    kw_policy *new;    /* after it */
    kw_policy *text;   /* the policy of the change, compiled without the record */
    kw_policy *before; /* has the old rule */
    kw_policy *both;   /* with two placements, as at the place that was set last; NULL: none was */
    kw_change_record record;
    kw_change_record base;
    kw_change_step step;
} changing;

changing *changing_new(void);
/* A table with order: store, in a store with several writers. */
changing *changing_new_several(void);
void changing_free(changing *self);

/* The policy of the place, and the step to it from the record as it was. */
kw_policy *changing_to(changing *self, kw_change_place place);
/* The policy of the place that is set, without a step. */
kw_policy *changing_both(changing *self);
/* The policy at the record's place. The caller owns it. */
kw_policy *changing_compile(const kw_change_record *record, kw_policy *text, kw_policy *old);
/* The end: forward keeps the new placement. */
kw_policy *changing_end(changing *self, bool forward);

/* As gateway_check and gateway_admit, with the step that was set last. */
kw_code gateway_check_step(gateway *self, kw_policy *policy, const kw_change_step *step);
kw_code gateway_admit_step(gateway *self, kw_policy *policy, const kw_change_step *step);
kw_code gateway_write_progress(gateway *self, const kw_change_record *records, size_t count);
/* Reads the records; they live until the next call. */
const kw_change_record *gateway_read_changes(gateway *self, size_t *ret_count);

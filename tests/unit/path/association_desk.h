/* For tests of associations: tables with an association, lookups, and what the association holds. The clock
 * is the test's: it does not advance. */
#pragma once

#include "../verb/desk.h"
#include "path/association.h"

#define NOW_MS INT64_C(1700000000000)

/* Tables: known (cells expire), lasting (they do not), doubles (records have two key fields), pairs
 * (two paths with a choice of the bucket). The
 * association of each is the path where. */
desk *association_desk(void);

/* Looks up records with these ids, separated by spaces. */
const kw_association_entry *association_find(desk *self, const char *table, const char *ids, bool create,
                                             int64_t stamp);
/* The same for a put without a timestamp. */
const kw_association_entry *association_find_to_put(desk *self, const char *table, const char *ids);

/* The callback of kw_association_find: sets *user, a pointer to the entries. */
void association_found(void *user, const kw_association_entry *entries);

/* Runs the loop until *answer is set. */
void association_wait(desk *self, const void *answer);

/* The default key of record `id`, moved by `shift` buckets. */
kw_bytes association_key(desk *self, const kw_placement *placement, const char *id, unsigned shift);

/* The cell of the association; data NULL: there is none. */
kw_bytes association_cell(desk *self, const char *table, const char *id, const char *qualifier);

/* Lets the association hold a row key that is `age_ms` old. */
void association_hold(desk *self, const char *table, const char *id, const char *qualifier, kw_bytes key,
                      int64_t age_ms);

/* Ids "r0 r1 ...". The caller frees them. */
char *association_ids(size_t count);

void assert_bytes(kw_bytes bytes, kw_bytes expected);

/* Changes of key rules in the catalog: reads and writes their records (change/record.h), and what gateways
 * report about them. */
#pragma once

#include "catalog/version.h"
#include "change/record.h"

#define KW_CATALOG_CHANGES KW_BYTES_LITERAL("changes")

/* A step of a change. The placements of paths may differ from the catalog's where the new records differ from
 * its records:
 *   - a path gets a second placement, or its first one, whose store table has no rows: the change begins
 *   - roles of placements change: the next place of the change
 *   - a path keeps one of two placements: the change has ended. The other one becomes retired
 * The commit writes the records in the same put. Without a step, placements must be those of the catalog.
 *
 * With several writers, a step goes only to a neighboring place (change/ladder.h). A change begins at
 * kw_change_first_place, a drop at the place at which the rows of an added path are copied, and a change that
 * allows or forbids atomic operations at its only place. A change ends at a place where gateways behave as
 * without a change, or at a neighbor of such a place. The table's order becomes `stamp` with the step to
 * FILLED. Atomic operations become allowed or forbidden with the end of the change.
 * What a step needs:
 *   - to begin: all other gateways that serve the table follow the catalog's policy (otherwise REFUSED), and
 *     serve the table with the old placement (otherwise BUSY)
 *   - later: this gateway is the holder of the change, and all gateways with the table, this one included,
 *     have reported the present place
 *   - goal, holder, completing, pause and limit are still those of the base
 *
 * Gateways that register later are admitted with the new place.
 *
 * Dead registrations do not count, and the commit removes them. UNAVAILABLE: the catalog does not have the
 * base any more, or one of the other conditions is false. Records that are the same in the step and in its
 * base are not written: the catalog's own stay.  */
typedef struct kw_change_step {
    const kw_change_record *records; /* all that the catalog will have */
    size_t count;
    const kw_change_record *base; /* those that the catalog must have now; see kw_changes_differ */
    size_t base_count;
} kw_change_step;

/* The content of the catalog that defines the policy in service. */
typedef struct kw_current {
    kw_version_name version; /* number 0: none */
    const kw_change_record *changes;
    size_t changes_count;
} kw_current;

/* Reads it with one get; it lives until done returns. */
typedef void (*kw_current_read)(void *user, const kw_current *current, const kw_error *error);
void kw_catalog_read_current_changes(kw_catalog *catalog, kw_deadline deadline, kw_current_read done,
                                     void *user);

/* Writes records whose progress, pause, limit or `completing` has changed, on the condition that the
 * catalog's records do not differ in other fields (kw_changes_differ). BUSY: they do. Does not write records
 * of several writers, see kw_catalog_edit_change. One call at a time, on the catalog's loop, not during an
 * admission. */
void kw_catalog_write_progress(kw_catalog *catalog, const kw_change_record *records, size_t count,
                               kw_deadline deadline, void (*done)(void *user, const kw_error *error),
                               void *user);

/* Edits `record`, a copy of the catalog's record. current: the number of the catalog's current policy
 * version. Called again after a conflict. New texts must be in the arena. It must not change what
 * kw_change_record_differs compares. False: nothing is written. */
typedef bool (*kw_change_edit)(void *user, int64_t current, kw_change_record *record, kw_arena *arena,
                               kw_error *ret_error);
/* What the catalog has after the edit; lives until done returns. NULL exactly if error is set. */
typedef void (*kw_change_edited)(void *user, const kw_current *current, const kw_error *error);

/* Edits the record of the change that is under way on the path (NULL: of whichever path of the table
 * changes). If the record has several paths, `path` must be its first one. The new record is put on the
 * condition that the catalog was not changed since the edit read it; otherwise everything is repeated until
 * the deadline (BUSY after it). So what another gateway wrote in between is not undone. An unchanged record
 * is not written. REFUSED: no change is under way. UNAVAILABLE: the lease has expired. One call at a time, on
 * the catalog's loop. An admission of this gateway at the same time gets BUSY at its commit. */
void kw_catalog_edit_change(kw_catalog *catalog, const char *table, const char *path, kw_change_edit edit,
                            void *edit_user, kw_deadline deadline, kw_change_edited done, void *user);

/* --- several writers: what gateways report ---------------------------------------------------------- */

/* Replaces the reports in this gateway's registration, and writes it soon. Copies. */
void kw_catalog_report_changes(kw_catalog *catalog, const kw_change_report *reports, size_t count);

/* Writes to this gateway's registration whether callers use the gateway, so that the gateway that does the
 * work of a change makes pauses for them. */
void kw_catalog_report_callers(kw_catalog *catalog, bool has_callers);

/* Registers this gateway, then reads the registrations that have the table. They live until done returns. */
typedef void (*kw_change_followers_read)(void *user, const kw_change_follower *followers, size_t count,
                                         const kw_error *error);
void kw_catalog_read_followers(kw_catalog *catalog, const kw_change_record *record, kw_deadline deadline,
                               kw_change_followers_read done, void *user);
/* The name of this gateway's registration; "": it has none. */
const char *kw_catalog_instance(const kw_catalog *catalog);

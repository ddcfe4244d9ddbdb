/* The catalog: which rows exist, and which gateways serve them.
 *
 *   kw_catalog_check    registers the gateway, reads the catalog, compares     -> an admission, or REFUSED
 *   (the gateway creates missing store tables and holds the calls of kw_admission_hold)
 *   kw_admission_commit checks again whether rows appeared, then writes the facts
 *   (the gateway puts the policy into service)
 *   kw_admission_serve, or kw_admission_abandon at any earlier point
 *
 * Gateways on a store that other processes also use (kw_store_is_shared) hold a lease in the catalog. They
 * register before they read, so if two start at once, at least one sees the other. A gateway whose lease has
 * expired answers no calls (base/fence.h). A gateway whose registration was removed must be admitted again.
 *
 * Everything runs on one loop, one admission at a time.
 */
#pragma once

#include "base/fence.h"
#include "catalog/changes.h"
#include "catalog/compare.h"
#include "catalog/image.h"
#include "catalog/version.h"

/* How long a gateway serves after it sent a renewal that succeeded. */
#define KW_LEASE_MS 10000
/* Other gateways regard it as dead after this time by the store's clock. The difference allows for region
 * servers with different clocks. */
#define KW_LEASE_DEAD_MS 15000

typedef struct kw_catalog kw_catalog;
typedef struct kw_admission kw_admission;

typedef struct kw_catalog_settings {
    kw_loop *loop;
    kw_store_handle *handle; /* of that loop; must outlive the catalog */
    const char *store_table;
    const char *gateway_id;
    bool shared;  /* other processes also use the store */
    bool follows; /* the gateway serves the policy that the catalog keeps, and follows its changes */
    void (*lost)(void *user); /* the registration was removed: be admitted again; called on the loop */
    void *user;
} kw_catalog_settings;

kw_catalog *kw_catalog_new(const kw_catalog_settings *settings);
/* Removes the registration if the store answers within a second, then calls closed. An admission in progress
 * ends with an error, at the latest when the store handle is closed. */
void kw_catalog_close(kw_catalog *catalog, void (*closed)(void *user), void *user);
/* From now on, a put with an unknown outcome ends with its error. Without this, it is repeated until its
 * outcome is certain. Call it when the gateway stops: the puts with which it gives up its changes must end
 * before kw_catalog_close. */
void kw_catalog_end_repeats(kw_catalog *catalog);
/* Lets kw_catalog_close leave the registration in the catalog until it has expired. Call it if writes of this
 * gateway can still be applied after its end. The holder of a change then finds the registration, and waits
 * for the writes. */
void kw_catalog_leave_registration(kw_catalog *catalog);
void kw_catalog_free(kw_catalog *catalog); /* NULL is ignored */

/* Open while the lease is valid; NULL on a store that only this process uses. */
const kw_fence *kw_catalog_fence(const kw_catalog *catalog);

/* The receiver owns admission (serve or abandon it); NULL exactly if error is set. REFUSED: a retry is
 * also rejected. UNAVAILABLE, TIMEOUT, BUSY: try again. */
typedef void (*kw_catalog_checked)(void *user, kw_admission *admission, const kw_error *error);
/* step: NULL, or the step of a change that the policy was compiled for; it must live until the admission
 * ends. UNAVAILABLE also means that the policy is of another version of a change than the catalog has now:
 * load it again.
 *
 * optional: for each table, whether the policy can be served without it; NULL: it needs all of them. An
 * optional table that is refused is left out (kw_admission_refusal): its facts stay as they are, and the
 * registration does not contain it. A table that the step changes is never left out. */
void kw_catalog_check(kw_catalog *catalog, kw_policy *policy, const kw_change_step *step,
                      const bool *optional, kw_deadline deadline, kw_catalog_checked done, void *user);

/* True if the table can be left out. */
bool kw_admission_is_optional(const kw_admission *admission, size_t table);
/* Why the table is refused; NULL: it is not. The tables of a preview are all compared, even after a refusal.
 */
const kw_error *kw_admission_refusal(const kw_admission *admission, size_t table);
/* Leaves out a table for a reason that the catalog does not know. Call it before the commit. */
void kw_admission_leave_out(kw_admission *admission, size_t table, const kw_error *why);

/* The tables whose calls must be held, and whose running calls must have completed, before the commit. NULL
 * ends the list. It contains the tables whose rows the old and the new policy interpret differently. It also
 * contains tables that the new policy does not have or that are left out, because other gateways can change
 * or forget them after the commit. */
size_t kw_admission_hold(const kw_admission *admission, const char *const **ret_tables);

/* True if the path is new to the catalog, and its store table has rows: they must be checked (verb/sample.h)
 * before the commit. Store tables that only Keyway fills are not checked. */
bool kw_admission_is_unchecked(const kw_admission *admission, size_t table, size_t path);
/* Records in the facts how many rows of the path were checked. Call it before the commit. */
void kw_admission_note_checked(kw_admission *admission, size_t table, size_t path, int64_t rows,
                               int64_t at_ms);
/* What was noted; 0: nothing. */
int64_t kw_admission_checked_rows(const kw_admission *admission, size_t table, size_t path);

/* For a policy that the catalog keeps: its commit fails with REFUSED unless version `current` is the current
 * one. With `next`, the version after it becomes current in the same put as the facts; next must live until
 * the commit ends. Call it before the commit. */
void kw_admission_set_version(kw_admission *admission, int64_t current, const kw_version_draft *next);

/* Records that Keyway created a store table. Call it before the commit. */
void kw_admission_note_created(kw_admission *admission, const char *store_table);

/* Without an error, the facts are in the catalog. BUSY: another gateway changed them in the meantime; check
 * again. If the store's answer is uncertain, the put is repeated until it is certain, even after the
 * deadline. */
void kw_admission_commit(kw_admission *admission, kw_deadline deadline,
                         void (*done)(void *user, const kw_error *error), void *user);

/* The catalog's facts of a path, for the policy that goes into service. Call these functions after the
 * commit, and not for a table that is left out. */
const kw_placement_facts *kw_admission_placement(const kw_admission *admission, size_t table, size_t path);
/* The order of a table's writes: the policy's, or the catalog's if the policy names none. */
kw_write_order kw_admission_order(const kw_admission *admission, size_t table);
/* True if atomic operations are allowed: the policy's setting, or the catalog's. */
bool kw_admission_atomics(const kw_admission *admission, size_t table);

/* --- previews: what an admission would answer; they change nothing --------------------------------- */

/* Reads the catalog and compares every table. The receiver owns the admission, which can only be abandoned.
 */
void kw_catalog_preview(kw_catalog *catalog, kw_policy *policy, const kw_change_step *step,
                        kw_deadline deadline, kw_catalog_checked done, void *user);
/* Replaces the reason why the preview refuses the table. */
void kw_admission_explain(kw_admission *admission, size_t table, const kw_error *reason);
/* Why other gateways rule the policy out, although no table is refused; NULL: they do not. */
const kw_error *kw_admission_conflict(const kw_admission *admission);
/* The name that the table has in the catalog; NULL: the catalog does not contain it. */
const char *kw_admission_recorded_name(const kw_admission *admission, size_t table);
/* The facts of the table in the catalog; NULL: the catalog does not contain it. The same in any admission. */
const kw_facts *kw_admission_recorded(const kw_admission *admission, size_t table);
/* The records of changes in the catalog. The same in any admission. */
const kw_change_record *kw_admission_change_records(const kw_admission *admission, size_t *ret_count);
/* The version that was current when the catalog was read. */
const kw_version_name *kw_admission_version(const kw_admission *admission);

/* --- the end of an admission ----------------------------------------------------------------------- */

/* Registers the policy as being in service. Frees the admission. */
void kw_admission_serve(kw_admission *admission);
/* Rejects the policy: restores the previous registration. Frees the admission. */
void kw_admission_abandon(kw_admission *admission);

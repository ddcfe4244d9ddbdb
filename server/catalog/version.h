/* Versions of a policy whose tables and sequences are kept in the catalog.
 *
 *   row                cells of family d
 *   =facts             policy: "N ID": version N is current, and its text is in the row ~policy/N/ID
 *   ~policy/N/ID       text, author, reason, at (ms since 1970), previous: the ID of version N - 1
 *
 * In the key of a row, N has 16 hexadecimal digits, so that the rows sort by N.
 *
 * The text is written first, in a row of its own: the ID is random, so no other writer has this row, and a
 * write that the store executes late changes nothing that is in use. Then version N becomes current in the
 * same conditional put as the facts of its tables (put.h). A row without that put belongs to no version; it
 * remains, and is never read as one.
 *
 * Several gateways can write rows for the same N, but each of them reads the ID of version N - 1 first.
 * So any row of N + 1 names the row of N that became current.
 *
 * These rows sort after all others, so that a read of the catalog stops before them.
 */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "change/version_name.h"

#include <stddef.h>

#define KW_CATALOG_POLICY_PREFIX "~policy/"
#define KW_CATALOG_POLICY KW_BYTES_LITERAL("policy") /* the cell in the row of facts */
/* Maximum size of a text. A policy file has the same limit. */
#define KW_VERSION_TEXT_MAX ((size_t)1024 * 1024)
#define KW_VERSION_REASON_MAX 1000
/* Maximum number of versions that one read returns. */
#define KW_VERSIONS_MAX 1000

typedef struct kw_catalog kw_catalog;

typedef struct kw_version {
    kw_version_name name;
    char previous[33]; /* ID of the previous version; "": none */
    kw_bytes text;     /* empty in a history */
    const char *author;
    const char *reason;
    int64_t at_ms;
} kw_version;

/* A version that is to become current. The id stays the same over all attempts. */
typedef struct kw_version_draft {
    char id[33];
    kw_bytes text;
    const char *author;
    const char *reason;
    int64_t at_ms;
} kw_version_draft;

/* Generates an id. */
void kw_version_draft_init(kw_version_draft *draft);

/* Reads which version is current: one small get. Number 0: none, or there is no catalog yet. */
typedef void (*kw_version_named)(void *user, const kw_version_name *current, const kw_error *error);
void kw_catalog_read_current(kw_catalog *catalog, kw_deadline deadline, kw_version_named done, void *user);

/* Reads one version with its text; it lives until done returns. CORRUPT if the row is missing. */
typedef void (*kw_version_found)(void *user, const kw_version *version, const kw_error *error);
void kw_catalog_read_version(kw_catalog *catalog, const kw_version_name *name, kw_deadline deadline,
                             kw_version_found done, void *user);

/* Reads at most `limit` versions with a number less than `before` (0: all), the newest one first, without
 * their texts. They live until done returns. */
typedef void (*kw_versions_listed)(void *user, const kw_version *versions, size_t count,
                                   const kw_error *error);
void kw_catalog_read_history(kw_catalog *catalog, int64_t before, size_t limit, kw_deadline deadline,
                             kw_versions_listed done, void *user);

/* The audit log: who did what, as lines of JSON in a file of its own. A line has no values of records.
 *
 * Any thread. A line is written with one write to the end of the file, so lines do not mix. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

typedef struct kw_audit kw_audit;

typedef enum kw_audit_kind {
    KW_AUDIT_LOGIN,  /* the first call of a connection */
    KW_AUDIT_DENIED, /* a call that no role allows */
    KW_AUDIT_ADMIN,  /* a call that creates store tables or operates the gateway, before it runs */
    KW_AUDIT_POLICY  /* a policy is in service */
} kw_audit_kind;

typedef struct kw_audit_event {
    kw_audit_kind kind;
    const char *principal; /* "": anonymous */
    const char *peer;      /* this and the next three: NULL or empty: not shown */
    const char *method;
    kw_bytes table;
    const char *request_id;
    int64_t version; /* of the policy in the catalog; 0: it is from a file */
} kw_audit_event;

/* Opens the file, creates it if necessary, and appends to it. UNAVAILABLE, which names the file, if it cannot
 * be opened or is not a regular file. */
kw_audit *kw_audit_open(const char *file, kw_error *ret_error);
void kw_audit_close(kw_audit *audit); /* NULL is ignored */

/* Opens the file again, because it was renamed. If that fails, each later line tries again. NULL is ignored.
 */
void kw_audit_reopen(kw_audit *audit);

/* Writes a line. False if it could not be written. Of logins and of denials, at most 100 each in a second are
 * written; the next line says how many were not, because of this limit or of a failure. audit NULL: true. */
bool kw_audit_write(kw_audit *audit, const kw_audit_event *event);

/* False since a line could not be written, until one could. NULL: true. */
bool kw_audit_works(const kw_audit *audit);

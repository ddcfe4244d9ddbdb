/* Access: decides who can do what. Every call passes kw_access_check once, before its method runs; a call
 * with a cursor passes it with the table that the cursor is for.
 *
 * The decision depends on the rules, the principal, the operation and the name of the table, but not on
 * whether the table exists. So a caller cannot find out whether a table exists that it has no role for.
 *
 * The rules are immutable; any thread. A kw_grants belongs to one connection and its thread.
 */
#pragma once

#include "access/principal.h"
#include "base/bytes.h"
#include "base/error.h"
#include "config/model.h"

typedef enum kw_operation {
    KW_OPERATION_NONE = 0, /* no method has this one */
    KW_OPERATION_READ,     /* these need a role for the table */
    KW_OPERATION_WRITE,
    KW_OPERATION_REMOVE,
    KW_OPERATION_ATOMIC, /* needs a role for WRITE, too */
    KW_OPERATION_CREATE,
    KW_OPERATION_EXPLAIN,
    KW_OPERATION_DESCRIBE, /* the fields and paths of a table: needs any role for it */
    KW_OPERATION_VIEW,     /* these need a role for the gateway */
    KW_OPERATION_OPERATE,
    KW_OPERATION_LIST /* the names of tables: allowed to all, shows those that the caller can describe */
} kw_operation;

/* The access section of a policy, compiled. */
typedef struct kw_access_rules kw_access_rules;

/* NULL if the section is not enabled: everybody can do everything. Borrows the section. */
kw_access_rules *kw_access_rules_new(const kw_model_access *access);
void kw_access_rules_free(kw_access_rules *rules); /* NULL is ignored */

/* What one principal can do under some rules, found out when it is first needed. */
typedef struct kw_grants kw_grants;

/* About the most memory that they use. */
#define KW_GRANTS_BYTES ((int64_t)6 * 1024)

void kw_grants_free(kw_grants *grants); /* NULL is ignored */

/* True if the principal is allowed to do it. *grants: NULL, or what an earlier call returned for the same
 * principal, possibly under other rules; it is replaced as needed. rules NULL: always true. table: its name
 * as the caller wrote it; empty: the call names none. Otherwise DENIED, which names the principal, the
 * operation and the table. */
bool kw_access_check(const kw_access_rules *rules, const kw_principal *principal, kw_grants **grants,
                     kw_operation operation, kw_bytes table, kw_error *ret_error);

/* Access: decides who may do what. Every call passes kw_access_check once, before its method runs. A call
 * with a cursor passes it with the table that the cursor is for. Pure; any thread.
 *
 * A policy cannot restrict access yet, so the answer is always yes. Only mutual TLS restricts who can connect
 * (SECURITY.md).
 */
#pragma once

#include "access/principal.h"
#include "base/bytes.h"
#include "base/error.h"

typedef enum kw_operation {
    KW_OPERATION_NONE = 0, /* no method has this one */
    KW_OPERATION_READ,     /* records of a table */
    KW_OPERATION_WRITE,    /* records of a table */
    KW_OPERATION_INSPECT,  /* the policy, plans, statistics: no records */
    KW_OPERATION_MANAGE    /* store tables, paths, the policy in service */
} kw_operation;

/* table: its name in the policy, as the caller wrote it; empty: the call names none. DENIED, which names the
 * operation and the table, if the principal is not allowed to do it. */
bool kw_access_check(const kw_principal *principal, kw_operation operation, kw_bytes table,
                     kw_error *ret_error);

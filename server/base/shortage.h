/* Rejects work that there is no memory for (base/budget.h), and work for an account whose client has
 * disconnected.
 */
#pragma once

#include "base/budget.h"
#include "base/error.h"

/* Sets BUSY with retry_after_ms and counts the refusal in a metric. Returns false. */
bool kw_shortage_refuse(kw_error *ret_error);

/* Sets LIMIT or BUSY, whichever the shortage is, which must not be NONE. Returns false. */
bool kw_shortage_fail(kw_shortage shortage, kw_error *ret_error);

/* Call this before work for an account. False with UNAVAILABLE if its client has disconnected, and with BUSY
 * if memory is short for it. NULL stands for an account within its share. */
bool kw_shortage_check(const kw_account *account, kw_error *ret_error);

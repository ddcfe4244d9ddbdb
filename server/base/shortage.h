/* Refusals of work for an account (base/budget.h): memory is short, or its caller has left. */
#pragma once

#include "base/budget.h"
#include "base/error.h"

/* BUSY with retry_after_ms, and counted. Returns false. */
bool kw_shortage_refuse(kw_error *ret_error);

/* Asked before work is done for an account: false with UNAVAILABLE when its caller has left, and with BUSY
 * when there is no memory for it. NULL: nobody's account, which only lacks memory when everybody does. */
bool kw_shortage_check(const kw_account *account, kw_error *ret_error);

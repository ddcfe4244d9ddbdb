/* The refusal of whoever finds that memory is short (base/budget.h). */
#pragma once

#include "base/error.h"

/* BUSY with retry_after_ms, and counted. Returns false. */
bool kw_shortage_refuse(kw_error *ret_error);

/* Internal to gateway: the plan of an apply, for people. */
#pragma once

#include "gateway/gateway_internal.h"

/* What changes from `old` (NULL: unknown or none) to `fresh`, and why tables are refused, one line each.
 * preview: of `fresh`. refusal: the first reason; KW_OK: nothing is refused. In the arena. */
const char *kw_policy_plan(const kw_policy *old, const kw_policy *fresh, const kw_admission *preview,
                           const kw_error *refusal, kw_arena *arena);

/* The plan of an apply, for people. */
#pragma once

#include "policy/control.h"

typedef struct kw_plan_of_policy {
    const kw_policy *old;        /* NULL: unknown or none */
    const kw_policy *fresh;      /* with the placements of changes of key rules that are under way */
    const kw_policy *final;      /* without them: as it will be when the changes have ended */
    const kw_admission *preview; /* of `fresh` */
    const kw_service *service;   /* has the queries seen lately; NULL: there are none */
    const kw_error *refusal;     /* the first reason; KW_OK: nothing is refused */
    const char *advice;          /* of targets.h; NULL: none */
} kw_plan_of_policy;

/* What changes from `old` to `fresh`, what becomes of the queries seen lately, and why tables are refused,
 * one line each. Sets the text and the copied tables of *ret_applied, in the arena. Can take 200 ms. */
void kw_policy_plan(const kw_plan_of_policy *given, kw_arena *arena, kw_applied *ret_applied);

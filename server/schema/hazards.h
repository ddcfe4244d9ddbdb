/* Hazards are collected here while a policy is compiled; others see them through schema/policy.h. Internal to
 * the module. */
#pragma once

#include "rule/compile.h"
#include "schema/policy.h"

typedef struct kw_hazards {
    kw_arena *arena;
    kw_hazard *items; /* in the arena, doubled as needed */
    size_t count;
    size_t capacity;
} kw_hazards;

void kw_hazards_add(kw_hazards *hazards, const kw_table *table, const kw_path *path, kw_mark mark,
                    const char *hint, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Everything that is wrong in this way with a table that compiled. False: kw_diagnostics_may_go_on. */
bool kw_hazards_find(kw_hazards *hazards, const kw_table *table, kw_diagnostics *diagnostics);

/* Collects hazards while a policy is compiled; other modules read them through schema/policy.h. Private to
 * this module. */
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

/* Finds all hazards of a table; if it has problems (not whole), only those of single key rules that could be
 * compiled. False: see kw_diagnostics_may_continue. */
bool kw_hazards_find(kw_hazards *hazards, const kw_table *table, bool whole, kw_diagnostics *diagnostics);

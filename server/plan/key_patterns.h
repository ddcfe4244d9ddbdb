/* Translates a query's conditions on the later bytes of keys, which the ranges do not cover, into byte
 * patterns (base/pattern.h). A store can filter rows by them. Private to this module.
 *
 *   components   c0       c1       c2        c3        c4
 *                used     stop     wanted    unknown   of text
 *                |-range-|? ? ? ?  | 0 0 0 7 | ? ? ? ?   (of variable width: no pattern continues after it)
 *
 * Patterns pass every row that matches the query. They also pass other rows where a list or a range would
 * need too many patterns.
 */
#pragma once

#include "base/pattern.h"
#include "plan/path_analysis.h"

typedef struct kw_key_patterns {
    const kw_pattern *patterns; /* from the component at `from` on */
    size_t count;               /* 0: no pattern is possible */
    size_t from;
} kw_key_patterns;

kw_key_patterns kw_key_patterns_make(const kw_path_analysis *analysis, const kw_normalized_query *normalized,
                                     kw_arena *arena);

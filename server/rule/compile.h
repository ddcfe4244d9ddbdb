/* From the model of a path to its layout: compiles the components and refuses a rule in which two
 * records could make one key. Inside of the room; others see rule/layout.h. */
#pragma once

#include "rule/component.h"

struct kw_layout {
    const kw_field_set *table;
    const kw_model_path *model;
    const kw_component *const *components;
    size_t count;
    size_t open; /* the component whose end cannot be seen from its own bytes; count when there is none */
    uint32_t tail_width; /* bytes of the components behind it, which all have a fixed width */
    bool has_rest;       /* some component is computed over what follows it */
    uint64_t buckets;
    kw_choice choice;
    int64_t *units; /* per field: the finest unit that the key keeps it to; 0: not in the key */
    const char *
        *grains; /* per field that is kept coarsely: what else the key tells of it, in words; else "" */
    bool *again; /* per component: a clock whose fields the others hold exactly; decode compares it */
    const char *description;
    char fingerprint[65];
};

/* In the arena. NULL after at least one diagnostic. table needs its fields; paths are not read. */
const kw_layout *kw_layout_compile(const kw_field_set *table, const kw_model_path *model, kw_arena *arena,
                                   kw_diagnostics *diagnostics);

/* Does the key hold the field exactly? */
static inline bool
kw_layout_holds(const kw_layout *layout, size_t field)
{
    return layout->units[field] == 1;
}

/* The component whose pieces come again after its period_s, so that records of different rounds share keys;
 * NULL: there is none. */
const kw_component *kw_layout_circular(const kw_layout *layout);

/* The part of a key that each component has, KW_RULE_COMPONENTS_MAX slots. CORRUPT when the key is too short.
 */
bool kw_layout_cut(const kw_layout *layout, kw_bytes key, kw_bytes *pieces, kw_error *ret_error);

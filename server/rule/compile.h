/* Compiles the model of a path to its layout: compiles the components and rejects a rule under which two
 * records could have the same key. Private to this module; other modules use rule/layout.h. */
#pragma once

#include "rule/component.h"
#include "rule/rings.h"

struct kw_layout {
    const kw_field_set *table;
    const kw_model_path *model;
    const kw_component *const *components;
    size_t count;
    size_t open;         /* the component whose end is not marked by its own bytes; count if there is none */
    uint32_t tail_width; /* bytes of the components after it, which all have fixed width */
    bool has_rest;       /* some component is computed over the following ones */
    uint64_t buckets;
    kw_choice choice;
    int64_t *units; /* per field: the finest unit stored in the key; 0: not in the key */
    const char *
        *grains; /* per field stored coarsely: what else the key stores of it, as text; otherwise "" */
    bool *stored_elsewhere; /* per component: a clock whose fields other components store exactly; decode
                    compares its piece */
    const char *description;
    char fingerprint[65];
};

/* In the arena. NULL after at least one diagnostic. table needs its fields; paths are not read. rings NULL:
 * the rings of the layout do not share their points with those of other layouts. */
const kw_layout *kw_layout_compile(const kw_field_set *table, const kw_model_path *model, kw_rings *rings,
                                   kw_arena *arena, kw_diagnostics *diagnostics);

/* True if the key stores the field exactly. */
static inline bool
kw_layout_holds(const kw_layout *layout, size_t field)
{
    return layout->units[field] == 1;
}

/* The component whose pieces repeat after its period_s, so that records of different cycles share keys; NULL:
 * there is none. */
const kw_component *kw_layout_circular(const kw_layout *layout);

/* Splits a key into the pieces of its components, KW_RULE_COMPONENTS_MAX slots. CORRUPT if the key is too
 * short. */
bool kw_layout_cut(const kw_layout *layout, kw_bytes key, kw_bytes *pieces, kw_error *ret_error);

/* The size of the piece of component `index` at the beginning of `rest`; more than rest.size: it is not
 * there.
 */
size_t kw_layout_measure(const kw_layout *layout, size_t index, kw_bytes rest);

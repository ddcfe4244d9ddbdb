#include "change/record.h"

#include <glib.h>
#include <string.h>

size_t
kw_change_paths_count(const kw_change_record *record)
{
    return 1 + record->more_count;
}

const char *
kw_change_path_name(const kw_change_record *record, size_t index)
{
    g_assert(index < kw_change_paths_count(record));
    return index == 0 ? record->path : record->more[index - 1].path;
}

bool
kw_change_has_path(const kw_change_record *record, const char *path)
{
    for (size_t i = 0; i < kw_change_paths_count(record); i++)
        if (g_str_equal(kw_change_path_name(record, i), path))
            return true;
    return false;
}

const kw_change_record *
kw_changes_find(const kw_change_record *records, size_t count, const char *table, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (g_str_equal(records[i].table, table) && kw_change_has_path(&records[i], path))
            return &records[i];
    return NULL;
}

bool
kw_changes_remove(const kw_change_record *records, size_t count, const char *table, const char *path,
                  kw_arena *arena, const kw_change_record **ret_left, size_t *ret_count)
{
    kw_change_record *left = KW_ARENA_ARRAY(arena, kw_change_record, count);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!g_str_equal(records[i].table, table) || (path && !kw_change_has_path(&records[i], path)))
            left[kept++] = records[i];
    *ret_left = left;
    *ret_count = kept;
    return kept < count;
}

static bool
same_rule(const kw_placed_rule *a, const kw_placed_rule *b)
{
    return a->layout == b->layout && g_str_equal(a->store_table, b->store_table);
}

static bool
same_paths(const kw_change_record *a, const kw_change_record *b)
{
    if (a->adds != b->adds || a->drops != b->drops || a->hints != b->hints || a->atomics != b->atomics ||
        a->more_count != b->more_count)
        return false;
    for (size_t i = 0; i < a->more_count; i++)
        if (!g_str_equal(a->more[i].path, b->more[i].path) || !same_rule(&a->more[i].rule, &b->more[i].rule))
            return false;
    return true;
}

static bool
same_change(const kw_change_record *a, const kw_change_record *b)
{
    return same_rule(&a->old, &b->old) && same_rule(&a->old_given, &b->old_given) &&
           a->old_version.number == b->old_version.number &&
           g_str_equal(a->old_version.id, b->old_version.id) && a->new_version == b->new_version &&
           a->place == b->place && a->place_at_ms == b->place_at_ms && a->started_ms == b->started_ms &&
           a->writers == b->writers && a->step == b->step && a->store_order == b->store_order &&
           same_paths(a, b);
}

bool
kw_change_record_differs(const kw_change_record *a, const kw_change_record *b)
{
    if (!a || !b)
        return a != b;
    return !same_rule(&a->given, &b->given) || !same_rule(&a->now, &b->now) || a->under_way != b->under_way ||
           (a->under_way && !same_change(a, b));
}

bool
kw_changes_differ(const kw_change_record *a, size_t a_count, const kw_change_record *b, size_t b_count)
{
    if (a_count != b_count)
        return true;
    for (size_t i = 0; i < a_count; i++)
        if (kw_change_record_differs(&a[i], kw_changes_find(b, b_count, a[i].table, a[i].path)))
            return true;
    return false;
}

/* --- the ladder ----------------------------------------------------------------------------------------- */

static kw_change_ladder
ladder_of_hints(const kw_change_record *record)
{
    if (record->adds)
        return record->store_order ? KW_LADDER_ADD_HINTS : KW_LADDER_ADD_HINTS_STAMP;
    return record->store_order ? KW_LADDER_MOVE_HINTS : KW_LADDER_MOVE_HINTS_STAMP;
}

kw_change_ladder
kw_change_ladder_of(const kw_change_record *record)
{
    bool one = record->writers == KW_CHANGE_ONE_WRITER;
    if (record->atomics)
        return KW_LADDER_ATOMICS;
    if (record->hints && !one)
        return ladder_of_hints(record);
    if (record->adds)
        return one ? KW_LADDER_ADD_ONE_WRITER : KW_LADDER_ADD;
    return one ? KW_LADDER_MOVE_ONE_WRITER : KW_LADDER_MOVE;
}

kw_change_rules
kw_change_rules_of(const kw_change_record *record)
{
    return kw_change_rules_at(kw_change_ladder_of(record), record->place);
}

kw_change_move
kw_change_next_move(const kw_change_record *record, kw_change_direction direction)
{
    return kw_change_move_from(kw_change_ladder_of(record), record->place, direction);
}

/* True if the gone cells of removals must not expire. They expire at places where the change can end with
 * order: stamp (on `alone` and `filled`), because no later sweep would remove the gone cells that
 * removals leave during the last sweep. They also expire during a drop, and while atomic operations become
 * allowed or forbidden: then no rows are copied. */
static bool
keeps_gone(const kw_change_record *record, kw_write_order order)
{
    bool filled = record->place == KW_OLD(FILLED) || record->drops || record->atomics;
    bool end = record->place == KW_OLD(ALONE) || record->place == KW_NEW(ALONE);
    return order == KW_WRITE_ORDER_STAMP && !filled && (record->store_order || !end);
}

kw_regime
kw_change_regime_of(const kw_change_record *record)
{
    kw_regime regime = kw_change_rules_of(record).regime;
    if (!record->adds && !g_str_equal(record->path, "primary"))
        regime.atomics = kw_atomics_of_order(regime.order);
    regime.keeps_gone = keeps_gone(record, regime.order);
    return regime;
}

bool
kw_change_is_cancelled(const kw_change_record *record)
{
    return record->goal <= KW_OLD(ALONE);
}

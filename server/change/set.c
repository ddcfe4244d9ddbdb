#include "change/set.h"

#include "change/merge.h"
#include "change/progress.h"

#include <glib.h>

static bool
has_same_old_rule(const kw_change_record *a, const kw_change_record *b)
{
    return a->under_way && b->under_way && a->old_version.number == b->old_version.number &&
           g_str_equal(a->old_version.id, b->old_version.id);
}

static kw_model *
find_model(const kw_change_set *set, const kw_change_record *record)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (set->old_models[i] && has_same_old_rule(&set->records[i], record))
            return set->old_models[i];
    return NULL;
}

/* Copies the records by printing and parsing them, so that no member is missed. */
static const kw_change_record *
copy_records(const kw_change_record *records, size_t count, kw_arena *arena, size_t *ret_count)
{
    kw_change_record *copies = NULL;
    kw_error error;
    bool good = kw_changes_parse(kw_changes_print(records, count, arena), arena, &copies, ret_count, &error);
    g_assert(good);
    return copies;
}

kw_change_set *
kw_change_set_new(const kw_change_record *records, size_t count, const kw_change_set *before)
{
    kw_change_set *set = g_new0(kw_change_set, 1);
    set->references = 1;
    set->arena = kw_arena_new();
    set->records = copy_records(records, count, set->arena, &set->count);
    set->old_models = KW_ARENA_ARRAY(set->arena, kw_model *, set->count);
    for (size_t i = 0; i < set->count; i++) {
        kw_model *model = find_model(before, &set->records[i]);
        set->old_models[i] = model ? kw_model_ref(model) : NULL;
    }
    return set;
}

static const kw_change_record *
find_same(const kw_change_set *set, const kw_change_record *record)
{
    return set ? kw_changes_find(set->records, set->count, record->table, record->path) : NULL;
}

kw_change_set *
kw_change_set_merge(const kw_change_set *base, const kw_change_set *mine, const kw_change_set *theirs)
{
    g_autofree kw_change_record *records = g_new(kw_change_record, theirs->count + 1);
    for (size_t i = 0; i < theirs->count; i++) {
        const kw_change_record *each = &theirs->records[i];
        records[i] = kw_change_merge(find_same(base, each), find_same(mine, each), each);
    }
    return kw_change_set_new(records, theirs->count, theirs);
}

static bool
is_changed(const kw_change_record *before, const kw_change_record *after)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    return !before || !kw_bytes_equal(kw_changes_print(before, 1, arena), kw_changes_print(after, 1, arena));
}

kw_change_set *
kw_change_set_with_step(const kw_change_set *present, const kw_change_set *before, const kw_change_set *after)
{
    g_autofree kw_change_record *records = g_new(kw_change_record, after->count + 1);
    for (size_t i = 0; i < after->count; i++) {
        const kw_change_record *each = &after->records[i], *own = find_same(present, each);
        records[i] = own && !is_changed(find_same(before, each), each) ? *own : *each;
    }
    return kw_change_set_new(records, after->count, after);
}

bool
kw_change_set_differs(const kw_change_set *a, const kw_change_set *b)
{
    return kw_changes_differ(a->records, a->count, b->records, b->count);
}

bool
kw_change_set_has_step(const kw_change_set *set, const kw_change_record *record)
{
    const kw_change_record *same = find_same(set, record);
    return same && same->under_way && same->started_ms == record->started_ms && same->step == record->step;
}

static bool
has_several_writers(const kw_change_record *record)
{
    return record->under_way && record->writers == KW_CHANGE_SEVERAL_WRITERS;
}

bool
kw_change_set_has_several_writers(const kw_change_set *set)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (has_several_writers(&set->records[i]))
            return true;
    return false;
}

static bool
has_other_goal(const kw_change_record *record, const kw_change_record *before)
{
    return !before || !has_several_writers(before) ||
           kw_change_goal_place(record) != kw_change_goal_place(before);
}

bool
kw_change_set_expects_step(const kw_change_set *set, const kw_change_set *before)
{
    for (size_t i = 0; i < set->count; i++) {
        const kw_change_record *each = &set->records[i], *earlier = find_same(before, each);
        if (has_several_writers(each) && !kw_change_waits_for_switch(each) &&
            (kw_change_record_differs(each, earlier) || has_other_goal(each, earlier)))
            return true;
    }
    return false;
}

bool
kw_change_set_waits_for_switch(const kw_change_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (has_several_writers(&set->records[i]) && !kw_change_waits_for_switch(&set->records[i]))
            return false;
    return true;
}

static bool
is_needed(const kw_change_record *record)
{
    return record->under_way || record->given.layout != record->now.layout ||
           !g_str_equal(record->given.store_table, record->now.store_table);
}

kw_change_set *
kw_change_set_replace(const kw_change_set *set, const kw_change_record *record)
{
    g_autofree kw_change_record *records = g_new(kw_change_record, set->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        const kw_change_record *each = &set->records[i];
        bool same = g_str_equal(each->table, record->table) && g_str_equal(each->path, record->path);
        if (!same || is_needed(record))
            records[count++] = same ? *record : *each;
    }
    return kw_change_set_new(records, count, set);
}

kw_change_set *
kw_change_set_ref(kw_change_set *set)
{
    set->references++;
    return set;
}

void
kw_change_set_unref(kw_change_set *set)
{
    if (!set || --set->references > 0)
        return;
    for (size_t i = 0; i < set->count; i++)
        if (set->old_models[i])
            kw_model_unref(set->old_models[i]);
    kw_arena_free(set->arena);
    g_free(set);
}

size_t
kw_change_set_find_missing(const kw_change_set *set)
{
    size_t index = 0;
    while (index < set->count && (!set->records[index].under_way || set->old_models[index]))
        index++;
    return index;
}

void
kw_change_set_add_model(kw_change_set *set, size_t index, kw_model *old_model)
{
    g_assert(index < set->count);
    for (size_t i = index; i < set->count; i++)
        if (!set->old_models[i] && has_same_old_rule(&set->records[i], &set->records[index]))
            set->old_models[i] = kw_model_ref(old_model);
}

size_t
kw_change_set_find_under_way(const kw_change_set *set, const char *table)
{
    size_t index = 0;
    while (index < set->count &&
           !(set->records[index].under_way && g_str_equal(set->records[index].table, table)))
        index++;
    return index;
}

void
kw_change_cancel_record(kw_change_record *record)
{
    record->under_way = false;
    record->atomics = false;
    if (record->adds)
        return;
    record->given = record->old_given;
    record->now = record->old;
}

static kw_table_change
change_of(const kw_change_record *record)
{
    if (record->atomics)
        return KW_TABLE_TURNS_ATOMICS;
    if (record->adds)
        return record->drops ? KW_TABLE_DROPS : KW_TABLE_ADDS;
    return KW_TABLE_MOVES;
}

/* The gateways agree on a regime only if there are several of them; ret_regime is used only then. */
static kw_placing
placing_of(const kw_change_record *record, kw_model *old_model, kw_regime *ret_regime)
{
    kw_placing placing = {
        .table = record->table, .path = record->path, .given = record->given, .now = record->now};
    if (!record->under_way)
        return placing;
    kw_change_rules rules = kw_change_rules_of(record);
    *ret_regime = kw_change_regime_of(record);
    placing.change = change_of(record);
    placing.regime = record->writers == KW_CHANGE_SEVERAL_WRITERS && !record->hints ? ret_regime : NULL;
    placing.old_model = old_model;
    placing.old = record->old;
    placing.role = rules.new_role;
    placing.old_role = rules.old_role;
    placing.both_complete = rules.both_complete;
    return placing;
}

/* The placing of another path that is added or dropped together with the first one. */
static kw_placing
placing_of_more(const kw_placing *first, const kw_added_path *path)
{
    kw_placing placing = *first;
    placing.path = path->path;
    placing.given = placing.now = path->rule;
    return placing;
}

kw_policy *
kw_change_set_compile(const kw_change_set *set, kw_model *model, kw_diagnostics *diagnostics)
{
    size_t most = 1, count = 0;
    for (size_t i = 0; i < set->count; i++)
        most += kw_change_paths_count(&set->records[i]);
    g_autofree kw_placing *placings = g_new0(kw_placing, most);
    g_autofree kw_regime *regimes = g_new0(kw_regime, set->count + 1);
    for (size_t i = 0; i < set->count; i++) {
        const kw_change_record *record = &set->records[i];
        const kw_placing *first = &placings[count];
        placings[count++] = placing_of(record, set->old_models[i], &regimes[i]);
        for (size_t path = 0; path < record->more_count; path++)
            placings[count++] = placing_of_more(first, &record->more[path]);
    }
    return kw_policy_new_placed(model, placings, count, diagnostics);
}

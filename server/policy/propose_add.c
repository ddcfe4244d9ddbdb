/* A path that is added has the layout number and the store table of the policy's text. Its rows are copied
 * from the primary path. */
#include "policy/propose_add.h"

#include "policy/propose_drop.h"

#include "base/clock.h"
#include "catalog/compare.h"

#include <glib.h>

static const kw_placement_facts *
recorded_placement(const kw_change_proposal *proposal, const kw_table *table, const char *path)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    const kw_path_facts *recorded = facts ? kw_facts_find_path(facts, path) : NULL;
    return recorded ? kw_path_facts_serving(recorded) : NULL;
}

static bool
has_rule_of(const kw_path *path, const kw_placement_facts *recorded)
{
    return recorded->layout == kw_layout_number(path->layout) &&
           g_str_equal(recorded->fingerprint, kw_layout_fingerprint(path->layout));
}

/* Hint paths can be added to a table that has some; with several writers, other paths cannot. Unique paths
 * cannot be added to a table with rows. */
static bool
can_add(const kw_change_proposal *proposal, const kw_path *path)
{
    if (path->unique)
        return false;
    return path->content == KW_CONTENT_HINTS ||
           !kw_facts_find_hints(kw_admission_recorded(proposal->preview, path->table->number)) ||
           kw_change_is_free(proposal, path->table, path);
}

size_t
kw_change_list_added(const kw_change_proposal *proposal, const kw_table *table, const kw_path **ret_paths)
{
    size_t count = 0;
    if (!recorded_placement(proposal, table, table->paths->name))
        return 0;
    for (size_t i = 0; i < table->queried_paths_count; i++) {
        const kw_path *path = &table->paths[i];
        const kw_placement_facts *recorded = recorded_placement(proposal, table, path->name);
        if (!recorded && !can_add(proposal, path))
            return 0;
        if (!recorded)
            ret_paths[count++] = path;
        else if (!has_rule_of(path, recorded))
            return 0;
    }
    return count;
}

size_t
kw_change_count_added(const kw_change_proposal *proposal, const kw_table *table)
{
    g_autofree const kw_path **added = g_new(const kw_path *, table->queried_paths_count);
    return kw_change_list_added(proposal, table, added);
}

static bool
is_shared(const kw_change_proposal *proposal)
{
    return proposal->writers == KW_CHANGE_SEVERAL_WRITERS;
}

/* The change of the table that is under way; NULL: none. */
const kw_change_record *
kw_change_find_under_way(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_change_set *changes = proposal->changes;
    size_t index = kw_change_set_find_under_way(changes, table->name);
    return index < changes->count ? &changes->records[index] : NULL;
}

/* --- atomic operations ----------------------------------------------------------------------------- */

/* True if the policy and the rows differ in whether increments and conditional writes are allowed. The
 * places of the change cannot turn them on or off (catalog/compare_change.h). */
static bool
changes_atomics(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    int given = table->model->atomics;
    return is_shared(proposal) && given >= 0 && given != facts->atomics;
}

static void
explain_atomics(const kw_table *table, kw_error *ret_reason)
{
    bool given = table->model->atomics;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: its rows were written with atomics: %s, and this policy has atomics: %s; a policy "
        "that adds a path cannot change this: leave atomics out",
        table->name, given ? "false" : "true", given ? "true" : "false");
}

/* --- proposals ----------------------------------------------------------------------------------------- */

static kw_placed_rule
rule_of(const kw_path *path)
{
    return (kw_placed_rule){kw_layout_number(path->layout), kw_layout_store_table(path->layout)};
}

/* Sets what depends on the number of writers: the order of writes that the table has, the first place, the
 * step and the holder. */
static void
set_writers(const kw_change_proposal *proposal, const kw_table *table, kw_change_record *record)
{
    record->place = KW_OLD(BOTH);
    record->writers = KW_CHANGE_ONE_WRITER;
    if (!is_shared(proposal))
        return;
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    record->writers = KW_CHANGE_SEVERAL_WRITERS;
    record->store_order = g_str_equal(facts->order, "store");
    record->place = kw_change_first_place(record->store_order);
    record->step = 1;
    record->holder = proposal->holder;
}

static kw_change_record
begin(const kw_change_proposal *proposal, const kw_path *const *paths, size_t count, kw_arena *arena)
{
    const kw_table *table = paths[0]->table;
    const kw_placement_facts *from = recorded_placement(proposal, table, table->paths->name);
    const kw_placed_rule source = {from->layout, from->store_table};
    kw_version_name current = *kw_admission_version(proposal->preview);
    int64_t now_ms = kw_clock_wall_ms();
    kw_added_path *more = KW_ARENA_ARRAY(arena, kw_added_path, count);
    for (size_t i = 1; i < count; i++)
        more[i - 1] = (kw_added_path){paths[i]->name, rule_of(paths[i])};
    kw_change_record record = {.table = table->name,
                               .path = paths[0]->name,
                               .given = rule_of(paths[0]),
                               .now = rule_of(paths[0]),
                               .under_way = true,
                               .old = source,
                               .old_given = source,
                               .old_version = current,
                               .new_version = current.number + 1,
                               .adds = true,
                               .more = more,
                               .more_count = count - 1,
                               .holder = "",
                               .place_at_ms = now_ms,
                               .started_ms = now_ms,
                               .author = proposal->author,
                               .reason = proposal->reason,
                               .example = ""};
    set_writers(proposal, table, &record);
    record.hints = paths[0]->content == KW_CONTENT_HINTS;
    record.goal = kw_change_copy_place(kw_change_ladder_of(&record));
    return record;
}

void
kw_change_append(const kw_change_record *record, kw_change_record *records, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (!g_str_equal(records[i].table, record->table) || !kw_change_has_path(record, records[i].path))
            records[kept++] = records[i];
    records[kept] = *record;
    *count = kept + 1;
}

/* The places of a change that adds hint paths are others than those that add paths with records. */
static bool
are_alike(const kw_path *const *paths, size_t count)
{
    bool alike = true;
    for (size_t i = 1; alike && i < count; i++)
        alike = paths[i]->content == paths[0]->content;
    return alike;
}

bool
kw_change_propose_paths(const kw_change_proposal *proposal, const kw_table *table, kw_change_record *records,
                        size_t *count, kw_arena *arena)
{
    g_autofree const kw_path **added = g_new(const kw_path *, table->queried_paths_count);
    size_t added_count = kw_change_list_added(proposal, table, added);
    if (added_count == 0 || added_count > KW_CHANGE_PATHS_MAX || kw_change_find_under_way(proposal, table) ||
        kw_change_missing_statement(proposal) || changes_atomics(proposal, table))
        return false;
    if (!are_alike(added, added_count))
        return false;
    kw_change_record record = begin(proposal, added, added_count, arena);
    kw_change_append(&record, records, count);
    return true;
}

/* --- refusals ------------------------------------------------------------------------------------------ */

/* A change that is under way must end first. */
static bool
explain_other(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    const kw_change_record *other = kw_change_find_under_way(proposal, table);
    g_autofree const kw_path **added = g_new(const kw_path *, table->queried_paths_count);
    size_t count = kw_change_list_added(proposal, table, added);
    if (!other || (count ? kw_change_has_path(other, added[0]->name) : !other->adds))
        return false;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: a change of its path %s is under way; add another path, or change a key rule, after "
        "it has ended (keyway change status %s)",
        table->name, other->path, table->name);
    return true;
}

bool
kw_change_explain_paths(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    g_autofree const kw_path **added = g_new(const kw_path *, table->queried_paths_count);
    size_t count = kw_change_list_added(proposal, table, added);
    const char *missing = kw_change_missing_statement(proposal);
    if (explain_other(proposal, table, ret_reason))
        return true;
    if (count == 0)
        return false;
    if (count > KW_CHANGE_PATHS_MAX)
        kw_error_set(ret_reason, KW_REFUSED,
                     "table %s: this policy adds %zu paths; at most %d can be added at once", table->name,
                     count, KW_CHANGE_PATHS_MAX);
    else if (!are_alike(added, count))
        kw_error_set(
            ret_reason, KW_REFUSED,
            "table %s: this policy adds paths over fields that can change and other paths; add them one "
            "after the other",
            table->name);
    else if (changes_atomics(proposal, table))
        explain_atomics(table, ret_reason);
    else if (missing)
        kw_error_set(ret_reason, KW_REFUSED,
                     "table %s, path %s: the path can be added while the table is served, but %s",
                     table->name, added[0]->name, missing);
    else
        return false;
    return true;
}

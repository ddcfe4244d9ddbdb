/* A path that is dropped keeps its placement until no gateway reads it and no call writes it: the places
 * are those of a cancelled addition, from the one on at which its rows, or hints, are copied. */
#include "policy/propose_drop.h"

#include "policy/propose_add.h"

#include "base/clock.h"

#include <glib.h>

/* True if the policy has the path as the catalog does. */
static bool
has_recorded(const kw_table *table, const kw_path_facts *recorded)
{
    int index = kw_table_find_path(table, kw_bytes_of_text(recorded->name));
    const kw_placement_facts *serving = kw_path_facts_serving(recorded);
    const kw_layout *layout = index >= 0 ? table->paths[index].layout : NULL;
    return layout && serving->layout == kw_layout_number(layout) &&
           g_str_equal(serving->fingerprint, kw_layout_fingerprint(layout));
}

static bool
is_recorded(const kw_facts *facts, const kw_path *path)
{
    const kw_path_facts *recorded = kw_facts_find_path(facts, path->name);
    return recorded && kw_path_facts_serving(recorded);
}

/* Lists the paths that the catalog has and the policy does not, if all others are the same. */
static size_t
list_dropped(const kw_change_proposal *proposal, const kw_table *table, const kw_path_facts **ret_paths)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    size_t count = 0;
    for (size_t i = 0; facts && i < facts->paths_count; i++) {
        const kw_path_facts *recorded = &facts->paths[i];
        if (!kw_path_facts_serving(recorded))
            continue;
        if (kw_table_find_path(table, kw_bytes_of_text(recorded->name)) < 0 && !recorded->association &&
            i > 0)
            ret_paths[count++] = recorded;
        else if (!has_recorded(table, recorded))
            return 0;
    }
    for (size_t i = 0; i < table->paths_count; i++)
        if (!facts || !is_recorded(facts, &table->paths[i]))
            return 0;
    return count;
}

/* Paths with records and hint paths are dropped by different changes. With several writers, a path with
 * records cannot be dropped beside hint paths. */
static bool
are_alike(const kw_change_proposal *proposal, const kw_table *table, const kw_path_facts *const *paths,
          size_t count)
{
    bool alike = count == 0 || paths[0]->hints || kw_change_is_free(proposal, table, NULL);
    for (size_t i = 1; alike && i < count; i++)
        alike = paths[i]->hints == paths[0]->hints;
    return alike;
}

static bool
keeps_atomics(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    int given = table->model->atomics;
    return facts && (given < 0 || given == facts->atomics);
}

/* Paths with chosen buckets, and those of a store with one writer, are dropped while no call runs. */
static bool
can_drop(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_table *old = kw_policy_find_table(proposal->old, kw_bytes_of_text(table->name));
    return proposal->writers == KW_CHANGE_SEVERAL_WRITERS && old && !old->chosen && !table->chosen &&
           kw_change_keeps_order(proposal, table) && keeps_atomics(proposal, table) &&
           kw_change_set_find_under_way(proposal->changes, table->name) == proposal->changes->count;
}

/* The paths to drop, with an array in the arena. */
static size_t
find_dropped(const kw_change_proposal *proposal, const kw_table *table, kw_arena *arena,
             const kw_path_facts ***ret_paths)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    *ret_paths = KW_ARENA_ARRAY(arena, const kw_path_facts *, facts ? facts->paths_count : 0);
    size_t count = can_drop(proposal, table) ? list_dropped(proposal, table, *ret_paths) : 0;
    return count <= KW_CHANGE_PATHS_MAX && are_alike(proposal, table, *ret_paths, count) ? count : 0;
}

size_t
kw_change_count_dropped(const kw_change_proposal *proposal, const kw_table *table)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    const kw_path_facts **paths;
    return find_dropped(proposal, table, arena, &paths);
}

static kw_placed_rule
rule_of(const kw_path_facts *path)
{
    const kw_placement_facts *serving = kw_path_facts_serving(path);
    return (kw_placed_rule){serving->layout, serving->store_table};
}

static kw_change_record
begin(const kw_change_proposal *proposal, const kw_table *table, const kw_path_facts *const *paths,
      size_t count, kw_arena *arena)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
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
                               .old = rule_of(&facts->paths[0]),
                               .old_given = rule_of(&facts->paths[0]),
                               .old_version = current,
                               .new_version = current.number + 1,
                               .adds = true,
                               .drops = true,
                               .hints = paths[0]->hints,
                               .more = more,
                               .more_count = count - 1,
                               .writers = KW_CHANGE_SEVERAL_WRITERS,
                               .step = 1,
                               .store_order = g_str_equal(facts->order, "store"),
                               .holder = proposal->holder,
                               .place_at_ms = now_ms,
                               .started_ms = now_ms,
                               .author = proposal->author,
                               .reason = proposal->reason,
                               .example = ""};
    record.place = kw_change_copy_place(kw_change_ladder_of(&record));
    record.goal = kw_change_first_place(record.store_order);
    return record;
}

bool
kw_change_propose_drop(const kw_change_proposal *proposal, const kw_table *table, kw_change_record *records,
                       size_t *count, kw_arena *arena)
{
    const kw_path_facts **paths;
    size_t dropped = find_dropped(proposal, table, arena, &paths);
    if (dropped == 0)
        return false;
    kw_change_record record = begin(proposal, table, paths, dropped, arena);
    kw_change_append(&record, records, count);
    return true;
}

/* A path that is added has the layout number and the store table of the policy's text. Its rows are copied
 * from the primary path. */
#include "gateway/change_add.h"

#include "base/clock.h"

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

/* Lists the paths that the catalog does not have, and returns their number. SIZE_MAX: the key rule of another
 * path changes, too. */
static size_t
list_added(const kw_change_proposal *proposal, const kw_table *table, const kw_path **ret_paths)
{
    size_t count = 0;
    for (size_t i = 0; i < table->paths_count; i++) {
        const kw_path *path = &table->paths[i];
        const kw_placement_facts *recorded = recorded_placement(proposal, table, path->name);
        if (!recorded)
            ret_paths[count++] = path;
        else if (!has_rule_of(path, recorded))
            return SIZE_MAX;
    }
    return count;
}

const kw_path *
kw_change_find_added(const kw_change_proposal *proposal, const kw_table *table)
{
    g_autofree const kw_path **added = g_new(const kw_path *, table->paths_count);
    size_t count = list_added(proposal, table, added);
    return count == 1 && added[0] != table->paths ? added[0] : NULL;
}

static bool
is_changing(const kw_change_proposal *proposal, const kw_table *table)
{
    return kw_change_set_find_under_way(proposal->changes, table->name) < proposal->changes->count;
}

static kw_change_record
begin(const kw_change_proposal *proposal, const kw_path *path)
{
    const kw_path *primary = path->table->paths;
    const kw_placement_facts *from = recorded_placement(proposal, path->table, primary->name);
    const kw_placed_rule placed = {kw_layout_number(path->layout), kw_layout_store_table(path->layout)};
    const kw_placed_rule source = {from->layout, from->store_table};
    kw_version_name current = *kw_admission_version(proposal->preview);
    int64_t now_ms = kw_clock_wall_ms();
    return (kw_change_record){.table = path->table->name,
                              .path = path->name,
                              .given = placed,
                              .now = placed,
                              .under_way = true,
                              .old = source,
                              .old_given = source,
                              .old_version = current,
                              .new_version = current.number + 1,
                              .version = KW_CHAIN_FILLING,
                              .writers = KW_CHANGE_ONE_WRITER,
                              .holder = "",
                              .version_at_ms = now_ms,
                              .started_ms = now_ms,
                              .author = proposal->author,
                              .reason = proposal->reason,
                              .example = ""};
}

bool
kw_change_propose_path(const kw_change_proposal *proposal, const kw_table *table, kw_change_record *records,
                       size_t *count)
{
    const kw_path *path = kw_change_find_added(proposal, table);
    if (!path || is_changing(proposal, table) || proposal->writers != KW_CHANGE_ONE_WRITER)
        return false;
    size_t index = 0;
    while (index < *count &&
           !(g_str_equal(records[index].table, table->name) && g_str_equal(records[index].path, path->name)))
        index++;
    records[index] = begin(proposal, path);
    *count = MAX(*count, index + 1);
    return true;
}

/* --- refusals ------------------------------------------------------------------------------------------ */

static bool
explain_several(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    g_autofree const kw_path **added = g_new(const kw_path *, table->paths_count);
    size_t count = list_added(proposal, table, added);
    if (count == SIZE_MAX || count < 2)
        return false;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: this policy adds paths %s and %s%s; the table has rows, so add one path at a time",
        table->name, added[0]->name, added[1]->name, count > 2 ? " and others" : "");
    return true;
}

/* True if another change of the table is under way, which must end first. */
static bool
explain_other(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    size_t index = kw_change_set_find_under_way(proposal->changes, table->name);
    const kw_change_record *other =
        index < proposal->changes->count ? &proposal->changes->records[index] : NULL;
    const kw_path *added = kw_change_find_added(proposal, table);
    if (!other || (added ? g_str_equal(added->name, other->path) : !kw_chain_adds_path(other->version)))
        return false;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: a change of its path %s is under way; add another path, or change a key rule, after "
        "it has ended (keyway change status %s)",
        table->name, other->path, table->name);
    return true;
}

bool
kw_change_explain_path(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    const kw_path *path = kw_change_find_added(proposal, table);
    if (explain_other(proposal, table, ret_reason) || explain_several(proposal, table, ret_reason))
        return true;
    if (!path || proposal->writers == KW_CHANGE_ONE_WRITER)
        return false;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s, path %s: the table holds rows already, and a path can be added to such a table only "
        "in a store that one gateway writes (store.kind: embedded); leave the path out, or copy the "
        "rows to a new table that has it: keyway scan %s --full-scan -o jsonl, then keyway import",
        table->name, path->name, table->name);
    return true;
}

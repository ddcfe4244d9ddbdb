/* A path's new placement gets a layout number above all that the catalog has for the path, and a store table
 * whose name ends with this number, unless the policy gives both. */
#include "policy/propose.h"

#include "policy/propose_add.h"
#include "policy/propose_atomics.h"
#include "policy/propose_drop.h"

#include "base/clock.h"
#include "catalog/compare.h"

#include <glib.h>
#include <string.h>

/* The path in the text of the policy; NULL: the text does not have it. */
static const kw_model_path *
find_model_path(const kw_policy *policy, const char *table, const char *path)
{
    const kw_model *model = kw_policy_model(policy);
    for (size_t i = 0; i < model->tables_count; i++) {
        if (!g_str_equal(model->tables[i].name, table))
            continue;
        for (size_t j = 0; j < model->tables[i].paths_count; j++)
            if (g_str_equal(model->tables[i].paths[j].name, path))
                return &model->tables[i].paths[j];
    }
    return NULL;
}

static kw_placed_rule
rule_of_model(const kw_model_path *path)
{
    return (kw_placed_rule){.layout = (uint32_t)path->layout, .store_table = path->store_table};
}

static const kw_placement_facts *
recorded_placement(const kw_admission *preview, const kw_path *path)
{
    const kw_facts *facts = kw_admission_recorded(preview, path->table->number);
    const kw_path_facts *recorded = facts ? kw_facts_find_path(facts, path->name) : NULL;
    return recorded ? kw_path_facts_serving(recorded) : NULL;
}

/* The first path, at or after `from`, whose key rule differs from that in the catalog; NULL: there is none.
 */
static const kw_path *
next_changed_path(const kw_admission *preview, const kw_table *table, size_t from)
{
    for (size_t i = from; i < table->queried_paths_count; i++) {
        const kw_path *path = &table->paths[i];
        const kw_placement_facts *recorded = recorded_placement(preview, path);
        if (recorded && (!g_str_equal(recorded->fingerprint, kw_layout_fingerprint(path->layout)) ||
                         recorded->layout != kw_layout_number(path->layout)))
            return path;
    }
    return NULL;
}

static size_t
after_path(const kw_path *path)
{
    return (size_t)(path - path->table->paths) + 1;
}

/* The path whose key rule differs from that in the catalog. NULL: there is none, there are several, or the
 * table has a new path. */
static const kw_path *
find_changed_path(const kw_change_proposal *proposal, const kw_table *table)
{
    for (size_t i = 0; i < table->queried_paths_count; i++)
        if (!recorded_placement(proposal->preview, &table->paths[i]))
            return NULL;
    const kw_path *changed = next_changed_path(proposal->preview, table, 0);
    return changed && next_changed_path(proposal->preview, table, after_path(changed)) ? NULL : changed;
}

static uint32_t
next_layout(const kw_change_proposal *proposal, const kw_path *path, uint32_t given)
{
    uint32_t highest = given;
    const kw_facts *facts = kw_admission_recorded(proposal->preview, path->table->number);
    const kw_path_facts *recorded = kw_facts_find_path(facts, path->name);
    for (size_t i = 0; i < recorded->placements_count; i++)
        highest = MAX(highest, recorded->placements[i].layout);
    return highest + 1;
}

/* Leaves out the ending that an earlier change gave to the name. */
static const char *
without_layout(kw_placed_rule given, kw_arena *arena)
{
    const char *ending = kw_arena_printf(arena, "_L%u", given.layout);
    size_t size = strlen(given.store_table), cut = strlen(ending);
    bool ends = g_str_has_suffix(given.store_table, ending) && size > cut;
    return ends ? kw_arena_text(arena, kw_bytes_of(given.store_table, size - cut)) : given.store_table;
}

static kw_placed_rule
place(const kw_change_proposal *proposal, const kw_path *path, kw_placed_rule given,
      const kw_placement_facts *old, kw_arena *arena)
{
    kw_placed_rule placed = given;
    bool moves = !g_str_equal(given.store_table, old->store_table) && given.layout != old->layout &&
                 given.layout == kw_layout_number(path->layout);
    if (moves)
        return placed;
    placed.layout = next_layout(proposal, path, given.layout);
    placed.store_table = kw_arena_printf(arena, "%s_L%u", without_layout(given, arena), placed.layout);
    return placed;
}

/* True if the store sets the timestamps of the table's cells. */
static bool
is_store_ordered(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_facts *facts = kw_admission_recorded(proposal->preview, table->number);
    return g_str_equal(facts->order, "store");
}

static kw_change_record
begin(const kw_change_proposal *proposal, const kw_path *path, const kw_placement_facts *old, kw_arena *arena)
{
    const char *table = path->table->name;
    kw_version_name current = *kw_admission_version(proposal->preview);
    kw_placed_rule given = rule_of_model(find_model_path(proposal->fresh, table, path->name));
    const kw_model_path *before = find_model_path(proposal->old, table, path->name);
    int64_t now_ms = kw_clock_wall_ms();
    bool store_order = is_store_ordered(proposal, path->table);
    bool one = proposal->writers == KW_CHANGE_ONE_WRITER;
    return (kw_change_record){.table = table,
                              .path = path->name,
                              .given = given,
                              .now = place(proposal, path, given, old, arena),
                              .under_way = true,
                              .old = {.layout = old->layout, .store_table = old->store_table},
                              .old_given = rule_of_model(before),
                              .old_version = current,
                              .new_version = current.number + 1,
                              .place = one ? KW_OLD(BOTH) : kw_change_first_place(store_order),
                              .writers = proposal->writers,
                              .step = 1,
                              .goal = KW_OLD(BOTH),
                              .holder = proposal->holder,
                              .store_order = store_order,
                              .place_at_ms = now_ms,
                              .started_ms = now_ms,
                              .author = proposal->author,
                              .reason = proposal->reason,
                              .example = ""};
}

/* True if the path has the key rule from before the change again. */
static bool
has_old_rule(const kw_change_proposal *proposal, const kw_path *path, const kw_change_record *record)
{
    const kw_table *table = kw_policy_find_table(proposal->old, kw_bytes_of_text(record->table));
    int index = table ? kw_table_find_path(table, kw_bytes_of_text(record->path)) : -1;
    if (index < 0 || !g_str_equal(path->name, record->path))
        return false;
    const kw_path *served = &table->paths[index];
    return served->placements_count == 2 && g_str_equal(kw_layout_fingerprint(served->placements[1].layout),
                                                        kw_layout_fingerprint(path->layout));
}

/* --- what the operator must state ---------------------------------------------------------------------- */

const char *
kw_change_missing_late(const kw_change_proposal *proposal)
{
    return proposal->writers == KW_CHANGE_ONE_WRITER || proposal->late_given
               ? NULL
               : "store.late is not set in the file of this gateway: set it, in all gateways, to "
                 "hbase.client.operation.timeout of the Thrift2 servers plus a margin";
}

const char *
kw_change_missing_statement(const kw_change_proposal *proposal)
{
    if (proposal->writers == KW_CHANGE_ONE_WRITER)
        return NULL;
    if (kw_change_missing_late(proposal))
        return kw_change_missing_late(proposal);
    if (!proposal->only_writer)
        return "if another program writes its store tables, its rows would be lost; if only gateways write "
               "them "
               "until the change has ended, say so (--only-writer)";
    return NULL;
}

/* True if the table keeps its order of writes. A policy can name another order while the table is empty, but
 * the ladder of a change begins with the order that the catalog has. */
bool
kw_change_keeps_order(const kw_change_proposal *proposal, const kw_table *table)
{
    bool store = kw_table_default_order(table) == KW_WRITE_ORDER_STORE;
    return !table->model->order || store == is_store_ordered(proposal, table);
}

static bool
has_hints(const kw_change_proposal *proposal, const kw_table *table)
{
    return table->hint_paths_count > 0 ||
           kw_facts_find_hints(kw_admission_recorded(proposal->preview, table->number));
}

bool
kw_change_is_free(const kw_change_proposal *proposal, const kw_table *table, const kw_path *path)
{
    if (!has_hints(proposal, table))
        return true;
    return proposal->writers == KW_CHANGE_ONE_WRITER && path && path != table->paths &&
           path->content != KW_CONTENT_HINTS;
}

/* The path whose key rule can be changed to that of the policy; NULL: there is none. */
static const kw_path *
find_path_to_change(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_path *path = find_changed_path(proposal, table);
    bool known = path && find_model_path(proposal->old, table->name, path->name) &&
                 kw_change_is_free(proposal, table, path);
    return known && kw_change_keeps_order(proposal, table) && !kw_change_turns_atomics(proposal, table)
               ? path
               : NULL;
}

/* --- proposals ----------------------------------------------------------------------------------------- */

/* Changes or appends the record of the table's change. False: no key rule of the table changes, or it cannot
 * be changed. */
static bool
propose_table(const kw_change_proposal *proposal, const kw_table *table, kw_change_record *records,
              size_t *count, kw_arena *arena)
{
    const kw_path *path = find_path_to_change(proposal, table);
    if (!path)
        return false;
    size_t under_way = kw_change_set_find_under_way(proposal->changes, table->name);
    if (under_way < proposal->changes->count) {
        if (proposal->writers != KW_CHANGE_ONE_WRITER || records[under_way].place != KW_OLD(BOTH) ||
            !has_old_rule(proposal, path, &records[under_way]))
            return false;
        kw_change_cancel_record(&records[under_way]);
        records[under_way].given = rule_of_model(find_model_path(proposal->fresh, table->name, path->name));
        return true;
    }
    if (kw_change_missing_statement(proposal))
        return false;
    size_t index = 0;
    while (index < *count &&
           !(g_str_equal(records[index].table, table->name) && g_str_equal(records[index].path, path->name)))
        index++;
    records[index] = begin(proposal, path, recorded_placement(proposal->preview, path), arena);
    *count = MAX(*count, index + 1);
    return true;
}

static bool
propose(const kw_change_proposal *proposal, const kw_table *table, kw_change_record *records, size_t *count,
        kw_arena *arena)
{
    return propose_table(proposal, table, records, count, arena) ||
           kw_change_propose_paths(proposal, table, records, count, arena) ||
           kw_change_propose_drop(proposal, table, records, count, arena) ||
           kw_change_propose_atomics(proposal, table, records, count);
}

/* True if the policy can serve the table only with a change. Without rows a table can get another key rule at
 * once, but not while other gateways serve it under the old one. */
static bool
needs_change(const kw_change_proposal *proposal, size_t table)
{
    return kw_admission_refusal(proposal->preview, table) ||
           (proposal->writers == KW_CHANGE_SEVERAL_WRITERS && kw_admission_conflict(proposal->preview));
}

/* Counts the tables for which the policy would begin a change. */
static size_t
count_begins(const kw_change_proposal *proposal)
{
    size_t count = 0;
    for (size_t i = 0; i < kw_policy_table_count(proposal->fresh); i++) {
        const kw_table *table = kw_policy_table(proposal->fresh, i);
        bool begins =
            kw_change_set_find_under_way(proposal->changes, table->name) == proposal->changes->count;
        count += begins && needs_change(proposal, i) &&
                 (find_path_to_change(proposal, table) || kw_change_count_added(proposal, table) ||
                  kw_change_count_dropped(proposal, table) || kw_change_can_turn_atomics(proposal, table));
    }
    return count;
}

/* True if the policy would begin changes of several tables in a store with several writers. Cancelling one of
 * these changes would make the text of the policy version before them current again, and that text would take
 * back the changes of the other tables. */
static bool
has_too_many(const kw_change_proposal *proposal)
{
    return proposal->writers == KW_CHANGE_SEVERAL_WRITERS && count_begins(proposal) > 1;
}

kw_change_set *
kw_change_propose(const kw_change_proposal *proposal)
{
    if (has_too_many(proposal))
        return NULL;
    size_t tables = kw_policy_table_count(proposal->fresh), count = proposal->changes->count;
    g_autofree kw_change_record *records = g_new0(kw_change_record, count + tables + 1);
    kw_arena *arena = kw_arena_new();
    bool any = false;
    for (size_t i = 0; i < count; i++)
        records[i] = proposal->changes->records[i];
    for (size_t i = 0; i < tables; i++)
        if (needs_change(proposal, i))
            any = propose(proposal, kw_policy_table(proposal->fresh, i), records, &count, arena) || any;
    kw_change_set *set =
        any && count <= KW_CHANGES_MAX ? kw_change_set_new(records, count, proposal->changes) : NULL;
    kw_arena_free(arena);
    return set;
}

/* --- refusals ------------------------------------------------------------------------------------------ */

/* True if a path of the table has two placements. */
static bool
is_changing(const kw_table *table, const kw_admission *preview)
{
    const kw_facts *facts = kw_admission_recorded(preview, table->number);
    for (size_t i = 0; facts && i < facts->paths_count; i++)
        if (kw_path_facts_count_live(&facts->paths[i]) > 1)
            return true;
    return false;
}

/* Explains a refusal because the key rules of several paths change. False: there is at most one. */
static bool
explain_several(const kw_table *table, const kw_admission *preview, kw_error *ret_reason)
{
    const kw_path *first = next_changed_path(preview, table, 0);
    const kw_path *second = first ? next_changed_path(preview, table, after_path(first)) : NULL;
    if (!second)
        return false;
    bool more = next_changed_path(preview, table, after_path(second));
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: the key rules of paths %s and %s%s change; change the key rule of one path at a time",
        table->name, first->name, second->name, more ? " and others" : "");
    return true;
}

static bool
explain_missing(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    const kw_path *path = find_path_to_change(proposal, table);
    const char *missing = path ? kw_change_missing_statement(proposal) : NULL;
    if (missing)
        kw_error_set(ret_reason, KW_REFUSED,
                     "table %s, path %s: the key rule can be changed while the table is served, but %s",
                     table->name, path->name, missing);
    return missing;
}

/* In a store with several writers a policy cannot cancel a change, because the change goes back through
 * several versions. */
static bool
explain_cancel(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    size_t index = kw_change_set_find_under_way(proposal->changes, table->name);
    const kw_path *path = find_path_to_change(proposal, table);
    if (proposal->writers == KW_CHANGE_ONE_WRITER || index == proposal->changes->count || !path ||
        !has_old_rule(proposal, path, &proposal->changes->records[index]))
        return false;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: the key rule of path %s is being changed; to return to the old key rule, which this "
        "policy has, run `keyway change cancel %s`",
        table->name, path->name, table->name);
    return true;
}

static bool
explain_too_many(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    if (!has_too_many(proposal) ||
        !(find_path_to_change(proposal, table) || kw_change_count_added(proposal, table) ||
          kw_change_count_dropped(proposal, table) || kw_change_can_turn_atomics(proposal, table)))
        return false;
    kw_error_set(ret_reason, KW_REFUSED,
                 "table %s: this policy changes the key rules, the paths or atomics of several tables; apply "
                 "the change of one table first, then a policy that changes the next one, too",
                 table->name);
    return true;
}

/* False: the refusal says that a path cannot change because of paths over fields that can change. */
static bool
can_change_paths(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_path *path = next_changed_path(proposal->preview, table, 0);
    bool free = proposal->writers == KW_CHANGE_ONE_WRITER || !has_hints(proposal, table);
    for (; free && path; path = next_changed_path(proposal->preview, table, after_path(path)))
        free = kw_change_is_free(proposal, table, path);
    return free;
}

static void
explain_table(const kw_change_proposal *proposal, const kw_table *table, kw_admission *preview)
{
    kw_error reason;
    bool changing = is_changing(table, preview);
    if (kw_change_explain_atomics(proposal, table, &reason) ||
        kw_change_explain_paths(proposal, table, &reason) ||
        (can_change_paths(proposal, table) &&
         (changing ? explain_cancel(proposal, table, &reason)
                   : explain_several(table, preview, &reason) || explain_too_many(proposal, table, &reason) ||
                         explain_missing(proposal, table, &reason))))
        kw_admission_explain(preview, table->number, &reason);
}

void
kw_change_explain(const kw_change_proposal *proposal, kw_admission *preview)
{
    for (size_t i = 0; i < kw_policy_table_count(proposal->fresh); i++)
        if (kw_admission_refusal(preview, i))
            explain_table(proposal, kw_policy_table(proposal->fresh, i), preview);
}

/* A change that allows or forbids atomic operations has one place, on rung `stamped`. All writes write kw:w
 * while atomic operations are allowed, and at this place; no write does while they are forbidden. An atomic
 * operation notices only writes that write kw:w. So none runs at this place, which separates the writes
 * without kw:w from the atomic operations. A change that forbids them has the
 * same record as a change that allows them and is being cancelled, but with kw_change_record.drops. */
#include "policy/propose_atomics.h"

#include "policy/propose_add.h"
#include "policy/propose_drop.h"

#include "base/clock.h"

#include <glib.h>

static const kw_facts *
facts_of(const kw_change_proposal *proposal, const kw_table *table)
{
    return kw_admission_recorded(proposal->preview, table->number);
}

bool
kw_change_turns_atomics(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_facts *facts = facts_of(proposal, table);
    int given = table->model->atomics;
    return proposal->writers == KW_CHANGE_SEVERAL_WRITERS && facts && g_str_equal(facts->order, "stamp") &&
           kw_change_keeps_order(proposal, table) && given >= 0 && given != facts->atomics;
}

static bool
is_recorded(const kw_facts *facts, const kw_path *path)
{
    const kw_path_facts *recorded = kw_facts_find_path(facts, path->name);
    const kw_placement_facts *serving = recorded ? kw_path_facts_serving(recorded) : NULL;
    return serving && serving->layout == kw_layout_number(path->layout) &&
           g_str_equal(serving->fingerprint, kw_layout_fingerprint(path->layout));
}

/* True if the policy has the paths and key rules that the catalog has. */
static bool
keeps_paths(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_facts *facts = facts_of(proposal, table);
    size_t serving = 0, same = 0;
    for (size_t i = 0; i < facts->paths_count; i++)
        serving += kw_path_facts_serving(&facts->paths[i]) != NULL;
    for (size_t i = 0; i < table->paths_count; i++)
        same += is_recorded(facts, &table->paths[i]);
    return same == serving && same == table->paths_count;
}

bool
kw_change_can_turn_atomics(const kw_change_proposal *proposal, const kw_table *table)
{
    return kw_change_turns_atomics(proposal, table) && keeps_paths(proposal, table) &&
           g_str_equal(facts_of(proposal, table)->table, table->name) &&
           kw_policy_find_table(proposal->old, kw_bytes_of_text(table->name)) &&
           !kw_change_find_under_way(proposal, table);
}

/* --- proposals ----------------------------------------------------------------------------------------- */

static kw_change_record
begin(const kw_change_proposal *proposal, const kw_table *table)
{
    const kw_path *primary = &table->paths[0];
    const kw_model_path *text = kw_path_text(primary);
    const kw_placed_rule given = {(uint32_t)text->layout, text->store_table};
    const kw_placed_rule now = {kw_layout_number(primary->layout), kw_layout_store_table(primary->layout)};
    kw_version_name current = *kw_admission_version(proposal->preview);
    int64_t now_ms = kw_clock_wall_ms();
    bool forbids = facts_of(proposal, table)->atomics;
    return (kw_change_record){.table = table->name,
                              .path = primary->name,
                              .given = given,
                              .now = now,
                              .under_way = true,
                              .old = now,
                              .old_given = given,
                              .old_version = current,
                              .new_version = current.number + 1,
                              .place = KW_OLD(STAMPED),
                              .atomics = true,
                              .drops = forbids,
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .step = 1,
                              .goal = forbids ? KW_OLD(ALONE) : KW_NEW(ALONE),
                              .holder = proposal->holder,
                              .place_at_ms = now_ms,
                              .started_ms = now_ms,
                              .author = proposal->author,
                              .reason = proposal->reason,
                              .example = ""};
}

bool
kw_change_propose_atomics(const kw_change_proposal *proposal, const kw_table *table,
                          kw_change_record *records, size_t *count)
{
    if (!kw_change_can_turn_atomics(proposal, table) || kw_change_missing_late(proposal))
        return false;
    kw_change_record record = begin(proposal, table);
    kw_change_append(&record, records, count);
    return true;
}

/* --- refusals ------------------------------------------------------------------------------------------ */

/* A change of another policy, which allows or forbids atomic operations, is under way. */
static bool
explain_under_way(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    const kw_change_record *other = kw_change_find_under_way(proposal, table);
    if (!other || !other->atomics)
        return false;
    kw_error_set(
        ret_reason, KW_REFUSED,
        "table %s: a change of its setting atomics is under way; apply this policy after it has ended "
        "(keyway change status %s)",
        table->name, table->name);
    return true;
}

bool
kw_change_explain_atomics(const kw_change_proposal *proposal, const kw_table *table, kw_error *ret_reason)
{
    if (explain_under_way(proposal, table, ret_reason))
        return true;
    if (!kw_change_turns_atomics(proposal, table))
        return false;
    const char *missing = kw_change_missing_late(proposal), *set = table->model->atomics ? "true" : "false";
    if (kw_change_find_under_way(proposal, table))
        kw_error_set(
            ret_reason, KW_REFUSED,
            "table %s: a change of it is under way; set atomics: %s after it has ended (keyway change "
            "status %s)",
            table->name, set, table->name);
    else if (!keeps_paths(proposal, table))
        kw_error_set(
            ret_reason, KW_REFUSED,
            "table %s: this policy sets atomics: %s, and also changes key rules or paths of the table; "
            "apply one policy that sets atomics: %s, and another one for the rest, one after the "
            "other",
            table->name, set, set);
    else if (missing)
        kw_error_set(ret_reason, KW_REFUSED,
                     "table %s: atomics: %s can be set while the table is served, but %s", table->name, set,
                     missing);
    else
        return false;
    return true;
}

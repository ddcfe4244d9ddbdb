#include "catalog/compare_change.h"

/* Needs the name of the table as an argument. */
#define SEE_STATUS "see keyway change status %s"

static const kw_change_record *
find_base(const kw_change_step *step, const kw_facts *recorded, const char *path)
{
    return kw_changes_find(step->base, step->base_count, recorded->table, path);
}

kw_path_step
kw_change_step_of_path(const kw_change_step *step, const kw_facts *recorded, const kw_facts *wanted,
                       const char *path)
{
    if (!step)
        return KW_PATH_STEP_NONE;
    const kw_change_record *base = find_base(step, recorded, path);
    const kw_change_record *next = kw_changes_find(step->records, step->count, wanted->table, path);
    bool was = base && base->under_way, is = next && next->under_way;
    if (!kw_change_record_differs(base, next) || (!was && !is))
        return KW_PATH_STEP_NONE;
    return !was ? KW_PATH_STEP_BEGIN : is ? KW_PATH_STEP_NEXT : KW_PATH_STEP_END;
}

int64_t
kw_change_retires_as(const kw_change_step *step, const kw_facts *recorded, const char *path)
{
    const kw_change_record *base = find_base(step, recorded, path);
    return base->writers == KW_CHANGE_SEVERAL_WRITERS ? base->started_ms : 0;
}

static bool
is_new(const kw_change_record *base, const kw_placement_facts *placement)
{
    return base->now.layout == placement->layout &&
           g_str_equal(kw_store_table_name(base->now.store_table), placement->store_table);
}

bool
kw_change_is_verified(const kw_change_step *step, const kw_facts *recorded, const char *path,
                      const kw_placement_facts *kept)
{
    const kw_change_record *base = find_base(step, recorded, path);
    if (base->adds) /* ends only when it was compared */
        return true;
    if (base->atomics)
        return kept->verified;
    return is_new(base, kept) ? base->compared : kept->verified;
}

/* --- steps ----------------------------------------------------------------------------------------- */

static bool
refuse_placements(const kw_facts *wanted, const kw_path_facts *path, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the placements of this policy are not those of the next place "
                        "of the change; " SEE_STATUS,
                        wanted->table, path->name, wanted->table);
}

static bool
refuse_used(const kw_facts *wanted, const kw_path_facts *path, const kw_path_facts *owner,
            const kw_placement_facts *used, kw_error *ret_error)
{
    if (used->state == KW_PLACEMENT_RETIRED)
        return kw_error_set(ret_error, KW_REFUSED,
                            "table %s, path %s: the store table %s was used by the path %s under an earlier "
                            "key rule; run keyway forget %s --path %s --drop-rows, or name another one",
                            wanted->table, path->name, used->store_table, owner->name, wanted->table,
                            owner->name);
    if (used->state == KW_PLACEMENT_FORGETTING)
        return kw_error_set(ret_error, KW_REFUSED,
                            "table %s, path %s: keyway forget has not finished with the store table %s; run "
                            "keyway forget %s --path %s again",
                            wanted->table, path->name, used->store_table, wanted->table, owner->name);
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the store table %s belongs to the path %s; name another one",
                        wanted->table, path->name, used->store_table, owner->name);
}

/* Refuses a new placement that has rows already, or whose store table was used by another path. */
static bool
check_empty(const kw_facts *recorded, const kw_facts *wanted, const kw_path_facts *path,
            const kw_evidence *evidence, kw_error *ret_error)
{
    const char *store_table = path->placements[0].store_table;
    for (size_t i = 0; i < recorded->paths_count; i++) {
        const kw_path_facts *owner = &recorded->paths[i];
        for (size_t j = 0; j < owner->placements_count; j++)
            if (owner->placements[j].state != KW_PLACEMENT_ABSENT &&
                g_str_equal(owner->placements[j].store_table, store_table))
                return refuse_used(wanted, path, owner, &owner->placements[j], ret_error);
    }
    return kw_evidence_find(evidence, store_table) != KW_ROWS_SOME ||
           kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the store table %s, to which the rows would be copied, holds "
                        "rows already; name another one, or empty it",
                        wanted->table, path->name, store_table);
}

static size_t
count_shared(const kw_path_facts *old, const kw_path_facts *path)
{
    size_t count = 0;
    for (size_t i = 0; i < path->placements_count; i++)
        count += kw_path_facts_find_live(old, &path->placements[i]) != NULL;
    return count;
}

static bool
is_complete(const kw_path_facts *old, const kw_placement_facts *kept)
{
    const kw_placement_facts *found = kw_path_facts_find_live(old, kept);
    return found && found->state == KW_PLACEMENT_COMPLETE;
}

/* A place at which passes or sweeps are made can be set again. */
static bool
leads_to(const kw_change_record *from, kw_change_place to)
{
    kw_change_move forward = kw_change_next_move(from, KW_CHANGE_FORWARD),
                   back = kw_change_next_move(from, KW_CHANGE_BACK);
    bool repeats = (forward.needs | back.needs) & (KW_CHANGE_NEEDS_PASS | KW_CHANGE_NEEDS_SWEEP) ||
                   from->place == KW_OLD(FILLED); /* where sweeps precede the end */
    return forward.to == to || back.to == to || (from->place == to && repeats);
}

/* The place at which the change ends. Gateways behave there as without a change. */
static kw_change_place
end_of(const kw_change_record *base, bool forward)
{
    if (base->atomics)
        return KW_OLD(STAMPED); /* its only place, a neighbor of both ends */
    if (forward && base->adds)
        return KW_OLD(FILLED);
    return forward ? kw_change_last_place(base->store_order) : kw_change_first_place(base->store_order);
}

/* True if the change can end. forward: the new placement is kept, or the added path. An added path is kept
 * only from FILLED, the place with which it becomes complete, not from a neighbor of it. */
static bool
can_end(const kw_change_record *base, bool forward)
{
    kw_change_place end = end_of(base, forward);
    return base->place == end || (leads_to(base, end) && !(forward && base->adds));
}

static kw_change_place
first_place(const kw_change_record *next)
{
    if (next->atomics)
        return KW_OLD(STAMPED);
    if (next->drops)
        return kw_change_copy_place(kw_change_ladder_of(next));
    return kw_change_first_place(next->store_order);
}

/* Several writers go only from a place to one of its neighbors, because calls at both run at the same time.
 * forward: at the end, the new placement is kept. */
static bool
follows_ladder(kw_path_step kind, const kw_change_record *base, const kw_change_record *next, bool forward)
{
    if (kind == KW_PATH_STEP_BEGIN)
        return next->writers == KW_CHANGE_ONE_WRITER || (next->step == 1 && next->place == first_place(next));
    if (base->writers == KW_CHANGE_ONE_WRITER)
        return true;
    if (kind == KW_PATH_STEP_NEXT)
        return next->writers == base->writers && next->step == base->step + 1 && next->adds == base->adds &&
               next->drops == base->drops && next->started_ms == base->started_ms &&
               leads_to(base, next->place);
    return can_end(base, forward);
}

/* A path that is being added or dropped has one placement. `base` is not used if the change begins, nor
 * `next` if it ends. With one writer, the path becomes complete when the change ends; with several writers,
 * before that. */
static bool
check_added_or_dropped(kw_path_step kind, const kw_change_record *base, const kw_change_record *next,
                       const kw_path_facts *old, const kw_path_facts *path)
{
    size_t live = old ? kw_path_facts_count_live(old) : 0;
    bool filling = path->placements[0].state == KW_PLACEMENT_FILLING;
    if (path->association || path->placements_count != 1)
        return false;
    if (kind == KW_PATH_STEP_BEGIN)
        return filling && follows_ladder(kind, base, next, true) &&
               (next->drops ? live == 1 && count_shared(old, path) == 1 : live == 0);
    if (live != 1 || count_shared(old, path) != 1 || !follows_ladder(kind, base, next, true))
        return false;
    if (kind == KW_PATH_STEP_NEXT)
        return base->writers == KW_CHANGE_SEVERAL_WRITERS &&
               filling == !kw_change_rules_of(next).new_role.scan;
    return !filling && kw_path_facts_is_changing(old) == (base->writers == KW_CHANGE_ONE_WRITER);
}

bool
kw_change_check_cancelled(const kw_change_step *step, const kw_facts *recorded, const kw_facts *wanted,
                          const kw_path_facts *old, kw_error *ret_error)
{
    const kw_change_record *base = find_base(step, recorded, old->name);
    return base->writers == KW_CHANGE_ONE_WRITER || can_end(base, false) ||
           refuse_placements(wanted, old, ret_error);
}

bool
kw_change_check_step(kw_path_step kind, const kw_change_step *step, const kw_facts *recorded,
                     const kw_path_facts *old, const kw_facts *wanted, const kw_path_facts *path,
                     const kw_evidence *evidence, kw_error *ret_error)
{
    const kw_change_record *base = find_base(step, recorded, path->name);
    const kw_change_record *next = kw_changes_find(step->records, step->count, wanted->table, path->name);
    if ((kind == KW_PATH_STEP_BEGIN ? next : base)->adds)
        return check_added_or_dropped(kind, base, next, old, path) ||
               refuse_placements(wanted, path, ret_error);
    if (!old)
        return refuse_placements(wanted, path, ret_error);
    size_t before = kw_path_facts_count_live(old), after = path->placements_count;
    size_t shared = count_shared(old, path);
    bool good = old->association == path->association;
    bool atomics = (kind == KW_PATH_STEP_BEGIN ? next : base)->atomics;
    if (atomics)
        good = good && kind != KW_PATH_STEP_NEXT && before == 1 && after == 1 && shared == 1;
    else if (kind == KW_PATH_STEP_BEGIN)
        good = good && before == 1 && after == 2 && shared == 1 && is_complete(old, &path->placements[1]);
    else if (kind == KW_PATH_STEP_NEXT)
        good = good && before == 2 && after == 2 && shared == 2;
    else
        good = good && before == 2 && after == 1 && is_complete(old, &path->placements[0]);
    bool forward = kind == KW_PATH_STEP_END && is_new(base, &path->placements[0]);
    if (!good || !follows_ladder(kind, base, next, forward))
        return refuse_placements(wanted, path, ret_error);
    return kind != KW_PATH_STEP_BEGIN || atomics || check_empty(recorded, wanted, path, evidence, ret_error);
}

/* --- without a step -------------------------------------------------------------------------------- */

static bool
refuse_under_way(const kw_facts *wanted, const kw_path_facts *old, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "a change of table %s, path %s is under way, but not in this policy; serve "
                        "the catalog's policy (policy.source: store), and end the change first: " SEE_STATUS,
                        wanted->table, old->name, wanted->table);
}

/* True if the states of the placements are those of the change's place. */
static bool
has_states(const kw_path_facts *old, const kw_path_facts *path)
{
    for (size_t i = 0; i < path->placements_count; i++)
        if (kw_path_facts_find_live(old, &path->placements[i])->state != path->placements[i].state)
            return false;
    return true;
}

bool
kw_change_check_same(const kw_facts *wanted, const kw_path_facts *old, const kw_path_facts *path,
                     kw_error *ret_error)
{
    size_t live = old ? kw_path_facts_count_live(old) : 0, count = path ? path->placements_count : 0;
    bool was = old && kw_path_facts_is_changing(old), is = path && kw_path_facts_is_changing(path);
    if (!was && !is)
        return true;
    if (!was)
        return kw_error_set(ret_error, KW_UNAVAILABLE,
                            "table %s, path %s: the change that this policy was loaded with is not under "
                            "way; try again",
                            wanted->table, path->name);
    if (!is || live != count || old->association != path->association || count_shared(old, path) != count)
        return refuse_under_way(wanted, old, ret_error);
    return has_states(old, path) ||
           kw_error_set(ret_error, KW_UNAVAILABLE,
                        "table %s, path %s: its change has another place than this policy "
                        "was loaded with; try again",
                        wanted->table, path->name);
}

/* --- the order of writes --------------------------------------------------------------------------- */

/* True if the path is being added or dropped, at a place where scans do not read it. */
static bool
is_filling(const kw_path_facts *path)
{
    return kw_path_facts_is_changing(path) && kw_path_facts_count_live(path) == 1;
}

static bool
any_filling(const kw_facts *facts)
{
    for (size_t i = 0; i < facts->paths_count; i++)
        if (is_filling(&facts->paths[i]))
            return true;
    return false;
}

/* True if a path that was being added has all records now. A path over fields that can change has none. */
static bool
any_filled(const kw_facts *recorded, const kw_facts *wanted)
{
    for (size_t i = 0; i < recorded->paths_count; i++) {
        const kw_path_facts *path = kw_facts_find_path(wanted, recorded->paths[i].name);
        if (is_filling(&recorded->paths[i]) && path && !path->hints && !is_filling(path))
            return true;
    }
    return false;
}

bool
kw_change_merge_order(const kw_facts *recorded, const kw_facts *wanted, kw_facts *merged)
{
    bool known = recorded && recorded->order[0], filling = any_filling(wanted);
    if (!known || !(filling || any_filled(recorded, wanted)))
        return false;
    merged->order = filling ? recorded->order : "stamp";
    merged->atomics = recorded->atomics;
    return true;
}

/* --- atomic operations are allowed or forbidden ------------------------------------------------------- */

/* The step that begins or ends such a change; NULL: none. */
static const kw_change_record *
find_atomics_step(const kw_change_step *step, const kw_facts *recorded, const kw_facts *wanted,
                  kw_path_step *ret_kind)
{
    const char *path = wanted->paths[0].name;
    *ret_kind = recorded ? kw_change_step_of_path(step, recorded, wanted, path) : KW_PATH_STEP_NONE;
    if (*ret_kind == KW_PATH_STEP_NONE)
        return NULL;
    const kw_change_record *of = *ret_kind == KW_PATH_STEP_BEGIN
                                     ? kw_changes_find(step->records, step->count, wanted->table, path)
                                     : find_base(step, recorded, path);
    return of->atomics ? of : NULL;
}

static bool
refuse_other_atomics(const kw_facts *wanted, bool allows, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: a change is under way that %s increments and conditional writes, and this "
                        "policy has atomics: %s; wait until it has ended (keyway change status %s)",
                        wanted->table, allows ? "allows" : "forbids", allows ? "false" : "true",
                        wanted->table);
}

static bool
check_changing_atomics(const kw_facts *recorded, const kw_facts *wanted, kw_error *ret_error)
{
    bool was = recorded && recorded->changing_atomics, is = wanted->changing_atomics;
    if (was && !is)
        return refuse_under_way(wanted, &wanted->paths[0], ret_error);
    return was || !is ||
           kw_error_set(ret_error, KW_UNAVAILABLE,
                        "table %s: the change of atomics that this policy was loaded with is not under way; "
                        "try again",
                        wanted->table);
}

/* A policy is compiled with the records that apply after the step. So `wanted` has changing_atomics at the
 * step that begins the change, and does not have it at the step that ends it. */
bool
kw_change_merge_atomics(const kw_change_step *step, const kw_facts *recorded, const kw_facts *wanted,
                        kw_facts *merged, bool *ret_changing, kw_error *ret_error)
{
    kw_path_step kind;
    const kw_change_record *of = find_atomics_step(step, recorded, wanted, &kind);
    bool ends = of && kind == KW_PATH_STEP_END;
    *ret_changing = of || (recorded && recorded->changing_atomics);
    if (!of && !check_changing_atomics(recorded, wanted, ret_error))
        return false;
    if (!*ret_changing)
        return true;
    if (wanted->changing_atomics == ends || (of && recorded->changing_atomics != ends) ||
        !g_str_equal(recorded->order, "stamp"))
        return refuse_placements(wanted, &wanted->paths[0], ret_error);
    bool allows = ends ? !kw_change_is_cancelled(of) : !recorded->atomics;
    if (wanted->atomics_given >= 0 && wanted->atomics_given != allows)
        return refuse_other_atomics(wanted, allows, ret_error);
    merged->order = recorded->order;
    merged->atomics = ends ? allows : recorded->atomics;
    merged->changing_atomics = !ends;
    return true;
}

bool
kw_change_check_rename(const kw_facts *recorded, const kw_facts *wanted, kw_error *ret_error)
{
    for (size_t i = 0; i < recorded->paths_count; i++)
        if (kw_path_facts_is_changing(&recorded->paths[i]) || recorded->changing_atomics)
            return kw_error_set(ret_error, KW_REFUSED,
                                "table %s was %s, and a change of table %s, path %s is under way; rename the "
                                "table after the change has ended: " SEE_STATUS,
                                wanted->table, recorded->table, recorded->table, recorded->paths[i].name,
                                recorded->table);
    return true;
}

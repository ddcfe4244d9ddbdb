/* Decides from the registrations of other gateways whether this gateway can serve its policy while they serve
 * theirs.
 *
 * A gateway serves a table in the same way if the digests agree. While a key rule changes in a store with
 * several writers, digests differ when the change begins and ends, and gateways serve two neighboring
 * places:
 *
 *   the step that this admission makes   the others must serve the table with
 *   begin                                the old placement alone, and follow the catalog's policy
 *   the next place                       both placements, and have reported the present place
 *   the end                              both placements, and have reported the present place
 *   none, at the first place             the old placement alone, or both
 *   none, after the end                  the kept placement alone, or with one that is retired
 *
 * For paths that are added, "the old placement alone" means the table without them. Paths that are dropped
 * are served, for writes, until the end.
 *
 * A gateway can register after this admission has read the registrations. If it serves before the commit of
 * this admission, it has changed the catalog's id, and the commit is rejected. So the new gateway is admitted
 * at the place before the step or at that after it, and it reports this place before the next step.
 */
#include "catalog/admission_internal.h"

#include "catalog/compare_change.h"
#include "catalog/others.h"

#define ONE_BY_ONE "stop all gateways but one, apply the policy there, and start the others with it"

/* True for another process with this gateway's id: a previous one, which may have crashed or ended. */
static bool
is_of_this_gateway(const kw_admission *admission, const kw_registration *other)
{
    return g_str_equal(other->id, admission->catalog->settings.gateway_id);
}

static bool
refuse_twin(const kw_registration *other, const char *table, kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_UNAVAILABLE,
        "table %s: another process with the gateway_id %s serves it under another policy, or did until "
        "it died; try again %d s after its end",
        table, other->id, KW_LEASE_DEAD_MS / 1000);
}

static bool
refuse_exclusive(const kw_admission *admission, const kw_registration *other, const char *table,
                 kw_error *ret_error)
{
    if (!table || !kw_others_has_table(other, &table, 1))
        return true;
    if (is_of_this_gateway(admission, other))
        return refuse_twin(other, table, ret_error);
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: this policy changes which rows a record has, and the gateway %s serves "
                        "the table under the old one; " ONE_BY_ONE,
                        table, other->id);
}

static bool
check_exclusive(const kw_admission *admission, size_t table, const kw_registration *other,
                kw_error *ret_error)
{
    const kw_facts_change *change = &admission->changes[table];
    return !change->exclusive || (refuse_exclusive(admission, other, change->merged->table, ret_error) &&
                                  refuse_exclusive(admission, other, change->renamed_from, ret_error));
}

/* --- the forms in which other gateways can serve a table -------------------------------------------- */

/* The table's facts in each of these forms. */
typedef struct accepted {
    const kw_facts **forms;
    size_t count;
    bool changing; /* a change is under way: a gateway with another form will soon have one of these */
    bool begins;   /* this admission begins a change; gateways must follow the catalog's policy */
    const kw_change_record *present; /* they must have reported this place; NULL: none */
} accepted;

static const kw_facts *
with_placements(const kw_facts *facts, size_t path, const kw_placement_facts *placements, size_t count,
                kw_arena *arena)
{
    kw_facts *copy = KW_ARENA_NEW(arena, kw_facts);
    *copy = *facts;
    copy->paths = KW_ARENA_ARRAY(arena, kw_path_facts, facts->paths_count);
    memcpy(copy->paths, facts->paths, facts->paths_count * sizeof *facts->paths);
    copy->paths[path].placements = KW_ARENA_ARRAY(arena, kw_placement_facts, count);
    memcpy(copy->paths[path].placements, placements, count * sizeof *placements);
    copy->paths[path].placements_count = count;
    return copy;
}

/* Of the two placements of a policy, the second one is the old one. */
static const kw_facts *
with_old_alone(const kw_facts *wanted, size_t path, kw_arena *arena)
{
    g_assert(wanted->paths[path].placements_count == 2);
    return with_placements(wanted, path, &wanted->paths[path].placements[1], 1, arena);
}

static const kw_facts *
with_retired(const kw_facts *wanted, size_t path, const kw_placement_facts *retired, kw_arena *arena)
{
    kw_placement_facts both[2] = {wanted->paths[path].placements[0], *retired};
    both[1].state = KW_PLACEMENT_FILLING;
    return with_placements(wanted, path, both, 2, arena);
}

/* --- paths that are added ---------------------------------------------------------------------------- */

static kw_facts *
with_space(const kw_facts *facts, size_t more, kw_arena *arena)
{
    kw_facts *copy = KW_ARENA_NEW(arena, kw_facts);
    *copy = *facts;
    copy->paths = KW_ARENA_ARRAY(arena, kw_path_facts, facts->paths_count + more);
    memcpy(copy->paths, facts->paths, facts->paths_count * sizeof *facts->paths);
    return copy;
}

#define ORDERED_FORMS 4

/* Adds the forms of the same table in a policy with the other paths of a change, too. The policy can name the
 * order or no order. It can say whether atomic operations are allowed, or say nothing about them. So there
 * are four forms. hints: the paths have no records, so the table keeps its order; otherwise it is `stamp`. */
static void
add_ordered(const kw_admission *admission, size_t table, const kw_facts *facts, bool hints, accepted *to)
{
    const kw_facts *recorded = admission->recorded[table];
    for (int i = 0; i < ORDERED_FORMS; i++) {
        kw_facts *form = with_space(facts, 0, admission->arena);
        form->order = hints && recorded ? recorded->order : "stamp";
        form->order_given = i % 2;
        form->atomics_given = i / 2 ? recorded && recorded->atomics : -1;
        to->forms[to->count++] = form;
    }
}

/* The table before the paths of the record were added. The policy of that time can have allowed atomic
 * operations or not; if the order is `stamp`, the catalog does not show which. So there are two forms; one if
 * hint paths are added. */
static void
add_without_added(const kw_admission *admission, size_t table, const kw_change_record *record, accepted *to)
{
    const kw_facts *wanted = admission->wanted[table];
    kw_facts *form = with_space(wanted, 0, admission->arena);
    form->paths_count = 0;
    for (size_t i = 0; i < wanted->paths_count; i++)
        if (!kw_change_has_path(record, wanted->paths[i].name))
            form->paths[form->paths_count++] = wanted->paths[i];
    to->forms[to->count++] = form;
    if (record->hints) /* the table keeps its order */
        return;
    kw_facts *other = with_space(form, 0, admission->arena);
    form->order_given = other->order_given = false;
    form->order = "stamp";
    other->order = "store";
    other->atomics = false;
    to->forms[to->count++] = other;
}

/* True if the policy does not have the recorded path, and the path's first placement has this state: FILLING
 * while the path is being added or dropped, RETIRED after it was dropped or its addition was cancelled. Live
 * placements come first. */
static bool
is_only_recorded(const kw_facts *wanted, const kw_path_facts *path, kw_placement_state state)
{
    return path->placements_count > 0 && path->placements[0].state == state &&
           !kw_facts_find_path(wanted, path->name);
}

static kw_path_facts
with_live_placement(const kw_path_facts *path, kw_arena *arena)
{
    kw_path_facts live = *path;
    live.placements = KW_ARENA_NEW(arena, kw_placement_facts);
    live.placements[0] = path->placements[0];
    live.placements[0].state = KW_PLACEMENT_FILLING;
    live.placements_count = 1;
    return live;
}

/* Adds the forms of the table with those paths that only the catalog has, and whose first placement has this
 * state. `retired_by` is the change that retired them; 0 for the state FILLING. */
static void
add_with_recorded(const kw_admission *admission, size_t table, kw_placement_state state, int64_t retired_by,
                  accepted *to)
{
    const kw_facts *wanted = admission->wanted[table], *recorded = admission->recorded[table];
    kw_facts *form = with_space(wanted, recorded->paths_count, admission->arena);
    bool hints = false; /* of one change, all or none */
    for (size_t i = 0; i < recorded->paths_count; i++) {
        const kw_path_facts *path = &recorded->paths[i];
        if (!is_only_recorded(wanted, path, state) || path->placements[0].retired_by != retired_by)
            continue;
        form->paths[form->paths_count++] = with_live_placement(path, admission->arena);
        hints = path->hints;
    }
    to->forms[to->count++] = form;
    add_ordered(admission, table, form, hints, to);
}

/* After the end of a cancelled addition, or of a drop. A gateway that has not followed it yet serves all
 * paths of that change, and none of an earlier one, because the next change begins only when all gateways
 * have followed. The catalog does not say which change was the last one. */
static void
add_cancelled(const kw_admission *admission, size_t table, accepted *to)
{
    const kw_facts *wanted = admission->wanted[table], *recorded = admission->recorded[table];
    int64_t added = 0; /* the change whose form was added last */
    for (size_t i = 0; recorded && i < recorded->paths_count; i++) {
        int64_t retired_by = recorded->paths[i].placements[0].retired_by;
        if (retired_by == 0 || retired_by == added ||
            !is_only_recorded(wanted, &recorded->paths[i], KW_PLACEMENT_RETIRED))
            continue;
        add_with_recorded(admission, table, KW_PLACEMENT_RETIRED, retired_by, to);
        added = retired_by;
    }
}

/* --- changes of key rules ---------------------------------------------------------------------------- */

/* Adds the forms of gateways that have not followed the end of a change of the path. */
static void
add_ended(const kw_admission *admission, size_t table, size_t path, accepted *to)
{
    const kw_facts *wanted = admission->wanted[table], *recorded = admission->recorded[table];
    const kw_path_facts *old = recorded ? kw_facts_find_path(recorded, wanted->paths[path].name) : NULL;
    for (size_t i = 0; old && i < old->placements_count; i++)
        if (old->placements[i].state == KW_PLACEMENT_RETIRED)
            to->forms[to->count++] = with_retired(wanted, path, &old->placements[i], admission->arena);
}

static const kw_change_record *
find_several(const kw_change_record *records, size_t count, const char *table, const char *path)
{
    const kw_change_record *found = kw_changes_find(records, count, table, path);
    return found && found->under_way && found->writers == KW_CHANGE_SEVERAL_WRITERS ? found : NULL;
}

/* Adds the forms that gateways can serve if this admission makes no step of the path. */
static void
add_followed(const kw_admission *admission, size_t table, size_t path, accepted *to)
{
    const kw_catalog_image *image = admission->image;
    const kw_facts *wanted = admission->wanted[table];
    const kw_change_record *record =
        find_several(image->changes, image->changes_count, wanted->table, wanted->paths[path].name);
    to->changing = to->changing || record;
    if (record && record->drops && !record->atomics && record->step == 1)
        add_ordered(admission, table, wanted, record->hints, to);
    else if (record && record->adds && record->step == 1)
        add_without_added(admission, table, record, to);
    if (record && record->adds)
        return;
    if (wanted->paths[path].placements_count == 1)
        add_ended(admission, table, path, to);
    else if (record && record->step == 1)
        to->forms[to->count++] = with_old_alone(wanted, path, admission->arena);
}

/* The facts with the placements that the path has before its change ends. */
static const kw_facts *
before_end(const kw_admission *admission, size_t table, size_t path)
{
    const kw_facts *wanted = admission->wanted[table];
    const kw_path_facts *old = kw_facts_find_path(admission->recorded[table], wanted->paths[path].name);
    kw_placement_facts live[2];
    size_t count = 0;
    for (size_t i = 0; i < old->placements_count; i++)
        if (kw_placement_facts_is_live(&old->placements[i]))
            live[count++] = old->placements[i];
    return with_placements(wanted, path, live, count, admission->arena);
}

/* The forms before the step of a path that the policy has. */
static void
add_before_step(const kw_admission *admission, size_t table, size_t path, kw_path_step kind,
                const kw_change_record *record, accepted *to)
{
    const kw_facts *wanted = admission->wanted[table];
    if (record->atomics)
        to->forms[to->count++] = wanted;
    else if (kind == KW_PATH_STEP_BEGIN && record->drops)
        add_ordered(admission, table, wanted, record->hints, to);
    else if (kind == KW_PATH_STEP_BEGIN && record->adds)
        add_without_added(admission, table, record, to);
    else if (kind == KW_PATH_STEP_BEGIN)
        to->forms[to->count++] = with_old_alone(wanted, path, admission->arena);
    else if (kind == KW_PATH_STEP_NEXT || record->adds)
        to->forms[to->count++] = wanted;
    else
        to->forms[to->count++] = before_end(admission, table, path);
}

/* The record of the step that this admission makes for the path, in a store with several writers; NULL: none.
 */
static const kw_change_record *
find_step(const kw_admission *admission, size_t table, const char *name, kw_path_step *ret_kind)
{
    const kw_change_step *step = kw_admission_step(admission);
    const kw_facts *wanted = admission->wanted[table], *recorded = admission->recorded[table];
    kw_path_step kind = recorded ? kw_change_step_of_path(step, recorded, wanted, name) : KW_PATH_STEP_NONE;
    *ret_kind = kind;
    if (kind == KW_PATH_STEP_NONE)
        return NULL;
    return kind == KW_PATH_STEP_BEGIN ? find_several(step->records, step->count, wanted->table, name)
                                      : find_several(step->base, step->base_count, recorded->table, name);
}

static bool
accept_step(const kw_admission *admission, size_t table, size_t path, accepted *to)
{
    kw_path_step kind;
    const kw_change_record *record =
        find_step(admission, table, admission->wanted[table]->paths[path].name, &kind);
    if (!record)
        return false;
    to->changing = true;
    to->begins = kind == KW_PATH_STEP_BEGIN;
    to->present = to->begins ? NULL : record;
    add_before_step(admission, table, path, kind, record, to);
    return true;
}

/* The end of an addition that was cancelled, or of a drop. */
static bool
accept_cancellation(const kw_admission *admission, size_t table, accepted *to)
{
    const kw_facts *wanted = admission->wanted[table], *recorded = admission->recorded[table];
    kw_path_step kind;
    for (size_t i = 0; recorded && i < recorded->paths_count; i++) {
        const kw_path_facts *path = &recorded->paths[i];
        bool filling = is_only_recorded(wanted, path, KW_PLACEMENT_FILLING);
        const kw_change_record *record = filling ? find_step(admission, table, path->name, &kind) : NULL;
        if (!record)
            continue;
        to->changing = true;
        to->present = record;
        add_with_recorded(admission, table, KW_PLACEMENT_FILLING, 0, to);
        return true;
    }
    return false;
}

static accepted
accepted_of(const kw_admission *admission, size_t table)
{
    const kw_facts *wanted = admission->wanted[table], *recorded = admission->recorded[table];
    size_t most = 2 + ORDERED_FORMS + ORDERED_FORMS * wanted->paths_count;
    for (size_t i = 0; recorded && i < recorded->paths_count; i++)
        most += 1 + ORDERED_FORMS + recorded->paths[i].placements_count;
    accepted all = {.forms = KW_ARENA_ARRAY(admission->arena, const kw_facts *, most)};
    for (size_t i = 0; i < wanted->paths_count; i++)
        if (accept_step(admission, table, i, &all))
            return all;
    if (accept_cancellation(admission, table, &all))
        return all;
    all.forms[all.count++] = wanted;
    for (size_t i = 0; i < wanted->paths_count; i++)
        add_followed(admission, table, i, &all);
    add_cancelled(admission, table, &all);
    return all;
}

/* True if a gateway with this digest serves the table in one of the forms, or if it does not have the table
 * (NULL). If it follows the catalog's policy, its text can say the opposite about atomic operations: a change
 * that was to allow them was cancelled, and the gateway has not loaded the end of this change. Until then it
 * holds them, and all its writes write kw:w. */
static bool
agrees(const kw_admission *admission, size_t table, const accepted *all, const char *theirs, bool follows)
{
    kw_facts merged = *admission->changes[table].merged;
    merged.changing_atomics = merged.changing_atomics || follows;
    for (size_t i = 0; theirs && i < all->count; i++)
        if (kw_facts_agree(theirs, all->forms[i], admission->recorded[table], &merged, admission->arena))
            return true;
    return !theirs;
}

/* --- one gateway ----------------------------------------------------------------------------------- */

static bool
refuse_digest(const kw_admission *admission, const char *table, const accepted *all,
              const kw_registration *other, bool moves, kw_error *ret_error)
{
    if (moves)
        return kw_error_set(ret_error, KW_BUSY,
                            "table %s: the gateway %s is changing to another policy now; try again", table,
                            other->id);
    if (is_of_this_gateway(admission, other))
        return refuse_twin(other, table, ret_error);
    if (all->changing)
        return kw_error_set(ret_error, KW_BUSY,
                            "table %s: the gateway %s does not serve the current policy version; try again",
                            table, other->id);
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: the gateway %s serves it under another policy (its rows have other keys "
                        "or other paths there); " ONE_BY_ONE,
                        table, other->id);
}

static bool
check_report(const kw_change_record *present, const kw_registration *of, kw_error *ret_error)
{
    return !present || kw_registration_step(of, present) == present->step ||
           kw_error_set(ret_error, KW_UNAVAILABLE,
                        "table %s, path %s: the gateway %s has not reported the place %s of the change yet",
                        present->table, present->path, of->id, kw_change_place_name(present->place));
}

/* Refuses a change beside a gateway that does not follow the catalog's policy. It would serve the old
 * placement alone, and the change would wait for its reports forever. */
static bool
check_follows(const kw_admission *admission, const char *table, const kw_registration *other,
              kw_error *ret_error)
{
    if (other->follows)
        return true;
    if (is_of_this_gateway(admission, other))
        return refuse_twin(other, table, ret_error);
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s: a change of the table cannot begin while the gateway %s serves it, because that "
        "gateway does not follow the catalog's policy (policy.source: file, or an earlier "
        "release of Keyway); set policy.source: store there and start it again, or stop it",
        table, other->id);
}

static bool
check_table(const kw_admission *admission, size_t table, const accepted *all, const kw_registration *other,
            kw_error *ret_error)
{
    const char *name = admission->wanted[table]->table;
    const char *serving = kw_others_find_digest(other->serving, other->serving_count, name);
    const char *next = kw_others_find_digest(other->next, other->next_count, name);
    if (!serving && !next)
        return true;
    if (all->begins && !check_follows(admission, name, other, ret_error))
        return false;
    if (!agrees(admission, table, all, serving, other->follows) ||
        !agrees(admission, table, all, next, other->follows))
        return refuse_digest(admission, name, all, other, g_strcmp0(serving, next) != 0, ret_error);
    return check_report(all->present, other, ret_error);
}

static bool
check_itself(const kw_admission *admission, const accepted *all, const kw_registration *own,
             kw_error *ret_error)
{
    for (size_t i = 0; i < admission->count; i++)
        if (!check_report(all[i].present, own, ret_error))
            return false;
    return true;
}

static bool
check_other(kw_admission *admission, const accepted *all, const kw_registration *other, kw_error *ret_error)
{
    if (other->protocol != KW_CATALOG_PROTOCOL)
        return kw_error_set(
            ret_error, KW_REFUSED,
            "the gateway %s has a release that cannot serve together with this one (catalog protocol "
            "%" G_GINT64_FORMAT ", here %d); stop it first",
            other->id, other->protocol, KW_CATALOG_PROTOCOL);
    kw_error found;
    for (size_t i = 0; i < admission->count; i++) {
        if (kw_admission_is_refused(admission, i) || (check_exclusive(admission, i, other, &found) &&
                                                      check_table(admission, i, &all[i], other, &found)))
            continue;
        *ret_error = found;
        if (admission->preview || !kw_admission_refuse(admission, i, &found, ret_error))
            return false;
    }
    return true;
}

bool
kw_admission_check_gateways(kw_admission *admission, kw_error *ret_error)
{
    const kw_catalog *catalog = admission->catalog;
    const kw_catalog_image *image = admission->image;
    accepted *all = KW_ARENA_ARRAY(admission->arena, accepted, admission->count);
    for (size_t i = 0; i < admission->count; i++)
        if (!kw_admission_is_refused(admission, i))
            all[i] = accepted_of(admission, i);
    for (size_t i = 0; i < image->gateways_count; i++) {
        const kw_registration *each = &image->gateways[i];
        if (kw_catalog_is_own(catalog, each)) {
            if (!check_itself(admission, all, each, ret_error))
                return false;
        } else if (!kw_others_is_dead(image, each) && !check_other(admission, all, each, ret_error)) {
            return false;
        }
    }
    return true;
}

/* --- dead gateways --------------------------------------------------------------------------------- */

size_t
kw_admission_list_cleared(const kw_admission *admission, const char *const **ret_tables)
{
    const char **exclusive;
    size_t count = kw_admission_list_exclusive(admission, &exclusive);
    const char **tables = KW_ARENA_ARRAY(admission->arena, const char *, count + admission->count);
    memcpy(tables, exclusive, count * sizeof *tables);
    for (size_t i = 0; i < admission->count; i++) {
        if (kw_admission_is_refused(admission, i))
            continue;
        accepted all = accepted_of(admission, i);
        if (all.begins || all.present)
            tables[count++] = admission->wanted[i]->table;
    }
    *ret_tables = tables;
    return count;
}

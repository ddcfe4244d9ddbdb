/* See compare.h. compare_fields.c compares the fields, compare_change.c the paths whose key rule is being
 * changed, and compare_owners.c the store tables of other tables. */
#include "catalog/compare.h"

#include "catalog/compare_change.h"
#include "catalog/compare_fields.h"

#define CHANGE_ONLINE                                                                                        \
    "change it while the table is in use: set policy.source: store and run keyway policy apply "             \
    "(keyway-changes(7))"
#define FINGERPRINT_DIGITS 8 /* digits of a fingerprint in a message */
/* A format with one argument, the name of the table. */
#define COPY_ROWS_INSTEAD                                                                                    \
    "copy the rows to a new table (keyway-changes(7)): keyway scan %s --full-scan -o "                       \
    "jsonl, then keyway import"

kw_rows_found
kw_evidence_find(const kw_evidence *evidence, const char *store_table)
{
    for (size_t i = 0; i < evidence->count; i++)
        if (g_str_equal(evidence->store_tables[i], store_table))
            return evidence->rows[i];
    return evidence->others;
}

const kw_error *
kw_evidence_error(const kw_evidence *evidence, const char *store_table)
{
    for (size_t i = 0; evidence->errors && i < evidence->count; i++)
        if (g_str_equal(evidence->store_tables[i], store_table))
            return evidence->errors[i];
    return NULL;
}

static bool
holds_rows(const kw_evidence *evidence, const kw_placement_facts *placement)
{
    return kw_evidence_find(evidence, placement->store_table) == KW_ROWS_SOME;
}

/* True if a live placement holds a row. */
static bool
table_holds_rows(const kw_facts *facts, const kw_evidence *evidence)
{
    for (size_t i = 0; i < facts->paths_count; i++) {
        const kw_path_facts *path = &facts->paths[i];
        for (size_t j = 0; j < path->placements_count; j++)
            if (kw_placement_facts_is_live(&path->placements[j]) &&
                holds_rows(evidence, &path->placements[j]))
                return true;
    }
    return false;
}

bool
kw_facts_has_path(const kw_facts *recorded, const kw_path_facts *wanted)
{
    const kw_path_facts *old = kw_facts_find_path(recorded, wanted->name);
    if (!old || old->association != wanted->association || old->hints != wanted->hints ||
        old->unique != wanted->unique)
        return false;
    for (size_t i = 0; i < wanted->placements_count; i++)
        if (!kw_path_facts_find_live(old, &wanted->placements[i]))
            return false;
    return true;
}

static bool
same_path(const kw_facts *recorded, const kw_path_facts *wanted)
{
    return kw_facts_has_path(recorded, wanted) &&
           kw_path_facts_count_live(kw_facts_find_path(recorded, wanted->name)) == wanted->placements_count;
}

/* --- one path -------------------------------------------------------------------------------------- */

typedef struct comparing {
    const kw_facts *recorded; /* NULL: the table is new */
    const kw_facts *wanted;
    const kw_evidence *evidence;
    const kw_change_step *step; /* NULL: none */
    bool has_rows;
    kw_arena *arena;
    kw_facts *merged;
    bool exclusive;
} comparing;

/* --- paths over fields that can change ------------------------------------------------------------- */

const kw_path_facts *
kw_facts_find_hints(const kw_facts *facts)
{
    for (size_t i = 0; facts && i < facts->paths_count; i++)
        if (facts->paths[i].hints && kw_path_facts_serving(&facts->paths[i]))
            return &facts->paths[i];
    return NULL;
}

/* The path over fields that can change because of which `path` cannot be added, changed or dropped while the
 * table has rows; NULL: no such path. With several writers, the steps of changes of other paths do not
 * consider it. A path over fields that can change can itself be added. */
static const kw_path_facts *
find_obstacle(const comparing *self, const kw_path_facts *path)
{
    bool primary = g_str_equal(path->name, self->wanted->paths[0].name);
    if (path->hints)
        return path;
    if (self->evidence->one_writer && !primary)
        return NULL;
    const kw_path_facts *recorded = kw_facts_find_hints(self->recorded);
    return recorded ? recorded : kw_facts_find_hints(self->wanted);
}

/* done: for example "added". remedy: without the copy of the rows. */
static bool
refuse_beside_hints(const comparing *self, const kw_path_facts *path, const kw_path_facts *obstacle,
                    const char *done, const char *remedy, kw_error *ret_error)
{
    const char *key =
        path == obstacle ? "its key" : kw_arena_printf(self->arena, "the key of path %s", obstacle->name);
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: the path cannot be %s while the table has rows, because %s has "
                        "fields that can change; %s, or " COPY_ROWS_INSTEAD,
                        self->wanted->table, path->name, done, key, remedy, self->wanted->table);
}

/* --- refusals -------------------------------------------------------------------------------------- */

static bool
refuse_changed(const comparing *self, const kw_path_facts *path, const kw_placement_facts *old,
               kw_error *ret_error)
{
    const kw_path_facts *obstacle = find_obstacle(self, path);
    if (obstacle)
        return refuse_beside_hints(self, path, obstacle, "changed", "restore its key rule", ret_error);
    const kw_placement_facts *new = &path->placements[0];
    const char *table = self->wanted->table;
    if (old->layout == new->layout && g_str_equal(old->store_table, new->store_table))
        return kw_error_set(
            ret_error, KW_REFUSED,
            "table %s, path %s: its rows were written under layout %u with the key rule %.*s, and "
            "this policy has the key rule %.*s; restore the old one, or " CHANGE_ONLINE,
            table, path->name, old->layout, FINGERPRINT_DIGITS, old->fingerprint, FINGERPRINT_DIGITS,
            new->fingerprint);
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, path %s: its rows were written under layout %u (store table %s, key rule %.*s), and this "
        "policy has layout %u (store table %s, key rule %.*s); restore the old ones, or " CHANGE_ONLINE,
        table, path->name, old->layout, old->store_table, FINGERPRINT_DIGITS, old->fingerprint, new->layout,
        new->store_table, FINGERPRINT_DIGITS, new->fingerprint);
}

static bool
refuse_retired(const comparing *self, const kw_path_facts *path, const kw_placement_facts *old,
               kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, path %s: the path was dropped, and its store table %s still holds its rows; "
        "serve a policy without the path, and run keyway forget %s --path %s --drop-rows",
        self->wanted->table, path->name, old->store_table, self->wanted->table, path->name);
}

static bool
refuse_added(const comparing *self, const kw_path_facts *path, kw_error *ret_error)
{
    const kw_path_facts *obstacle = path->hints ? NULL : find_obstacle(self, path);
    if (obstacle)
        return refuse_beside_hints(self, path, obstacle, "added", "leave the path out", ret_error);
    if (path->unique)
        return kw_error_set(
            ret_error, KW_REFUSED,
            "table %s, path %s: a unique path cannot be added while the table has rows, because "
            "two of them could have the same values; leave the path out, or " COPY_ROWS_INSTEAD,
            self->wanted->table, path->name, self->wanted->table);
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, path %s: the table holds rows already, and the new path would only hold what is "
        "written from now on; leave the path out, or add it while the table is in use: set "
        "policy.source: store and run keyway policy apply (keyway-changes(7))",
        self->wanted->table, path->name);
}

static bool
refuse_unrecorded_rows(const comparing *self, const kw_path_facts *path, kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, path %s: the store table %s holds rows that were not written under this path; "
        "name another store table, or empty this one",
        self->wanted->table, path->name, path->placements[0].store_table);
}

/* Whether each record has its row in the path is not known, even if the store table has rows. */
static bool
refuse_adopted(const comparing *self, const kw_path_facts *path, kw_error *ret_error)
{
    const char *table = self->wanted->table;
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s, path %s: the catalog does not have the table, whose store table %s holds rows; the key of "
        "the path has fields that can change, and only puts of gateways with this policy write rows of the "
        "path: leave the path out, import the catalog of these rows (keyway catalog import), "
        "or " COPY_ROWS_INSTEAD,
        table, path->name, self->wanted->paths[0].placements[0].store_table, table);
}

static bool
refuse_forgetting(const comparing *self, const kw_path_facts *path, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: keyway forget has not finished with the path; run keyway forget "
                        "again before a policy has the path or its store table",
                        self->wanted->table, path->name);
}

/* Refuses a store table whose rows keyway forget can still drop, for any path. */
static bool
check_forgetting(const comparing *self, const char *store_table, kw_error *ret_error)
{
    for (size_t i = 0; i < self->recorded->paths_count; i++) {
        const kw_path_facts *path = &self->recorded->paths[i];
        for (size_t j = 0; j < path->placements_count; j++)
            if (path->placements[j].state == KW_PLACEMENT_FORGETTING &&
                g_str_equal(path->placements[j].store_table, store_table))
                return refuse_forgetting(self, path, ret_error);
    }
    return true;
}

static bool
check_no_unrecorded_rows(const comparing *self, const kw_path_facts *path, kw_error *ret_error)
{
    return !holds_rows(self->evidence, &path->placements[0]) || refuse_unrecorded_rows(self, path, ret_error);
}

/* For a path that begins to serve, or to be filled: refuses it while rows of its earlier placements exist, or
 * while keyway forget has not finished with them or with the store table. */
static bool
check_no_old_rows(const comparing *self, const kw_path_facts *path, const kw_path_facts *old,
                  kw_error *ret_error)
{
    if (!check_forgetting(self, path->placements[0].store_table, ret_error))
        return false;
    for (size_t i = 0; old && i < old->placements_count; i++) {
        if (old->placements[i].state == KW_PLACEMENT_FORGETTING)
            return refuse_forgetting(self, path, ret_error);
        if (old->placements[i].state == KW_PLACEMENT_RETIRED &&
            holds_rows(self->evidence, &old->placements[i]))
            return refuse_retired(self, path, &old->placements[i], ret_error);
    }
    return true;
}

/* For a path that begins to serve: refuses it unless the table and the path's store table are empty. */
static bool
check_new_path(const comparing *self, const kw_path_facts *path, const kw_path_facts *old,
               kw_error *ret_error)
{
    if (!check_no_old_rows(self, path, old, ret_error))
        return false;
    return self->has_rows ? refuse_added(self, path, ret_error)
                          : check_no_unrecorded_rows(self, path, ret_error);
}

/* Keeps a placement that is not served any more while it holds rows. A placement that keyway forget has not
 * finished with is always kept. At the end of a change, the placement is kept, too, because rows can be
 * written to it until the commit. */
static void
keep_placement(const comparing *self, const kw_placement_facts *old, bool ended, kw_path_facts *to)
{
    bool forgetting = old->state == KW_PLACEMENT_FORGETTING;
    if (!forgetting && !ended && !holds_rows(self->evidence, old))
        return;
    kw_placement_facts *kept = &to->placements[to->placements_count++];
    *kept = *old;
    kept->state = forgetting ? KW_PLACEMENT_FORGETTING : KW_PLACEMENT_RETIRED;
    if (ended)
        kept->retired_by = kw_change_retires_as(self->step, self->recorded, to->name);
}

/* Combines the placements of a path. The recorded live ones keep their order and precede the new ones. */
static void
merge_path(comparing *self, const kw_path_facts *path, const kw_path_facts *old, kw_path_step step,
           kw_path_facts *to)
{
    size_t most = path->placements_count + (old ? old->placements_count : 0);
    *to = *path;
    to->placements = KW_ARENA_ARRAY(self->arena, kw_placement_facts, most);
    to->placements_count = 0;
    for (size_t i = 0; old && i < old->placements_count; i++) {
        const kw_placement_facts *wanted = kw_path_facts_find_live(path, &old->placements[i]);
        if (!wanted || !kw_placement_facts_is_live(&old->placements[i]))
            continue;
        to->placements[to->placements_count] = old->placements[i];
        to->placements[to->placements_count++].state = wanted->state;
    }
    for (size_t i = 0; i < path->placements_count; i++) {
        if (old && kw_path_facts_find_live(old, &path->placements[i]))
            continue;
        to->placements[to->placements_count] = path->placements[i];
        to->placements[to->placements_count++].verified = step == KW_PATH_STEP_NONE;
    }
    for (size_t i = 0; old && i < old->placements_count; i++) {
        const kw_placement_facts *each = &old->placements[i];
        bool live = kw_placement_facts_is_live(each);
        if (!live || !kw_path_facts_find_live(path, each))
            keep_placement(self, each, live && step == KW_PATH_STEP_END, to);
    }
    if (step == KW_PATH_STEP_END)
        to->placements[0].verified =
            kw_change_is_verified(self->step, self->recorded, path->name, &to->placements[0]);
}

/* Compares a path whose change makes a step. A step is never exclusive: it does not move rows that calls
 * read, and calls of the previous version can still run. */
static bool
compare_step(comparing *self, const kw_path_facts *path, const kw_path_facts *old, kw_path_step step,
             kw_error *ret_error)
{
    bool added = step == KW_PATH_STEP_BEGIN && !(old && kw_path_facts_serving(old));
    if (!kw_change_check_step(step, self->step, self->recorded, old, self->wanted, path, self->evidence,
                              ret_error) ||
        (added &&
         !(check_no_old_rows(self, path, old, ret_error) && check_no_unrecorded_rows(self, path, ret_error))))
        return false;
    merge_path(self, path, old, step, &self->merged->paths[self->merged->paths_count++]);
    return true;
}

static bool
compare_path(comparing *self, const kw_path_facts *path, kw_error *ret_error)
{
    const kw_path_facts *old = kw_facts_find_path(self->recorded, path->name);
    const kw_placement_facts *serving = old ? kw_path_facts_serving(old) : NULL;
    kw_path_step step = kw_change_step_of_path(self->step, self->recorded, self->wanted, path->name);
    if ((serving || step == KW_PATH_STEP_BEGIN) && step != KW_PATH_STEP_NONE)
        return compare_step(self, path, old, step, ret_error);
    if (!kw_change_check_same(self->wanted, old, path, ret_error))
        return false;
    if (!serving && !check_new_path(self, path, old, ret_error))
        return false;
    if (serving && !same_path(self->recorded, path)) {
        if (self->has_rows || holds_rows(self->evidence, serving))
            return refuse_changed(self, path, serving, ret_error);
        if (!check_new_path(self, path, old, ret_error))
            return false;
    }
    self->exclusive = self->exclusive || !serving || !same_path(self->recorded, path);
    merge_path(self, path, old, step, &self->merged->paths[self->merged->paths_count++]);
    return true;
}

/* With several writers, a put of a gateway that is gone can compare cells that puts without the path do not
 * leave. So the path is dropped by the steps of a change. */
static bool
check_dropped(const comparing *self, const kw_path_facts *old, kw_error *ret_error)
{
    bool kept = old->hints && kw_path_facts_serving(old) && self->has_rows && !self->evidence->one_writer;
    if (!kw_change_check_same(self->wanted, old, NULL, ret_error))
        return false;
    return !kept ||
           kw_error_set(ret_error, KW_REFUSED,
                        "table %s, path %s: its key has fields that can change; while the table has rows, "
                        "restore the path, or drop it while the table is in use, with a policy that changes "
                        "nothing else of the table's paths: set policy.source: store and run keyway policy "
                        "apply (keyway-changes(7))",
                        self->wanted->table, old->name);
}

/* Retires a path that this policy does not have. Exclusive, because calls must not read its rows, which are
 * no longer updated. If the addition of the path is cancelled, no call reads it, so this is not exclusive. */
static bool
retire_path(comparing *self, const kw_path_facts *old, kw_error *ret_error)
{
    kw_path_facts *to = &self->merged->paths[self->merged->paths_count];
    bool cancelled =
        kw_change_step_of_path(self->step, self->recorded, self->wanted, old->name) == KW_PATH_STEP_END &&
        kw_path_facts_is_changing(old);
    if (cancelled ? !kw_change_check_cancelled(self->step, self->recorded, self->wanted, old, ret_error)
                  : !check_dropped(self, old, ret_error))
        return false;
    *to = *old;
    to->placements = KW_ARENA_ARRAY(self->arena, kw_placement_facts, old->placements_count);
    to->placements_count = 0;
    for (size_t i = 0; i < old->placements_count; i++)
        keep_placement(self, &old->placements[i], cancelled, to);
    self->merged->paths_count += to->placements_count > 0;
    self->exclusive = self->exclusive || (kw_path_facts_serving(old) && !cancelled);
    return true;
}

/* --- a table --------------------------------------------------------------------------------------- */

/* For the first policy of these store tables. Existing rows were written by other programs, or by a release
 * without a catalog. Refuses the policy unless all paths hold rows, or none does; and with rows, a path over
 * fields that can change. */
static bool
adopt_paths(comparing *self, kw_error *ret_error)
{
    bool primary_has_rows = holds_rows(self->evidence, &self->wanted->paths[0].placements[0]);
    for (size_t i = 0; i < self->wanted->paths_count; i++) {
        const kw_path_facts *path = &self->wanted->paths[i];
        bool has_rows = holds_rows(self->evidence, &path->placements[0]);
        if (has_rows && !primary_has_rows)
            return refuse_unrecorded_rows(self, path, ret_error);
        if (primary_has_rows && path->hints)
            return refuse_adopted(self, path, ret_error);
        if (!has_rows && primary_has_rows)
            return refuse_added(self, path, ret_error);
        if (!kw_change_check_same(self->wanted, NULL, path, ret_error))
            return false;
        merge_path(self, path, NULL, KW_PATH_STEP_NONE, &self->merged->paths[self->merged->paths_count++]);
        self->merged->paths[i].placements[0].verified = !has_rows;
    }
    return true;
}

static bool
compare_paths(comparing *self, kw_error *ret_error)
{
    size_t most = self->wanted->paths_count + (self->recorded ? self->recorded->paths_count : 0);
    self->merged->paths = KW_ARENA_ARRAY(self->arena, kw_path_facts, most);
    if (!self->recorded)
        return adopt_paths(self, ret_error);
    for (size_t i = 0; i < self->wanted->paths_count; i++)
        if (!compare_path(self, &self->wanted->paths[i], ret_error))
            return false;
    for (size_t i = 0; i < self->recorded->paths_count; i++)
        if (!kw_facts_find_path(self->wanted, self->recorded->paths[i].name) &&
            !retire_path(self, &self->recorded->paths[i], ret_error))
            return false;
    return true;
}

static bool
compare_marker(comparing *self, kw_error *ret_error)
{
    self->merged->marker = self->wanted->marker;
    if (!self->recorded || g_str_equal(self->recorded->marker, self->wanted->marker))
        return true;
    self->exclusive = true;
    return !self->has_rows ||
           kw_error_set(ret_error, KW_REFUSED,
                        "table %s: the cell that marks its records was %s, and is %s in this policy; records "
                        "without it would not be found: restore the old one (settings marker, family)",
                        self->wanted->table, self->recorded->marker, self->wanted->marker);
}

static bool
refuse_order(const comparing *self, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: its rows were written with order: %s, and this policy has order: %s; "
                        "restore the old order, or " COPY_ROWS_INSTEAD,
                        self->wanted->table, self->recorded->order, self->wanted->order, self->wanted->table);
}

static bool
refuse_atomics(const comparing *self, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_REFUSED,
                        "table %s: its rows hold control cells of increments and putIf, which a policy with "
                        "atomics: false does not hide; leave atomics out, or " COPY_ROWS_INSTEAD,
                        self->wanted->table, self->wanted->table);
}

/* Partial puts of paths over fields that can change compare a cell that a put of a gateway with atomics:
 * false, which can still arrive, does not leave. */
static bool
check_allowed_atomics(const comparing *self, kw_error *ret_error)
{
    const kw_path_facts *hints = kw_facts_find_hints(self->wanted);
    return !hints || self->evidence->one_writer ||
           kw_error_set(ret_error, KW_REFUSED,
                        "table %s: its rows were written with atomics: false, and this policy has atomics: "
                        "true, which cannot change while the table has rows, because the key of path %s has "
                        "fields that can change; restore atomics: false, or " COPY_ROWS_INSTEAD,
                        self->wanted->table, hints->name, self->wanted->table);
}

/* With order: stamp, an atomic operation works only if all earlier writes have left their control cells. */
static bool
refuse_stamped_atomics(const comparing *self, bool on, kw_error *ret_error)
{
    return kw_error_set(
        ret_error, KW_REFUSED,
        "table %s: its rows were written with atomics: %s, and this policy has atomics: %s; restore the old "
        "value, or " CHANGE_ONLINE,
        self->wanted->table, on ? "false" : "true", on ? "true" : "false");
}

/* With order: stamp, a policy without the setting atomics uses the catalog's value, even if the table is
 * empty: the table's rows must not decide whether callers can increment. With order: store, such a policy
 * allows atomic operations. */
static bool
merged_atomics(const comparing *self, bool keeps)
{
    int given = self->wanted->atomics_given;
    if (g_str_equal(self->merged->order, "store"))
        return given != 0;
    return given < 0 ? keeps && self->recorded->atomics : given;
}

static bool
check_atomics(const comparing *self, kw_error *ret_error)
{
    bool was = self->recorded->atomics, is = self->merged->atomics;
    if (was == is || !self->has_rows)
        return true;
    if (g_str_equal(self->merged->order, "store"))
        return is ? check_allowed_atomics(self, ret_error) : refuse_atomics(self, ret_error);
    return self->evidence->one_writer || refuse_stamped_atomics(self, is, ret_error);
}

/* For a policy that adds or drops paths: refuses another value of atomics. */
static bool
check_kept_atomics(const comparing *self, kw_error *ret_error)
{
    int given = self->wanted->atomics_given;
    bool kept = self->merged->atomics;
    return given < 0 || given == kept ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "table %s: its rows were written with atomics: %s, and this policy has atomics: %s; this "
               "cannot change while a path is added or dropped: leave atomics out",
               self->wanted->table, kept ? "true" : "false", given ? "true" : "false");
}

/* A policy without the setting order uses the order with which the rows were written. */
static bool
compare_order(comparing *self, kw_error *ret_error)
{
    const kw_facts *recorded = self->recorded, *wanted = self->wanted;
    bool shared = !self->evidence->one_writer, changing;
    if (!kw_change_merge_atomics(self->step, recorded, wanted, self->merged, &changing, ret_error))
        return false;
    if (changing)
        return true;
    if (shared && kw_change_merge_order(self->recorded, self->wanted, self->merged))
        return check_kept_atomics(self, ret_error);
    bool known = recorded && recorded->order[0];
    bool keeps = known && self->has_rows && !wanted->order_given;
    self->merged->order = keeps ? recorded->order : wanted->order;
    bool same = recorded && g_str_equal(recorded->order, self->merged->order);
    self->merged->atomics = merged_atomics(self, known && same);
    if (!recorded)
        return true;
    if (known && !same && self->has_rows)
        return refuse_order(self, ret_error);
    if (!check_atomics(self, ret_error))
        return false;
    self->exclusive = self->exclusive || !same || recorded->atomics != self->merged->atomics;
    return true;
}

static bool
is_changed(const comparing *self)
{
    return !self->recorded || !kw_bytes_equal(kw_facts_print(self->recorded, self->arena),
                                              kw_facts_print(self->merged, self->arena));
}

bool
kw_facts_compare(const kw_facts *recorded, const kw_facts *wanted, const kw_evidence *evidence,
                 const kw_change_step *step, kw_arena *arena, kw_facts_change *ret_change,
                 kw_error *ret_error)
{
    comparing self = {.recorded = recorded,
                      .wanted = wanted,
                      .evidence = evidence,
                      .step = step,
                      .has_rows = table_holds_rows(recorded ? recorded : wanted, evidence),
                      .arena = arena,
                      .merged = KW_ARENA_NEW(arena, kw_facts)};
    bool renamed = recorded && !g_str_equal(recorded->table, wanted->table);
    self.merged->table = wanted->table;
    if ((renamed && !kw_change_check_rename(recorded, wanted, ret_error)) ||
        !compare_paths(&self, ret_error) || !compare_marker(&self, ret_error) ||
        !compare_order(&self, ret_error) ||
        !kw_facts_compare_fields(recorded, wanted, self.has_rows, arena, self.merged, &self.exclusive,
                                 ret_error))
        return false;
    *ret_change = (kw_facts_change){.merged = self.merged,
                                    .changed = is_changed(&self),
                                    .exclusive = self.exclusive || renamed,
                                    .renamed_from = renamed ? recorded->table : NULL};
    return true;
}

bool
kw_facts_is_renamed(const kw_facts *recorded, const kw_facts *wanted)
{
    size_t serving = 0;
    for (size_t i = 0; i < recorded->paths_count; i++)
        serving += kw_path_facts_serving(&recorded->paths[i]) != NULL;
    if (serving != wanted->paths_count || !g_str_equal(recorded->marker, wanted->marker))
        return false;
    for (size_t i = 0; i < wanted->paths_count; i++)
        if (!same_path(recorded, &wanted->paths[i]))
            return false;
    return true;
}

#include "policy/plan_text.h"

#include "advise/changes.h"

#include <string.h>

/* The time to compare queries seen lately, of all tables. */
#define QUERIES_MS 200

typedef struct planning {
    const kw_policy *old;
    const kw_policy *fresh;
    const kw_policy *final;
    const kw_admission *preview;
    const kw_service *service;
    kw_arena *arena;
    kw_effort effort;
    kw_applied *applied;
    const char **copied; /* as in *applied */
    kw_buffer out;
    bool shown; /* the reason for the refusal is in the plan */
} planning;

static const kw_table *
find_table(const kw_policy *policy, const char *name)
{
    return policy && name ? kw_policy_find_table(policy, kw_bytes_of_text(name)) : NULL;
}

/* The table before the change: under the same name, or under the one that the catalog has. */
static const kw_table *
old_table(const planning *self, const kw_table *table)
{
    const kw_table *same = find_table(self->old, table->name);
    return same ? same : find_table(self->old, kw_admission_recorded_name(self->preview, table->number));
}

/* Says how many existing rows of a new table were checked. */
static void
describe_new(const planning *self, const kw_table *table, kw_buffer *lines)
{
    kw_buffer_append_text(lines, "  new\n");
    for (size_t i = 0; i < table->queried_paths_count; i++) {
        int64_t rows = kw_admission_checked_rows(self->preview, table->number, i);
        if (rows > 0)
            kw_buffer_printf(lines,
                             "  path %s: its store table has rows already; %" G_GINT64_FORMAT
                             " of them were checked and follow the key rule\n",
                             table->paths[i].name, rows);
    }
}

static void
describe_table(planning *self, const kw_table *table, kw_buffer *lines)
{
    const char *recorded = kw_admission_recorded_name(self->preview, table->number);
    const kw_table *old = old_table(self, table);
    if (recorded && strcmp(recorded, table->name) != 0)
        kw_buffer_printf(lines, "  renamed from %s; its rows stay\n", recorded);
    if (old)
        kw_table_changes(old, table, lines);
    else if (recorded)
        kw_buffer_append_text(lines, "  added to the policy; the catalog has it already\n");
    else
        describe_new(self, table, lines);
}

static const kw_placement *
second_placement(const kw_table *table, const char *path)
{
    int index = table ? kw_table_find_path(table, kw_bytes_of_text(path)) : -1;
    return index >= 0 && table->paths[index].placements_count == 2 ? &table->paths[index].placements[1]
                                                                   : NULL;
}

static void
describe_placement(const kw_placement *placement, kw_buffer *lines)
{
    kw_buffer_printf(lines, "%.*s (layout %u)", (int)placement->store_table.size,
                     (const char *)placement->store_table.data, kw_layout_number(placement->layout));
}

static void
describe_held(const kw_path *path, bool store_order, kw_buffer *lines)
{
    if (path == path->table->paths && path->table->model->atomics != 0)
        kw_buffer_printf(lines,
                         "    Increments and conditional writes wait during the last pass of a switch or a "
                         "reverse%s; they fail (UNAVAILABLE) if their deadline passes first.\n",
                         store_order ? ", and while the order of the table changes" : "");
}

/* What writes do until the change ends. */
static void
describe_writes(const kw_path *path, kw_buffer *lines)
{
    if (!path->table->regime_of_change) {
        kw_buffer_append_text(lines,
                              "    Until the change ends, each write is written to both in one commit, "
                              "increments and conditional writes too.\n");
        return;
    }
    bool store_order = path->table->ordering.regime.order == KW_WRITE_ORDER_STORE;
    kw_buffer_append_text(lines,
                          "    Until `keyway change complete`, each write goes to both store tables. Queries "
                          "read the old rows, and after `keyway change switch` the new ones.\n"
                          "    Puts write the tables one after the other only during the last pass of a "
                          "switch or a reverse.\n");
    if (store_order)
        kw_buffer_append_text(
            lines, "    Until the change ends, the table has order: stamp, so the gateways set the "
                   "timestamps.\n");
    describe_held(path, store_order, lines);
    kw_buffer_append_text(lines,
                          "    Until the change ends, no other program must write either store table.\n");
}

/* True for a path that the policy adds to a table with rows. */
static bool
is_added(const kw_table *old, const kw_path *path)
{
    return kw_path_is_filling(path) && kw_table_find_path(old, kw_bytes_of_text(path->name)) < 0;
}

static void
describe_added(const kw_path *path, kw_buffer *lines)
{
    bool hints = path->content == KW_CONTENT_HINTS;
    kw_buffer_printf(lines,
                     hints ? "  path %s: hints of all rows of path %s are written to store table "
                           : "  path %s: its rows are copied from path %s to store table ",
                     path->name, path->table->paths->name);
    describe_placement(path->placements, lines);
    kw_buffer_append_text(lines, ", while the table is served.\n");
}

static void
describe_new_order(const kw_table *table, kw_buffer *lines)
{
    kw_buffer_append_text(
        lines, "    The table permanently gets order: stamp, so the gateways set the timestamps.\n");
    if (table->ordering.regime.atomics != KW_ATOMICS_OFF)
        kw_buffer_append_text(lines,
                              "    Increments and conditional writes wait while the order changes; they "
                              "fail (UNAVAILABLE) if their deadline passes first.\n");
}

static bool
adds_hints(const kw_table *old, const kw_table *fresh)
{
    bool hints = false;
    for (size_t i = 0; i < fresh->queried_paths_count; i++)
        hints = hints || (fresh->paths[i].content == KW_CONTENT_HINTS && is_added(old, &fresh->paths[i]));
    return hints;
}

/* What the additions of all paths mean. A policy adds either paths with records or hint paths. */
static void
describe_additions(const kw_table *old, const kw_table *table, kw_buffer *lines)
{
    if (adds_hints(old, table)) {
        kw_buffer_append_text(
            lines,
            "    From now on puts write hints, and a put of some of the fields of the path's key first "
            "reads the others, or is refused (keyway-policy(5)). Queries can use the path when all "
            "hints are written.\n");
        return;
    }
    bool store_order = table->ordering.regime.order == KW_WRITE_ORDER_STORE;
    if (!table->regime_of_change) {
        kw_buffer_append_text(
            lines, "    From now on each write is written to all paths in one commit. Queries can use "
                   "the path when it has all rows.\n");
        return;
    }
    kw_buffer_append_text(
        lines, "    Queries can use the path when it has all rows. Until then, puts go to all paths at the "
               "same time, and removals to the added path first, then to the primary one; afterwards all "
               "writes go to all paths at the same time.\n");
    if (store_order)
        describe_new_order(table, lines);
    kw_buffer_append_text(lines,
                          "    Until the change ends, no other program must write the store tables.\n");
}

/* Describes changes of key rules that begin with this version or that it cancels, and paths that it adds.
 * True if rows are copied. */
static bool
describe_key_changes(const kw_table *old, const kw_table *fresh, kw_buffer *lines)
{
    bool adds = false, copies = false;
    for (size_t i = 0; i < fresh->queried_paths_count; i++) {
        const kw_path *path = &fresh->paths[i];
        const kw_placement *before = second_placement(old, path->name);
        const kw_placement *after = second_placement(fresh, path->name);
        if (is_added(old, path))
            describe_added(path, lines);
        adds = adds || is_added(old, path);
        if (after && !before) {
            copies = true;
            kw_buffer_printf(lines, "  path %s: its rows move from store table ", path->name);
            describe_placement(after, lines);
            kw_buffer_append_text(lines, " to ");
            describe_placement(&path->placements[0], lines);
            kw_buffer_append_text(lines, ", while the table is served.\n");
            describe_writes(path, lines);
        } else if (before && !after) {
            kw_buffer_printf(lines, "  path %s: the change of its key rule is cancelled; its rows stay in ",
                             path->name);
            describe_placement(before, lines);
            kw_buffer_append_text(lines, "\n");
        }
    }
    if (adds)
        describe_additions(old, fresh, lines);
    return adds || copies;
}

/* Describes paths that are dropped while several gateways serve. If only one gateway serves, kw_table_changes
 * has described them. */
static void
describe_drops(const kw_table *old, const kw_table *fresh, kw_buffer *lines)
{
    bool drops = false;
    for (size_t i = 0; i < fresh->placements_count; i++) {
        const kw_placement *placement = &fresh->placements[i];
        if (!kw_path_is_dropped(placement->path) ||
            kw_table_find_path(old, kw_bytes_of_text(placement->path->name)) < 0)
            continue;
        kw_buffer_printf(lines, "  path %s: its %s stay in store table ", placement->path->name,
                         placement->content == KW_CONTENT_HINTS ? "hints" : "rows");
        describe_placement(placement, lines);
        kw_buffer_printf(lines, " until `keyway forget %s --path %s --drop-rows`.\n", fresh->name,
                         placement->path->name);
        drops = true;
    }
    if (drops)
        kw_buffer_append_text(
            lines, "    Queries do not use the path from now on. When all gateways have this version, writes "
                   "do not use it either.\n");
}

/* Describes a change of the setting atomics that begins with this version. */
static void
describe_atomics(const kw_table *old, const kw_table *fresh, int64_t late_ms, kw_buffer *lines)
{
    bool allows = fresh->model->atomics == 1;
    if (fresh->change != KW_TABLE_TURNS_ATOMICS || old->change == KW_TABLE_TURNS_ATOMICS)
        return;
    kw_buffer_printf(
        lines,
        "  increments and conditional writes become %s while the table is served; no row is copied.\n"
        "    All writes write a control cell, and increments and conditional writes wait; "
        "they "
        "fail (UNAVAILABLE) if their deadline passes first.\n"
        "    The change ends by itself when all gateways serve this version, all calls from before have "
        "ended, "
        "and %" G_GINT64_FORMAT " s (store.late) have passed. %s\n",
        allows ? "allowed" : "forbidden", (late_ms + 999) / 1000,
        allows ? "Before its end it can be cancelled." : "It cannot be cancelled.");
}

/* Describes what becomes of the queries that this gateway has seen lately. */
static void
compare_queries(planning *self, const kw_table *old, const kw_table *fresh, bool copies, kw_buffer *lines)
{
    const kw_table *final = find_table(self->final, fresh->name);
    const kw_seen_query *queries = NULL;
    size_t count = 0;
    if (self->service && final)
        queries = kw_service_seen_queries(self->service, old->name, self->arena, &count);
    if (count > 0)
        kw_seen_queries_compare(old, final, queries, count, &kw_policy_model(self->final)->limits,
                                &self->effort, lines);
    else if (copies)
        kw_buffer_append_text(lines, "  This gateway answered no queries of the table in the last hour.\n");
}

static void
plan_changes(planning *self, const kw_table *old, const kw_table *fresh, kw_buffer *lines)
{
    bool copies = describe_key_changes(old, fresh, lines);
    describe_drops(old, fresh, lines);
    describe_atomics(old, fresh, kw_policy_model(self->fresh)->store.hbase.late_ms, lines);
    if (copies)
        self->copied[self->applied->copied_count++] =
            kw_arena_text(self->arena, kw_bytes_of_text(fresh->name));
    if (kw_buffer_bytes(lines).size > 0)
        compare_queries(self, old, fresh, copies, lines);
}

static void
plan_table(planning *self, const kw_table *table)
{
    const kw_error *refusal = kw_admission_refusal(self->preview, table->number);
    kw_buffer lines = KW_BUFFER_EMPTY;
    describe_table(self, table, &lines);
    if (old_table(self, table) && !refusal)
        plan_changes(self, old_table(self, table), table, &lines);
    if (refusal)
        kw_buffer_printf(&lines, "  REFUSED: %s\n", refusal->text);
    self->shown = self->shown || refusal;
    if (kw_buffer_bytes(&lines).size > 0) {
        kw_buffer_printf(&self->out, "table %s\n", table->name);
        kw_buffer_append(&self->out, kw_buffer_bytes(&lines));
    }
    kw_buffer_clear(&lines);
}

static bool
continues(const planning *self, const kw_table *old)
{
    for (size_t i = 0; i < kw_policy_table_count(self->fresh); i++)
        if (old_table(self, kw_policy_table(self->fresh, i)) == old)
            return true;
    return false;
}

static void
list_removed(planning *self)
{
    for (size_t i = 0; self->old && i < kw_policy_table_count(self->old); i++) {
        const kw_table *table = kw_policy_table(self->old, i);
        if (!continues(self, table))
            kw_buffer_printf(&self->out,
                             "table %s\n  no longer served; its rows stay until `keyway forget %s`\n",
                             table->name, table->name);
    }
}

static void
list_sequences(planning *self)
{
    if (!self->old)
        return;
    const kw_model_sequences *a = &kw_policy_model(self->old)->sequences;
    const kw_model_sequences *b = &kw_policy_model(self->fresh)->sequences;
    if (a->keep_ms != b->keep_ms)
        kw_buffer_append_text(&self->out, "sequences\n  keep changes when each gateway is restarted\n");
}

void
kw_policy_plan(const kw_plan_of_policy *given, kw_arena *arena, kw_applied *ret_applied)
{
    size_t count = kw_policy_table_count(given->fresh);
    planning self = {.old = given->old,
                     .fresh = given->fresh,
                     .final = given->final,
                     .preview = given->preview,
                     .service = given->service,
                     .arena = arena,
                     .effort = {.deadline = kw_deadline_in_ms(QUERIES_MS)},
                     .applied = ret_applied,
                     .copied = KW_ARENA_ARRAY(arena, const char *, count),
                     .out = KW_BUFFER_EMPTY};
    ret_applied->copied = self.copied;
    for (size_t i = 0; i < count; i++)
        plan_table(&self, kw_policy_table(given->fresh, i));
    list_removed(&self);
    list_sequences(&self);
    if (ret_applied->copied_count > 1 && given->refusal->code == KW_OK)
        kw_buffer_append_text(&self.out,
                              "To cancel the change of one of these tables cancels those of all.\n");
    if (given->advice && given->refusal->code == KW_OK)
        kw_buffer_append_text(&self.out, given->advice);
    if (given->refusal->code != KW_OK && !self.shown)
        kw_buffer_printf(&self.out, "REFUSED: %s\n", given->refusal->text);
    if (kw_buffer_bytes(&self.out).size == 0)
        kw_buffer_append_text(&self.out, "only the text changes\n");
    ret_applied->plan = kw_arena_text(arena, kw_buffer_bytes(&self.out));
    kw_buffer_clear(&self.out);
}

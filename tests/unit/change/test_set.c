/* The policy of a change's version. */
#include "change/set.h"

#include "rule/policies.h"
#include "store/control.h"

#include <glib.h>

#define FIELDS "    fields: {id: {type: string, max_bytes: 20}, ts: {type: timestamp, unit: ms}, n: int}\n"
#define OLD FIELDS "    key: [{field: id}, {field: ts}]\n"
#define NEW FIELDS "    key: [{field: ts}, {field: id}]\n"
#define OLD_SECOND                                                                                           \
    OLD "    paths: {second: {key: [{field: ts}, {field: id}], store_table: t}}\n    store_table: p\n"
#define NEW_SECOND                                                                                           \
    OLD "    paths: {second: {key: [hash: {of: [id], take: 2}, field: ts, field: id], store_table: t}}\n"    \
        "    store_table: p\n"

/* A change of the path's key rule. */
static kw_change_record
record_of(kw_change_place place, bool store_order, const char *path)
{
    return (kw_change_record){.table = "t",
                              .path = path,
                              .given = {1, "t"},
                              .now = {2, "t2"},
                              .under_way = true,
                              .old = {1, "t"},
                              .old_given = {1, "t"},
                              .old_version = {1, "0123456789abcdef0123456789abcdef"},
                              .new_version = 2,
                              .place = place,
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .step = 1,
                              .holder = "",
                              .store_order = store_order,
                              .started_ms = 1000,
                              .author = "",
                              .reason = "",
                              .example = ""};
}

/* The table at the place. Caller frees. */
static kw_policy *
compile_path(kw_change_place place, bool store_order, const char *path)
{
    bool primary = g_str_equal(path, "primary");
    g_autoptr(kw_policy) old = test_policy(primary ? OLD : OLD_SECOND),
                         new = test_policy(primary ? NEW : NEW_SECOND);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    const kw_change_record record = record_of(place, store_order, path);
    kw_change_set *set = kw_change_set_new(&record, 1, NULL);
    kw_change_set_add_model(set, 0, kw_policy_model(old));
    kw_policy *policy = kw_change_set_compile(set, kw_policy_model(new), problems);
    kw_change_set_unref(set);
    g_assert_nonnull(policy);
    return policy;
}

static bool
is_held(const kw_table *table)
{
    return table->ordering.regime.atomics == KW_ATOMICS_HELD;
}

static bool
keeps_gone(kw_change_place place, bool store_order)
{
    g_autoptr(kw_policy) policy = compile_path(place, store_order, "primary");
    return kw_policy_find_table(policy, KW_BYTES_LITERAL("t"))->ordering.regime.keeps_gone;
}

/* The last sweep leaves the gone cells of removals that run at the same time. So gone cells expire at
 * the places where a change can end with a sweep: for a table with order: stamp, on rung `alone`. */
KW_TEST(test_keeps_gone, "/change/set/keeps gone")
{
    for (kw_change_place id = 0; id < KW_PLACES; id++) {
        if (!kw_change_ladder_has(KW_LADDER_MOVE, id))
            continue;
        bool control = kw_change_rules_at(KW_LADDER_MOVE, id).regime.order == KW_WRITE_ORDER_STAMP,
             ends = id == KW_OLD(ALONE) || id == KW_NEW(ALONE);
        g_assert_true(keeps_gone(id, true) == control);
        g_assert_true(keeps_gone(id, false) == (control && !ends));
    }
}

static bool
holds_atomics(kw_change_place place, const char *path)
{
    g_autoptr(kw_policy) policy = compile_path(place, false, path);
    const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
    g_assert_cmpint(table->change, ==, KW_TABLE_MOVES);
    return is_held(table);
}

/* Atomic operations decide in the primary path, so the change of another path does not hold them. */
KW_TEST(test_held_atomics, "/change/set/held atomics")
{
    for (kw_change_place id = 0; id < KW_PLACES; id++) {
        if (!kw_change_ladder_has(KW_LADDER_MOVE, id))
            continue;
        bool held = kw_change_rules_at(KW_LADDER_MOVE, id).regime.atomics == KW_ATOMICS_HELD;
        g_assert_true(holds_atomics(id, "primary") == held);
        g_assert_false(holds_atomics(id, "second"));
    }
}

/* --- added paths -----------------------------------------------------------------------------------------
 */

#define PATHS                                                                                                \
    OLD "    paths: {by_ts: {key: [{field: ts}, {field: id}]}, by_n: {key: [{hash: "                         \
        "{of: [id]}}, {field: "                                                                              \
        "id}, "                                                                                              \
        "{field: ts}]}, there: {key: [{hash: {of: [ts]}}, {field: id}, {field: ts}]}}\n"

#define LEFT OLD "    paths: {there: {key: [{hash: {of: [ts]}}, {field: id}, {field: ts}]}}\n"

static const kw_added_path by_n = {"by_n", {1, "t_by_n"}};

static kw_policy *
compile_paths(kw_change_place place, kw_change_writers writers, bool drops)
{
    g_autoptr(kw_policy) old = test_policy(drops ? PATHS : OLD), new = test_policy(drops ? LEFT : PATHS);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    const kw_change_record record = {.table = "t",
                                     .path = "by_ts",
                                     .given = {1, "t_by_ts"},
                                     .now = {1, "t_by_ts"},
                                     .under_way = true,
                                     .old = {1, "t"},
                                     .old_given = {1, "t"},
                                     .old_version = {1, "0123456789abcdef0123456789abcdef"},
                                     .new_version = 2,
                                     .place = place,
                                     .adds = true,
                                     .drops = drops,
                                     .more = &by_n,
                                     .more_count = 1,
                                     .writers = writers,
                                     .step = 1,
                                     .holder = "",
                                     .store_order = !drops,
                                     .started_ms = 1000,
                                     .author = "",
                                     .reason = "",
                                     .example = ""};
    kw_change_set *set = kw_change_set_new(&record, 1, NULL);
    kw_change_set_add_model(set, 0, kw_policy_model(old));
    kw_policy *policy = kw_change_set_compile(set, kw_policy_model(new), problems);
    kw_change_set_unref(set);
    g_assert_nonnull(policy);
    return policy;
}

static kw_policy *
compile_added(kw_change_place place, kw_change_writers writers)
{
    return compile_paths(place, writers, false);
}

static void
assert_role(const kw_path *path, kw_role role)
{
    const kw_role *found = &path->placements[0].role;
    g_assert_cmpuint(path->placements_count, ==, 1);
    g_assert_cmpuint(found->put, ==, role.put);
    g_assert_cmpuint(found->remove, ==, role.remove);
    g_assert_true(found->get == role.get && found->scan == role.scan);
}

/* All added paths have the role of the new placement, the primary path has that of the old one, and a path
 * that was there before is written together with the added ones. */
KW_TEST(test_added, "/change/set/added paths")
{
    const kw_change_place places[] = {KW_OLD(UNSTAMPED), KW_OLD(HELD),   KW_OLD(ALONE),
                                      KW_OLD(OPENING),   KW_OLD(SPACED), KW_OLD(FILLED)};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        kw_change_rules rules = kw_change_rules_at(KW_LADDER_ADD, places[i]);
        g_autoptr(kw_policy) policy = compile_added(places[i], KW_CHANGE_SEVERAL_WRITERS);
        const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
        assert_role(&table->paths[0], rules.old_role);
        assert_role(&table->paths[1], rules.new_role);
        assert_role(&table->paths[2], rules.new_role);
        assert_role(&table->paths[3], (kw_role){1, 1, true, true});
        g_assert_true(kw_path_is_filling(&table->paths[1]) == !rules.new_role.scan);
        g_assert_true(table->change == KW_TABLE_ADDS && table->regime_of_change);
        g_assert_true(is_held(table) == (rules.regime.atomics == KW_ATOMICS_HELD));
        g_assert_cmpint(table->ordering.regime.order, ==, rules.regime.order);
        g_assert_true(table->ordering.regime.waits_for_next_ms == rules.regime.waits_for_next_ms);
        g_assert_true(table->ordering.regime.keeps_gone ==
                      (rules.regime.order == KW_WRITE_ORDER_STAMP && places[i] != KW_OLD(FILLED)));
    }
}

/* All writes write kw:w, whatever the text says about atomic operations, and these wait. */
KW_TEST(test_atomics, "/change/set/atomics")
{
    const char *texts[] = {PATHS, "    order: stamp\n    atomics: true\n" PATHS,
                           "    order: stamp\n    atomics: false\n" PATHS};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(kw_policy) text = test_policy(texts[i]);
        g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
        const kw_change_record record = {.table = "t",
                                         .path = "primary",
                                         .given = {1, "t"},
                                         .now = {1, "t"},
                                         .under_way = true,
                                         .old = {1, "t"},
                                         .old_given = {1, "t"},
                                         .old_version = {1, "0123456789abcdef0123456789abcdef"},
                                         .place = KW_OLD(STAMPED),
                                         .atomics = true,
                                         .drops = i == 2,
                                         .writers = KW_CHANGE_SEVERAL_WRITERS,
                                         .step = 1,
                                         .goal = KW_NEW(ALONE),
                                         .holder = "",
                                         .author = "",
                                         .reason = "",
                                         .example = ""};
        kw_change_set *set = kw_change_set_new(&record, 1, NULL);
        g_autoptr(kw_policy) policy = kw_change_set_compile(set, kw_policy_model(text), problems);
        kw_change_set_unref(set);
        g_assert_nonnull(policy);
        kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STAMP, false); /* what the catalog has */
        const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
        g_assert_true(is_held(table) && table->change == KW_TABLE_TURNS_ATOMICS);
        g_assert_true(kw_writes_writer(&table->ordering) &&
                      table->ordering.regime.order == KW_WRITE_ORDER_STAMP);
        g_assert_true(!kw_table_changes_rows(table) && !table->ordering.regime.keeps_gone);
        for (size_t path = 0; path < table->queried_paths_count; path++)
            assert_role(&table->paths[path], (kw_role){1, 1, true, true});
    }
}

/* Paths that are dropped are not in the policy, and writes reach their placements. */
KW_TEST(test_dropped, "/change/set/dropped paths")
{
    const kw_change_place places[] = {KW_OLD(SPACED), KW_OLD(OPENING), KW_OLD(ALONE)};
    for (size_t i = 0; i < G_N_ELEMENTS(places); i++) {
        kw_change_rules rules = kw_change_rules_at(KW_LADDER_ADD, places[i]);
        g_autoptr(kw_policy) policy = compile_paths(places[i], KW_CHANGE_SEVERAL_WRITERS, true);
        const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
        g_assert_cmpuint(table->queried_paths_count, ==, 2);
        g_assert_cmpuint(table->placements_count, ==, 4);
        assert_role(&table->paths[0], rules.old_role);
        assert_role(&table->paths[1], (kw_role){1, 1, true, true});
        for (size_t j = 0; j < table->placements_count; j++) {
            const kw_path *path = table->placements[j].path;
            g_assert_cmpuint(table->placements[j].number, ==, j);
            g_assert_true(kw_path_is_dropped(path) == (j >= table->queried_paths_count));
            if (j >= table->queried_paths_count)
                assert_role(path, rules.new_role);
        }
        g_assert_true(table->change == KW_TABLE_DROPS && !is_held(table) &&
                      !table->ordering.regime.keeps_gone);
    }
}

/* The text has several paths, for which atomic operations are not the default. Until the stamped versions,
 * removals must notice those of gateways at the version before. */
KW_TEST(test_added_after_atomics, "/change/set/added path, atomic operations")
{
    g_autoptr(kw_policy) policy = compile_added(KW_OLD(HELD), KW_CHANGE_SEVERAL_WRITERS);
    const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
    g_assert_cmpint(table->model->atomics, <, 0);
    g_assert_cmpint(table->ordering.regime.order, ==, KW_WRITE_ORDER_STORE);
    g_assert_true(kw_writes_generation(&table->ordering) && is_held(table));
    kw_policy_set_order(policy, table->number, KW_WRITE_ORDER_STORE, true); /* what the catalog has */
    g_assert_true(kw_writes_generation(&table->ordering) && is_held(table));
}

KW_TEST(test_added_by_one_writer, "/change/set/added paths, one writer")
{
    g_autoptr(kw_policy) policy = compile_added(KW_OLD(BOTH), KW_CHANGE_ONE_WRITER);
    const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
    assert_role(&table->paths[0], (kw_role){1, 1, true, true});
    assert_role(&table->paths[1], (kw_role){1, 1, false, false});
    assert_role(&table->paths[2], (kw_role){1, 1, false, false});
    g_assert_true(table->change == KW_TABLE_ADDS && !table->regime_of_change && !is_held(table));
}

/* Followers poll often only while a step can follow soon. */
KW_TEST(test_expected_steps, "/change/set/expected steps")
{
    kw_change_record record = record_of(KW_OLD(OPENING), false, "primary");
    record.goal = KW_OLD(BOTH);
    g_autoptr(kw_change_set) one = kw_change_set_new(&record, 1, NULL);
    g_assert_true(kw_change_set_expects_step(one, NULL));
    g_assert_false(kw_change_set_expects_step(one, one));
    record.place = KW_OLD(BOTH);
    record.step = 4;
    g_autoptr(kw_change_set) resting = kw_change_set_new(&record, 1, NULL);
    g_assert_false(kw_change_set_expects_step(resting, one)); /* for a pass, once a minute */
    g_assert_false(kw_change_set_waits_for_switch(one));
    g_assert_true(kw_change_set_waits_for_switch(resting));
    record.goal = KW_NEW(BOTH);
    g_autoptr(kw_change_set) ordered = kw_change_set_new(&record, 1, NULL);
    g_assert_true(kw_change_set_expects_step(ordered, resting)); /* a new goal, before the first step */
    g_assert_false(kw_change_set_waits_for_switch(ordered));
    record.step = 5;
    g_autoptr(kw_change_set) switched = kw_change_set_new(&record, 1, NULL);
    g_assert_true(kw_change_set_expects_step(switched, resting));
    record.under_way = false;
    g_autoptr(kw_change_set) ended = kw_change_set_new(&record, 1, NULL);
    g_assert_false(kw_change_set_expects_step(ended, switched));
    record.under_way = true;
    record.writers = KW_CHANGE_ONE_WRITER;
    record.place = KW_OLD(BOTH);
    g_autoptr(kw_change_set) alone = kw_change_set_new(&record, 1, NULL);
    g_assert_false(kw_change_set_expects_step(alone, NULL));
}

/* The record of the change of another path, after so many copied rows. */
static kw_change_record
other_of(uint64_t rows_copied)
{
    kw_change_record record = record_of(KW_OLD(BOTH), true, "other");
    record.rows_copied = rows_copied;
    return record;
}

static uint64_t
rows_copied_in(const kw_change_set *set, const char *path)
{
    const kw_change_record *found = kw_changes_find(set->records, set->count, "t", path);
    g_assert_nonnull(found);
    return found->rows_copied;
}

/* A step of one change keeps what the present set knows of the other ones. */
KW_TEST(test_step_of_one, "/change/set/step of one change")
{
    kw_change_record stepped = record_of(KW_OLD(OPENING), true, "primary");
    const kw_change_record old[] = {stepped, other_of(500)};
    stepped.place = KW_OLD(BOTH);
    stepped.step++;
    const kw_change_record new[] = {stepped, other_of(500), record_of(KW_OLD(ALONE), true, "third")};
    const kw_change_record own[] = {old[0], other_of(100)};
    g_autoptr(kw_change_set) before = kw_change_set_new(old, 2, NULL),
                             after = kw_change_set_new(new, 3, NULL),
                             present = kw_change_set_new(own, 2, NULL);
    g_autoptr(kw_change_set) found = kw_change_set_with_step(present, before, after),
                             unknown = kw_change_set_with_step(NULL, before, after);
    g_assert_cmpuint(found->count, ==, 3);
    g_assert_false(kw_change_set_differs(found, after));
    g_assert_cmpuint(rows_copied_in(found, "other"), ==, 100);
    g_assert_cmpuint(rows_copied_in(unknown, "other"), ==, 500);
}

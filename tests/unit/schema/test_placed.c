/* Policies whose placements differ from their text: during and after a change of a key rule. */
#include "config/reader.h"
#include "rule/compile.h"
#include "rule/policies.h"
#include "schema/progress.h"

#define FIELDS "    fields: {id: string, n: int, ts: {type: timestamp, column: 'd:ts'}}\n"
#define OLD FIELDS "    key: [field: id]\n"
#define NEW FIELDS "    key: [salt: {buckets: 4, of: [id]}, field: id]\n"
#define ROLE_ALL                                                                                             \
    {                                                                                                        \
        1, 1, true, true                                                                                     \
    }
#define ROLE_WRITE                                                                                           \
    {                                                                                                        \
        1, 1, false, false                                                                                   \
    }

static kw_model *
model_of(const char *yaml)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autofree char *text = g_strdup_printf("tables:\n  t:\n%s", yaml);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    kw_model *model = kw_model_read_text("test", text, strlen(text), schemas, count, diagnostics);
    if (!model) {
        g_autofree char *problems = kw_diagnostics_text(diagnostics);
        g_error("refused:\n%s\n%s", yaml, problems);
    }
    return model;
}

/* A change of the primary path under way, which reads the old placement. */
static kw_placing
changing(kw_model *old)
{
    static const kw_regime held = {.order = KW_WRITE_ORDER_STORE, .atomics = KW_ATOMICS_HELD};
    return (kw_placing){.table = "t",
                        .path = "primary",
                        .given = {1, "t"},
                        .now = {2, "t_L2"},
                        .change = KW_TABLE_MOVES,
                        .regime = &held,
                        .old_model = old,
                        .old = {1, "t"},
                        .role = ROLE_WRITE,
                        .old_role = ROLE_ALL};
}

static bool
is_held(const kw_table *table)
{
    return table->ordering.regime.atomics == KW_ATOMICS_HELD;
}

static kw_policy *
placed(const char *yaml, const kw_placing *placings, size_t count)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_model) model = model_of(yaml);
    kw_policy *policy = kw_policy_new_placed(model, placings, count, diagnostics);
    if (!policy) {
        g_autofree char *problems = kw_diagnostics_text(diagnostics);
        g_error("refused:\n%s\n%s", yaml, problems);
    }
    return policy;
}

/* The policy is refused with exactly one problem, whose text begins with `problem`. */
static void
assert_refused(const char *yaml, const kw_placing *placing, const char *problem)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autoptr(kw_model) model = model_of(yaml);
    g_autoptr(kw_policy) policy = kw_policy_new_placed(model, placing, 1, diagnostics);
    g_autofree char *text = kw_diagnostics_text(diagnostics);
    g_assert_null(policy);
    if (kw_diagnostics_count(diagnostics) != 1 ||
        !g_str_has_prefix(kw_diagnostics_get(diagnostics, 0)->message, problem))
        g_error("\"%s\" is not the one problem \"%s\"", text, problem);
    g_assert_nonnull(kw_diagnostics_get(diagnostics, 0)->hint);
}

static void
assert_refused_change(const char *old, const char *fresh, const char *problem)
{
    g_autoptr(kw_model) model = model_of(old);
    kw_placing placing = changing(model);
    assert_refused(fresh, &placing, problem);
}

static void
assert_key(const kw_placement *placement, const char *expected)
{
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_value values[] = {test_text("a"), test_number(1), test_number(2)};
    kw_record record = {.values = values};
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_layout_encode(placement->layout, &record, &key, &error));
    g_autofree char *hex = test_hex(kw_buffer_bytes(&key));
    g_assert_cmpstr(hex, ==, expected);
    kw_buffer_clear(&key);
}

KW_TEST(test_changing, "/schema/placed/changing")
{
    kw_model *old = model_of(OLD);
    kw_placing placing = changing(old);
    g_autoptr(kw_policy) policy = placed(NEW, &placing, 1);
    kw_model_unref(old); /* the policy has its own reference */
    const kw_table *table = kw_policy_table(policy, 0);
    const kw_path *path = &table->paths[0];
    g_assert_true(table->change == KW_TABLE_MOVES && kw_table_changes_rows(table) && is_held(table));
    g_assert_cmpuint(path->placements_count, ==, 2);
    g_assert_cmpuint(table->placements_count, ==, 2);
    for (size_t number = 0; number < 2; number++) {
        const kw_placement *placement = &table->placements[number];
        g_assert_true(placement == &path->placements[number] && placement->path == path);
        g_assert_cmpuint(placement->number, ==, number);
        g_assert_cmpuint(kw_layout_number(placement->layout), ==, number ? 1 : 2);
        g_assert_cmpstr(kw_layout_store_table(placement->layout), ==, number ? "t" : "t_L2");
        g_assert_true(kw_bytes_equal(placement->store_table,
                                     kw_bytes_of_text(kw_layout_store_table(placement->layout))));
        g_assert_true(placement->role.put == 1 && placement->role.remove == 1);
        g_assert_true(placement->role.scan == (number == 1) && placement->role.get == (number == 1));
    }
    g_assert_true(kw_path_scanned(path) == &path->placements[1]);
    g_assert_true(path->layout == path->placements[0].layout);
    g_assert_cmpstr(path->model->store_table, ==, "t_L2");
    g_assert_cmpstr(kw_path_text(path)->store_table, ==, "t");
    g_assert_cmpint(kw_path_text(path)->layout, ==, 1);
    g_assert_cmpint(kw_table_default_order(table), ==, KW_WRITE_ORDER_STORE);
    assert_key(&path->placements[1], "61");
    g_assert_cmpuint(kw_layout_buckets(path->placements[0].layout), ==, 4);
}

/* A change can set the regime. Then the catalog only decides whether atomic operations are allowed. */
KW_TEST(test_regime, "/schema/placed/regime")
{
    static const kw_regime regime = {.order = KW_WRITE_ORDER_STAMP,
                                     .atomics = KW_ATOMICS_HELD,
                                     .waits_for_next_ms = true,
                                     .keeps_gone = true};
    g_autoptr(kw_model) old = model_of(OLD);
    kw_placing placing = changing(old);
    placing.regime = &regime;
    g_autoptr(kw_policy) policy = placed(NEW, &placing, 1);
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_true(kw_regime_equal(table->ordering.regime, regime));
    kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STORE, true);
    g_assert_true(kw_regime_equal(table->ordering.regime, regime));
    kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STORE, false);
    g_assert_cmpint(table->ordering.regime.order, ==, KW_WRITE_ORDER_STAMP);
    g_assert_cmpint(table->ordering.regime.atomics, ==, KW_ATOMICS_OFF);
    g_assert_true(table->ordering.regime.waits_for_next_ms && table->ordering.regime.keeps_gone);
}

/* With one writer, a change sets no regime. */
KW_TEST(test_no_regime, "/schema/placed/no-regime")
{
    static const kw_regime stamp = {.order = KW_WRITE_ORDER_STAMP, .atomics = KW_ATOMICS_CAS};
    g_autoptr(kw_model) old = model_of(OLD);
    kw_placing placing = changing(old);
    placing.regime = NULL;
    g_autoptr(kw_policy) policy = placed(NEW, &placing, 1);
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_true(table->change == KW_TABLE_MOVES && !table->regime_of_change);
    g_assert_cmpint(table->ordering.regime.atomics, ==, KW_ATOMICS_NATIVE);
    kw_policy_set_order(policy, 0, KW_WRITE_ORDER_STAMP, true);
    g_assert_true(kw_regime_equal(table->ordering.regime, stamp));
}

/* A path that is being added gets writes and no reads, until the change lets scans read it. */
KW_TEST(test_added, "/schema/placed/added")
{
#define ADDED "    paths: {p: {key: [hash: id, field: id]}}\n"
    kw_placing placing = {
        .table = "t", .path = "p", .given = {1, "t_p"}, .now = {1, "t_p"}, .change = KW_TABLE_ADDS};
    placing.old_role = (kw_role)ROLE_ALL;
    for (int scanned = 0; scanned < 2; scanned++) {
        placing.role = scanned ? (kw_role)ROLE_ALL : (kw_role)ROLE_WRITE;
        g_autoptr(kw_policy) policy = placed(OLD ADDED, &placing, 1);
        const kw_table *table = kw_policy_table(policy, 0);
        const kw_path *path = &table->paths[1];
        g_assert_cmpint(table->change, ==, KW_TABLE_ADDS);
        g_assert_cmpuint(path->placements_count, ==, 1);
        g_assert_true(path->placements[0].role.put == 1);
        g_assert_cmpint(path->placements[0].role.scan, ==, scanned);
        g_assert_cmpint(path->placements[0].complete, ==, scanned);
        g_assert_cmpint(kw_path_is_filling(path), ==, !scanned);
        g_assert_false(kw_path_is_filling(&table->paths[0]));
        kw_policy_set_path_filled(policy, "t", "primary", 30);
        kw_policy_set_path_filled(policy, "t", "p", 40);
        kw_policy_set_path_filled(policy, "t", "gone", 50);
        kw_policy_set_path_filled(policy, "gone", "p", 50);
        g_assert_cmpuint(table->paths[0].progress->filled, ==, 30);
        g_assert_cmpuint(path->progress->filled, ==, 40);
    }
}

/* While a path is added, the change sets what operations do with the rows of the primary path, wherever the
 * path is in the text. Other paths are as usual. */
KW_TEST(test_primary_while_added, "/schema/placed/primary-while-added")
{
#define TWO_PATHS "    paths: {o: {key: [literal: x, field: id]}, p: {key: [hash: id, field: id]}}\n"
    static const char *const names[] = {"o", "p"};
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
        kw_placing placing = {.table = "t", .path = names[i], .change = KW_TABLE_ADDS};
        placing.given = placing.now = (kw_placed_rule){1, i ? "t_p" : "t_o"};
        placing.role = (kw_role)ROLE_WRITE;
        placing.old_role = (kw_role){.put = 2, .remove = 1, .get = true, .scan = true};
        g_autoptr(kw_policy) policy = placed(OLD TWO_PATHS, &placing, 1);
        const kw_table *table = kw_policy_table(policy, 0);
        const kw_role *primary = &table->paths[0].placements[0].role;
        g_assert_true(primary->put == 2 && primary->remove == 1 && primary->get && primary->scan);
        for (size_t path = 1; path <= 2; path++) {
            const kw_role *role = &table->paths[path].placements[0].role;
            g_assert_true(role->put == 1 && role->remove == 1);
            g_assert_cmpint(role->scan, ==, path != i + 1);
        }
    }
}

/* While a hint path is dropped, puts write its hints, so that its fields count as those of a tuple. */
KW_TEST(test_dropped_hints, "/schema/placed/dropped-hints")
{
    kw_model *old = model_of(OLD "    paths: {by_n: {key: [field: n, field: id]}}\n");
    kw_placing placing = {.table = "t",
                          .path = "by_n",
                          .given = {1, "t_by_n"},
                          .now = {1, "t_by_n"},
                          .change = KW_TABLE_DROPS,
                          .old_model = old,
                          .role = {.put = 1},
                          .old_role = ROLE_ALL};
    for (unsigned writes = 0; writes <= 1; writes++) {
        placing.role.put = (uint8_t)writes;
        g_autoptr(kw_policy) policy = placed(OLD, &placing, 1);
        const kw_table *table = kw_policy_table(policy, 0);
        g_assert_cmpuint(table->paths_count, ==, 1);
        g_assert_cmpuint(table->placements_count, ==, 2);
        g_assert_cmpint(table->placements[1].content, ==, KW_CONTENT_HINTS);
        g_assert_cmpint(table->placements[1].path->content, ==, KW_CONTENT_HINTS);
        g_assert_cmpuint(table->tuples_count, ==, writes);
        g_assert_cmpint(table->tuple_bits[1], ==, writes ? 0 : KW_IN_NO_TUPLE);
    }
    assert_refused("    fields: {id: string}\n    key: [field: id]\n", &placing,
                   "path by_n: the old key rule uses field n, which the new policy does not have");
    assert_refused("    fields: {id: string, n: {type: int, column: 'd:m'}}\n    key: [field: id]\n",
                   &placing,
                   "path by_n: the old key rule uses field n, which has another column in the new policy");
    kw_model_unref(old);
}

/* Rows of a path whose key rule chooses a bucket at each put cannot be copied, nor can rows be copied from
 * such a path. */
KW_TEST(test_added_with_choices, "/schema/placed/added-with-choices")
{
#define RANDOM "salt: {algorithm: random, buckets: 4}"
#define BY "by: {association: true, key: [literal: x, field: id]}"
    static const char *const texts[] = {
        FIELDS "    key: [field: id]\n    paths: {p: {key: [" RANDOM ", field: id]}, " BY "}\n",
        FIELDS "    key: [" RANDOM ", field: id]\n    paths: {p: {key: [field: id]}, " BY "}\n",
        FIELDS "    key: [" RANDOM ", field: id]\n    paths: {p: {key: [" RANDOM ", field: id]}, " BY "}\n"};
    kw_placing placing = {
        .table = "t", .path = "p", .given = {1, "t_p"}, .now = {1, "t_p"}, .change = KW_TABLE_ADDS};
    placing.old_role = (kw_role)ROLE_ALL;
    placing.role = (kw_role)ROLE_WRITE;
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        assert_refused(texts[i], &placing, "path p cannot be added while the table is served");
}

/* After the change the record only says where the rows are. */
KW_TEST(test_changed, "/schema/placed/changed")
{
    kw_placing placing = changing(NULL);
    placing.change = KW_TABLE_UNCHANGED;
    g_autoptr(kw_policy) policy = placed(NEW, &placing, 1);
    const kw_table *table = kw_policy_table(policy, 0);
    g_assert_false(kw_table_changes_rows(table) || is_held(table));
    g_assert_cmpuint(table->placements_count, ==, 1);
    g_assert_cmpuint(kw_layout_number(table->paths[0].layout), ==, 2);
    g_assert_true(kw_bytes_equal(table->paths[0].store_table, KW_BYTES_LITERAL("t_L2")));
    g_assert_true(table->placements[0].role.scan && table->placements[0].role.get);
}

/* The text was given another layout number or store table: its placement is the text's. */
KW_TEST(test_not_applied, "/schema/placed/not-applied")
{
    static const char *const texts[] = {NEW "    layout: 7\n", NEW "    store_table: other\n"};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autoptr(kw_model) old = model_of(OLD);
        kw_placing placing = changing(old);
        g_autoptr(kw_policy) policy = placed(texts[i], &placing, 1);
        const kw_table *table = kw_policy_table(policy, 0);
        g_assert_false(kw_table_changes_rows(table) || is_held(table));
        g_assert_cmpuint(table->placements_count, ==, 1);
        g_assert_cmpuint(kw_layout_number(table->paths[0].layout), ==, i == 0 ? 7 : 1);
        g_assert_true(kw_bytes_equal(table->paths[0].store_table, kw_bytes_of_text(i == 0 ? "t" : "other")));
    }
}

/* The placements of all paths are numbered in the order of the paths; the association is the last path. */
KW_TEST(test_numbers, "/schema/placed/numbers")
{
#define PATHS                                                                                                \
    "    paths: {by: {association: true, key: [field: id]}, second: {key: [hash: id, field: id]},\n"         \
    "            any: {key: [salt: {algorithm: random, buckets: 2}, field: id]}}\n"
    g_autoptr(kw_model) old =
        model_of(FIELDS "    key: [field: id]\n    paths: {second: {key: [literal: x, field: id]}}\n");
    kw_placing placings[] = {changing(old), changing(old)};
    placings[1].path = "second";
    placings[1].given.store_table = placings[1].old.store_table = "t_second";
    placings[1].now.store_table = "t_second_L2";
    g_autoptr(kw_policy) policy = placed(NEW PATHS, placings, 2);
    const kw_table *table = kw_policy_table(policy, 0);
    static const char *const expected[] = {"t_L2", "t", "t_second_L2", "t_second", "t_any", "t_by"};
    g_assert_cmpuint(table->queried_paths_count, ==, 3);
    g_assert_cmpuint(table->placements_count, ==, 6);
    for (size_t number = 0; number < 6; number++) {
        g_assert_cmpuint(table->placements[number].number, ==, number);
        g_assert_true(
            kw_bytes_equal(table->placements[number].store_table, kw_bytes_of_text(expected[number])));
    }
    g_assert_true(table->paths[1].placements == &table->placements[2]);
    g_assert_true(table->paths[2].placements == &table->placements[4]);
    g_assert_true(table->locators == &table->placements[5]);
    g_assert_cmpuint(table->paths[2].placements_count, ==, 1);
    g_assert_cmpint(table->change, ==, KW_TABLE_MOVES);
    assert_key(&table->placements[3], "7861");
}

KW_TEST(test_names, "/schema/placed/names")
{
    g_autoptr(kw_model) old = model_of(OLD);
    kw_placing placing = changing(old);
    placing.path = "gone";
    assert_refused(NEW, &placing, "table t has no path gone, and the key rule of this path is being changed");
    placing.table = "gone";
    assert_refused(NEW, &placing, "the policy has no table gone");
    placing.change = KW_TABLE_UNCHANGED; /* only a change under way needs the path */
    kw_policy_unref(placed(NEW, &placing, 1));
    placing = changing(old);
    placing.path = "p";
    placing.given.store_table = "t_p";
    assert_refused(NEW "    paths: {p: {key: [hash: id, field: id]}}\n", &placing,
                   "path p: the policy with the old key rule has no such path of table t");
    placing.path = "by";
    placing.given.store_table = "t_by";
    g_autoptr(kw_model) with = model_of(OLD "    paths: {by: {association: true, key: [field: id]}}\n");
    placing.old_model = with;
    assert_refused(FIELDS "    key: [salt: {algorithm: random, buckets: 4}, field: id]\n"
                          "    paths: {by: {association: true, key: [hash: id, field: id]}}\n",
                   &placing, "path by: the key rule of an association cannot be changed");
}

KW_TEST(test_identity, "/schema/placed/identity")
{
#define TWO FIELDS "    key: [field: {name: id, encoding: terminated}, field: n]\n"
#define SECONDS FIELDS "    key: [field: {name: ts, unit: s}, field: id]\n"
#define MILLIS FIELDS "    key: [field: {name: ts, unit: ms}, field: id]\n"
    assert_refused_change(
        TWO, NEW,
        "path primary: the new key rule (layout 2) does not have field n of the old key rule "
        "(layout 1)");
    assert_refused_change(NEW, TWO,
                          "path primary: the new key rule (layout 2) has field n, which the old key rule "
                          "(layout 1) does not have");
    assert_refused_change(MILLIS, SECONDS,
                          "path primary: field ts has another unit in the new key rule (layout 2)");
}

#define ANY "    key: [salt: {algorithm: random, buckets: 4}, field: id]\n    updates: false\n"
#define TURN "    key: [salt: {algorithm: round_robin, buckets: 4}, field: id]\n    updates: false\n"

KW_TEST(test_choices, "/schema/placed/choices")
{
    assert_refused_change(FIELDS ANY, NEW, "path primary: the old key rule (layout 1) chooses a bucket");
    assert_refused_change(OLD, FIELDS ANY, "path primary: the new key rule (layout 2) chooses a bucket");
    assert_refused_change(FIELDS TURN, NEW, "path primary: the old key rule (layout 1) chooses a bucket");
}

KW_TEST(test_places, "/schema/placed/places")
{
    g_autoptr(kw_model) old = model_of(OLD);
    kw_placing placing = changing(old);
    placing.old.store_table = "t_L2";
    assert_refused(NEW, &placing,
                   "path primary: the old and the new key rule have the same store table, t_L2");
    placing.old.store_table = "t";
    placing.old.layout = 2;
    assert_refused(NEW, &placing,
                   "path primary: the old and the new key rule have the same layout number, 2");
    placing = changing(old);
    placing.old.store_table = "t_old";
    static const char *const used[] = {"t_old", "t_L2"};
    for (size_t i = 0; i < G_N_ELEMENTS(used); i++) {
        g_autofree char *yaml =
            g_strdup_printf(NEW "    paths: {p: {store_table: %s, key: [hash: id, field: id]}}\n", used[i]);
        g_autofree char *problem =
            g_strdup_printf("path p of table t: store table %s is already used by another path", used[i]);
        assert_refused(yaml, &placing, problem);
    }
}

/* What the old key rule needs of the fields. */
KW_TEST(test_fields, "/schema/placed/fields")
{
#define UNUSED "    fields: {id: string, kind: {type: string, values: [a, b]}, x: int, n: int}\n"
    assert_refused_change(
        UNUSED "    key: [field: {name: id, encoding: terminated}, field: kind]\n",
        "    fields: {id: string, n: int}\n    key: [hash: id, field: id]\n",
        "path primary: the old key rule uses field kind, which the new policy does not have");
    assert_refused_change(FIELDS "    key: [bits: {of: ts, parts: [seconds 40, n 24]}, field: id]\n",
                          "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}}\n"
                          "    key: [field: {name: ts, unit: s}, field: id]\n",
                          "path primary: the old key rule uses field n, which the new policy does not have");
    assert_refused_change("    fields: {id: int, n: int}\n    key: [field: id]\n",
                          "    fields: {id: string, n: int}\n    key: [hash: id, field: id]\n",
                          "path primary: the old key rule uses field id, which has another type");
    assert_refused_change("    fields: {id: {type: string, column: 'd:id'}, n: int}\n    key: [field: id]\n",
                          "    fields: {id: string, n: int}\n    key: [hash: id, field: id]\n",
                          "path primary: the old key rule uses field id, which has another column");
    static const char *const elsewhere[] = {"d:t", "e:ts", "e:t"};
    for (size_t i = 0; i < G_N_ELEMENTS(elsewhere); i++) {
        g_autofree char *fresh =
            g_strdup_printf("    fields: {id: string, ts: {type: timestamp, column: '%s'}}\n"
                            "    key: [field: ts, field: id]\n",
                            elsewhere[i]);
        assert_refused_change("    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}}\n"
                              "    key: [hash: id, field: ts, field: id]\n",
                              fresh,
                              "path primary: the old key rule uses field ts, which has another column");
    }
#define KIND(values)                                                                                         \
    "    fields: {id: string, kind: {type: string, values: " values "}}\n    key: [enum: {field: kind}, "    \
    "field: id]\n"
    assert_refused_change(
        KIND("[a, b]"), KIND("[b, a]"),
        "path primary: with the fields of the new policy, the old key rule defines other row");
    /* Fields that the old rule does not use can disappear or be added, and others can have another place. */
    g_autoptr(kw_model) old = model_of(UNUSED "    key: [field: id]\n");
    kw_placing placing = changing(old);
    g_autoptr(kw_policy) policy =
        placed("    fields: {y: int, id: string}\n    key: [hash: id, field: id]\n", &placing, 1);
    kw_value values[] = {test_number(1), test_text("a")};
    kw_record record = {.values = values};
    kw_buffer key = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_layout_encode(kw_policy_table(policy, 0)->placements[1].layout, &record, &key, &error));
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&key), KW_BYTES_LITERAL("a")));
    kw_buffer_clear(&key);
}

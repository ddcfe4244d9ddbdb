/* The policy of a change's version. */
#include "gateway/change_set.h"

#include "rule/policies.h"

#include <glib.h>

#define FIELDS "    fields: {id: {type: string, max_bytes: 20}, ts: {type: timestamp, unit: ms}, n: int}\n"
#define OLD FIELDS "    key: [{field: id}, {field: ts}]\n"
#define NEW FIELDS "    key: [{field: ts}, {field: id}]\n"
#define OLD_SECOND                                                                                           \
    OLD "    paths: {second: {key: [{field: ts}, {field: id}], store_table: t}}\n    store_table: p\n"
#define NEW_SECOND                                                                                           \
    OLD "    paths: {second: {key: [hash: {of: [id], take: 2}, field: ts, field: id], store_table: t}}\n"    \
        "    store_table: p\n"

/* The table under the version. Caller frees. */
static kw_policy *
compile_path(kw_chain_id version, bool store_order, const char *path)
{
    bool primary = g_str_equal(path, "primary");
    g_autoptr(kw_policy) old = test_policy(primary ? OLD : OLD_SECOND),
                         new = test_policy(primary ? NEW : NEW_SECOND);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    const kw_change_record record = {.table = "t",
                                     .path = path,
                                     .given = {1, "t"},
                                     .now = {2, "t2"},
                                     .under_way = true,
                                     .old = {1, "t"},
                                     .old_given = {1, "t"},
                                     .old_version = {1, "0123456789abcdef0123456789abcdef"},
                                     .new_version = 2,
                                     .version = version,
                                     .writers = KW_CHANGE_SEVERAL_WRITERS,
                                     .step = 1,
                                     .holder = "",
                                     .store_order = store_order,
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

static bool
keeps_gone(kw_chain_id version, bool store_order)
{
    g_autoptr(kw_policy) policy = compile_path(version, store_order, "primary");
    return kw_policy_find_table(policy, KW_BYTES_LITERAL("t"))->ordering.keeps_gone;
}

/* The last sweep spares the gone cells of removals beside it. So they expire in the versions where a change
 * can end with a sweep: those are 0 and 8 for a table with order: stamp. */
static void
test_keeps_gone(void)
{
    for (kw_chain_id id = KW_CHAIN_STORE; id < KW_CHAIN_BOTH_OLD; id++) {
        bool control = kw_chain_version_of(id)->control, ends = id == KW_CHAIN_0 || id == KW_CHAIN_8;
        g_assert_true(keeps_gone(id, true) == control);
        g_assert_true(keeps_gone(id, false) == (control && !ends));
    }
}

static bool
holds_atomics(kw_chain_id version, const char *path)
{
    g_autoptr(kw_policy) policy = compile_path(version, false, path);
    const kw_table *table = kw_policy_find_table(policy, KW_BYTES_LITERAL("t"));
    g_assert_true(table->changing);
    return table->atomics_held;
}

/* Atomic operations decide in the primary path, so the change of another one does not concern them. */
static void
test_held_atomics(void)
{
    for (kw_chain_id id = KW_CHAIN_STORE; id < KW_CHAIN_BOTH_OLD; id++) {
        bool held = kw_chain_version_of(id)->atomics == KW_CHAIN_HELD;
        g_assert_true(holds_atomics(id, "primary") == held);
        g_assert_false(holds_atomics(id, "second"));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gateway/change set/keeps gone", test_keeps_gone);
    g_test_add_func("/gateway/change set/held atomics", test_held_atomics);
    return g_test_run();
}

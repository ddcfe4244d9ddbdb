/* The policy of a change's version. */
#include "gateway/change_set.h"

#include "rule/policies.h"

#include <glib.h>

#define FIELDS "    fields: {id: {type: string, max_bytes: 20}, ts: {type: timestamp, unit: ms}, n: int}\n"
#define OLD FIELDS "    key: [{field: id}, {field: ts}]\n"
#define NEW FIELDS "    key: [{field: ts}, {field: id}]\n"

/* The table under the version. Caller frees. */
static kw_policy *
compile(kw_chain_id version, bool store_order)
{
    g_autoptr(kw_policy) old = test_policy(OLD), new = test_policy(NEW);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    const kw_change_record record = {.table = "t",
                                     .path = "primary",
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
    g_autoptr(kw_policy) policy = compile(version, store_order);
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/gateway/change set/keeps gone", test_keeps_gone);
    return g_test_run();
}

/* Changes of a key rule in the catalog: each step, what is refused, restarts, races and progress. */
#include "changing.h"

static void
put_rows(town *in, const char *store_table)
{
    town_put(in, store_table, "row");
}

/* Gateway a serves the old policy, and its store table has rows. */
static gateway *
serve_old(town *in, changing *change, bool shared)
{
    gateway *a = gateway_new(in, "a", shared);
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    put_rows(in, "t");
    return a;
}

static void
assert_version(gateway *self, kw_chain_id version)
{
    size_t count;
    const kw_change_record *records = gateway_read_changes(self, &count);
    g_assert_cmpuint(count, ==, 1);
    g_assert_true(records[0].under_way);
    g_assert_cmpint(records[0].version, ==, version);
}

static void
step(gateway *self, changing *change, kw_chain_id version)
{
    g_assert_cmpint(gateway_admit_step(self, changing_to(change, version), &change->step), ==, KW_OK);
    assert_version(self, version);
}

static void
test_forward(void)
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = serve_old(in, change, false);
    step(a, change, KW_CHAIN_BOTH_OLD);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"filling\"}", true);
    put_rows(in, "t2");
    change->record.copied = change->record.compared = true;
    g_assert_cmpint(gateway_write_progress(a, &change->record, 1), ==, KW_OK);
    step(a, change, KW_CHAIN_BOTH_NEW);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"complete\"}", true);
    step(a, change, KW_CHAIN_BOTH_OLD);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"filling\"}", true);
    step(a, change, KW_CHAIN_BOTH_NEW);
    g_assert_cmpint(gateway_admit_step(a, changing_end(change, true), &change->step), ==, KW_OK);
    town_assert_facts(in, "\"store_table\":\"t2\",\"state\":\"complete\",\"verified\":true}", true);
    town_assert_facts(in, "\"store_table\":\"t\",\"state\":\"retired\"", true);
    town_assert_facts(in, "changing_placements", false);
    g_assert_cmpint(gateway_admit(a, change->new), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, change->old), ==, KW_REFUSED);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/catalog/changes/forward", test_forward);
    int failed = g_test_run();
    changing_clear();
    return failed;
}

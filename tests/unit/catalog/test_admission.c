/* Admissions on a store in memory: alone, one after the other, side by side, and with faults. */
#include "town.h"

#include "rule/policies.h"

#define BASE                                                                                                 \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: int\n"                                                                                         \
    "    key: [{field: id}, {field: ts}]\n"
#define BY_TS "    paths: {by_ts: {key: [{field: ts}, {field: id}]}}\n"
#define STRING_N                                                                                             \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: string\n"                                                                                      \
    "    key: [{field: id}, {field: ts}]\n"
#define MORE                                                                                                 \
    "    fields:\n"                                                                                          \
    "      id: {type: string, max_bytes: 20}\n"                                                              \
    "      ts: {type: timestamp, unit: ms}\n"                                                                \
    "      n: int\n"                                                                                         \
    "      more: bool\n"                                                                                     \
    "    key: [{field: id}, {field: ts}]\n"

static void
assert_facts(town *in, const char *part, bool there)
{
    g_autofree char *facts = town_facts(in, "t");
    if (!!strstr(facts, part) != there)
        g_error("facts: %s\n%s: %s", facts, there ? "missing" : "there", part);
}

/* --- alone ----------------------------------------------------------------------------------------- */

static void
test_first(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    g_assert_false(gateway_is_open(a)); /* nothing serves yet */
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    g_assert_true(gateway_is_open(a));
    assert_facts(in, "\"store_table\":\"t_by_ts\",\"state\":\"complete\",\"verified\":true", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(a);
    g_assert_cmpuint(town_registrations(in), ==, 0);
    town_free(in);
}

/* On a store of this process alone there is nobody to register for. */
static void
test_not_shared(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", false);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_null(kw_catalog_fence(a->catalog));
    g_assert_cmpuint(town_registrations(in), ==, 0);
    assert_facts(in, "\"made\":true", true);
    gateway_stop(a);
    town_free(in);
}

static void
test_refused_start_leaves_nothing(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(STRING_N);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    gateway_stop(a);
    town_put(in, "t", "row");
    g_autofree char *before = town_facts(in, "t");
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_check(a, other), ==, KW_REFUSED);
    gateway_assert_text(a, "table t, field n: its values were stored as int");
    gateway_stop(a);
    g_autofree char *after = town_facts(in, "t");
    g_assert_cmpstr(before, ==, after);
    g_assert_cmpuint(town_registrations(in), ==, 0);
    town_free(in);
}

static void
test_made(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_check(a, policy), ==, KW_OK);
    kw_admission_made(a->admission, "default:t_by_ts");
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    assert_facts(in, "\"store_table\":\"t_by_ts\",\"state\":\"complete\",\"verified\":true,\"made\":true",
                 true);
    assert_facts(in, "\"store_table\":\"t\",\"state\":\"complete\",\"verified\":true,\"made\":true", false);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    assert_facts(in, "\"made\":true", true);
    gateway_stop(a);
    town_free(in);
}

/* --- stores of versions without facts -------------------------------------------------------------- */

static void
set_legacy(town *in, const char *row, const char *fingerprint, const char *description)
{
    kw_bytes key = kw_bytes_of_text(row);
    kw_memory_store_set(in->store, CATALOG, key, "d", "fingerprint", kw_bytes_of_text(fingerprint), 1);
    kw_memory_store_set(in->store, CATALOG, key, "d", "description", kw_bytes_of_text(description), 1);
}

static void
set_legacy_of(town *in, const kw_policy *policy)
{
    const kw_table *table = kw_policy_table(policy, 0);
    for (size_t i = 0; i < table->stores_count; i++) {
        const kw_layout *layout = table->paths[i].layout;
        g_autofree char *row =
            g_strdup_printf("%s/%s/%u", table->name, table->paths[i].name, kw_layout_number(layout));
        g_autofree char *store = g_strdup_printf("store/%s", kw_layout_store_table(layout));
        set_legacy(in, row, kw_layout_fingerprint(layout), kw_layout_description(layout));
        set_legacy(in, store, kw_layout_fingerprint(layout), row);
    }
}

static void
test_adopted(void)
{
    town *in = town_new();
    g_autoptr(kw_policy) policy = test_policy(BASE BY_TS);
    set_legacy_of(in, policy);
    town_put(in, "t", "row");
    town_put(in, "t_by_ts", "row");
    gateway *a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    assert_facts(in, "\"state\":\"complete\"}", true); /* neither verified nor made */
    assert_facts(in, "\"verified\":true", false);
    g_autoptr(kw_policy) other = test_policy(STRING_N BY_TS);
    g_assert_cmpint(gateway_check(a, other), ==, KW_REFUSED);
    gateway_stop(a);
    town_free(in);
}

/* The first policy after the update is another one already. */
static void
test_adopted_and_changed(void)
{
    static const struct {
        const char *before;
        const char *after;
        const char *refusal;
    } cases[] = {
        {BASE, BASE BY_TS, "table t, path by_ts: the table holds rows already"},
        {BASE, BASE "    layout: 2\n    store_table: u\n",
         "table t, path primary: its rows were written under layout 1 (store table t, key rule "},
        {BASE, "    fields: {id: string, ts: timestamp}\n    key: [{field: ts}, {field: id}]\n",
         "table t, path primary: its rows were written under layout 1 with the key rule "},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        town *in = town_new();
        g_autoptr(kw_policy) old = test_policy(cases[i].before), new = test_policy(cases[i].after);
        set_legacy_of(in, old);
        town_put(in, "t", "row");
        gateway *a = gateway_new(in, "a", true);
        g_assert_cmpint(gateway_check(a, new), ==, KW_REFUSED);
        gateway_assert_text(a, cases[i].refusal);
        gateway_stop(a);
        town_free(in);
    }
}

/* Rows of an earlier layout that such a version had hidden are listed as retired. */
static void
test_adopted_with_an_old_layout(void)
{
    town *in = town_new();
    g_autoptr(kw_policy) first = test_policy(BASE),
                         second = test_policy(BASE "    layout: 2\n    store_table: u\n");
    set_legacy_of(in, first);
    set_legacy_of(in, second);
    town_put(in, "t", "row");
    town_put(in, "u", "row");
    gateway *a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, second), ==, KW_OK);
    assert_facts(in, "\"store_table\":\"t\",\"state\":\"retired\"", true);
    assert_facts(in, "\"store_table\":\"u\",\"state\":\"complete\"", true);
    gateway_stop(a);
    town_free(in);
}

/* --- rows that appear between the check and the commit --------------------------------------------- */

static void
test_row_between(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), with_path = test_policy(BASE BY_TS);
    const char *const *tables;
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, with_path), ==, KW_OK);
    g_assert_cmpuint(kw_admission_exclusive(a->admission, &tables), ==, 1);
    g_assert_cmpstr(tables[0], ==, "t");
    town_put(in, "t", "row");
    g_assert_cmpint(gateway_commit(a), ==, KW_REFUSED);
    gateway_assert_text(a, "table t, path by_ts: the table holds rows already");
    assert_facts(in, "by_ts", false);
    g_assert_true(gateway_is_open(a)); /* the old policy serves on */
    gateway_stop(a);
    town_free(in);
}

/* --- two gateways ---------------------------------------------------------------------------------- */

static void
test_two_with_one_policy(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 2);
    g_assert_cmpint(gateway_admit(a, more), ==, KW_OK); /* fields come one gateway after the other */
    g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
    assert_facts(in, "\"name\":\"more\",\"type\":\"bool\"", true);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

static void
refuse_beside(const char *served, const char *wanted, const char *row_table)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(served), new = test_policy(wanted);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, old), ==, KW_OK);
    if (row_table)
        town_put(in, row_table, "row");
    g_autofree char *before = town_facts(in, "t");
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    gateway_assert_text(b, "the gateway a serves");
    g_autofree char *after = town_facts(in, "t");
    g_assert_cmpstr(before, ==, after);
    gateway_stop(b);
    b = gateway_new(in, "b", true); /* a start is refused like a reload */
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    gateway_stop(a);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    a = gateway_new(in, "a", true); /* and now the old policy is */
    g_assert_cmpint(gateway_check(a, old), ==, KW_REFUSED);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

static void
test_two_with_two_policies(void)
{
    refuse_beside(BASE, BASE BY_TS, NULL);
    refuse_beside(BASE BY_TS, BASE, NULL);
    refuse_beside(BASE, BASE "    layout: 2\n", NULL);
    refuse_beside(BASE, STRING_N, NULL);
    refuse_beside(BASE, BASE "    marker: \"d:_0\"\n    marker_value: x\n", NULL);
}

/* A path is dropped: allowed while rows exist, but not beside a gateway that reads it. */
static void
test_path_dropped_beside(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE BY_TS), new = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, old), ==, KW_OK);
    town_put(in, "t", "row");
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    gateway_assert_text(
        b, "table t: this policy changes which rows a record has, and the gateway a serves the table "
           "by the old one; stop all gateways but one");
    gateway_stop(a);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    assert_facts(in, "\"state\":\"retired\"", true);
    gateway_stop(b);
    town_free(in);
}

/* Both begin at the same moment, in every order of the store's answers: the same policy is fine for both; of
 * two policies that do not agree at most one serves. */
static void
race(kw_policy *one, kw_policy *other, gateway *a, gateway *b)
{
    gateway_begin(a, one);
    gateway_begin(b, other);
    gateway_wait(a);
    gateway_wait(b);
}

static void
commit_if_admitted(gateway *self)
{
    if (self->admission)
        gateway_commit(self);
}

static void
test_race(void)
{
    unsigned served = 0;
    for (int i = 0; i < 300; i++) {
        town *in = town_new();
        gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
        g_autoptr(kw_policy) one = test_policy(BASE), other = test_policy(BASE BY_TS);
        in->control->shuffle = true;
        race(one, i % 3 == 0 ? one : other, a, b);
        commit_if_admitted(a);
        commit_if_admitted(b);
        unsigned open = gateway_is_open(a) + gateway_is_open(b);
        served += open;
        if (i % 3 != 0)
            g_assert_cmpuint(open, <, 2);
        in->control->shuffle = false;
        gateway_stop(a);
        gateway_stop(b);
        town_free(in);
    }
    g_assert_cmpuint(served, >, 0);
}

/* A check that another gateway's commit overtook begins again. */
static void
test_conflict(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_assert_cmpint(gateway_check(b, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(a, more), ==, KW_OK);
    g_assert_cmpint(gateway_commit(b), ==, KW_BUSY);
    gateway_assert_text(b, "another gateway changed the catalog meanwhile");
    assert_facts(in, "\"name\":\"more\"", true);
    g_assert_cmpint(gateway_admit(b, policy), ==, KW_OK);
    assert_facts(in, "\"name\":\"more\",\"type\":\"bool\"", true);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

static void
test_other_protocol(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    kw_memory_store_set(in->store, CATALOG, KW_BYTES_LITERAL("=gateway/a"), "d", "protocol",
                        KW_BYTES_LITERAL("2"), INT64_MAX - 1);
    g_assert_cmpint(gateway_check(b, policy), ==, KW_REFUSED);
    gateway_assert_text(
        b, "the gateway a is of a version that cannot serve beside this one (catalog protocol 2, here 1)");
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

static void
test_renamed_table(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE "    store_table: rows\n");
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_put(in, "rows", "row");
    gateway_stop(a);
    g_autofree char *facts = town_facts(in, "t");
    g_auto(GStrv) parts = g_strsplit(facts, "\"table\":\"t\"", 2);
    g_autofree char *renamed = g_strjoinv("\"table\":\"before\"", parts);
    kw_memory_store_set(in->store, CATALOG, KW_CATALOG_TABLES_ROW, "d", "table/before",
                        kw_bytes_of_text(renamed), INT64_MAX - 2);
    kw_memory_store_set(in->store, CATALOG, KW_CATALOG_TABLES_ROW, "d", "table/t", KW_BYTES_NONE,
                        INT64_MAX - 2);
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    g_autofree char *before = town_facts(in, "before"), *now = town_facts(in, "t");
    g_assert_cmpstr(before, ==, "");
    g_assert_cmpstr(now, ==, facts);
    gateway_stop(a);
    town_free(in);
}

/* --- leases ---------------------------------------------------------------------------------------- */

static void
test_dead_gateway(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    gateway_die(a);
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    town_pass_ms(KW_LEASE_DEAD_MS);
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    town_pass_ms(1);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(b);
    town_free(in);
}

/* A gateway stands still for a minute. Another one takes it for dead and changes the paths. When the first
 * one goes on it answers nothing, and finds that it must be admitted again, which is refused. */
static void
test_paused_gateway(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    uint64_t era = kw_fence_era(kw_catalog_fence(a->catalog));
    town_pass_ms(KW_LEASE_MS - 1);
    g_assert_true(gateway_is_open(a));
    town_pass_ms(1);
    g_assert_false(gateway_is_open(a));
    town_pass_ms(50000);
    g_assert_cmpint(gateway_admit(b, new), ==, KW_OK);
    while (a->lost == 0) /* its renewal, by the real clock */
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpuint(kw_fence_era(kw_catalog_fence(a->catalog)), >, era);
    g_assert_cmpint(gateway_check(a, old), ==, KW_REFUSED);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_admit(a, new), ==, KW_OK);
    g_assert_true(gateway_is_open(a));
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* If nobody needed it dead, it goes on with its next renewal. */
static void
test_paused_and_not_missed(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    uint64_t era = kw_fence_era(kw_catalog_fence(a->catalog));
    town_pass_ms(60000);
    g_assert_false(gateway_is_open(a));
    g_assert_cmpint(gateway_admit(b, more), ==, KW_OK);
    while (!gateway_is_open(a))
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_cmpuint(a->lost, ==, 0);
    g_assert_cmpuint(kw_fence_era(kw_catalog_fence(a->catalog)), ==, era);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* The dead one comes back between the check and the commit of the one that took it for dead. */
static void
test_dead_comes_back(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) old = test_policy(BASE), new = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, old), ==, KW_OK);
    town_pass_ms(60000);
    g_assert_cmpint(gateway_check(b, new), ==, KW_OK);
    while (!gateway_is_open(a))
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_cmpint(gateway_commit(b), ==, KW_BUSY);
    gateway_assert_text(b, "a gateway whose lease had ended came back");
    g_assert_cmpint(gateway_check(b, new), ==, KW_REFUSED);
    g_assert_true(gateway_is_open(a));
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* A second process with the same id takes the registration over; the first one notices. */
static void
test_id_taken(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    town_pass_ms(1);
    gateway *twin = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(twin, policy), ==, KW_OK);
    while (a->lost == 0)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_false(gateway_is_open(a));
    g_assert_true(gateway_is_open(twin));
    gateway_die(a);
    gateway_stop(twin);
    town_free(in);
}

/* The store's clock was put back: the new registration is hidden behind the one of the earlier process. */
static void
test_clock_back(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    gateway_die(a);
    town_move_wall_ms(-3600000);
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_check(a, more), ==, KW_UNAVAILABLE);
    gateway_assert_text(a, "the registration of gateway a cannot be read back");
    gateway_stop(a);
    a = gateway_new(in, "b", true);
    g_assert_cmpint(gateway_check(a, more), ==, KW_OK);
    g_assert_cmpint(gateway_commit(a), ==, KW_OK); /* facts get a timestamp above all that were read */
    assert_facts(in, "\"name\":\"more\"", true);
    gateway_stop(a);
    town_free(in);
}

/* --- faults ---------------------------------------------------------------------------------------- */

/* Wherever the store fails, the admission says so or succeeds, and the next one succeeds. */
static void
test_faults(void)
{
    g_autoptr(kw_policy) policy = test_policy(BASE), with_path = test_policy(BASE BY_TS);
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        uint64_t n = 0;
        while (failed) {
            n++;
            town *in = town_new();
            gateway *a = gateway_new(in, "a", true);
            g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
            uint64_t before = in->control->operations;
            in->control->fail_at = before + n;
            in->control->fail_applied = applied;
            kw_code code = gateway_admit(a, with_path);
            failed = in->control->operations >= before + n;
            in->control->fail_at = 0;
            g_assert_true(code == KW_OK || code == KW_UNAVAILABLE);
            g_assert_true(failed || code == KW_OK);
            assert_facts(in, "by_ts", code == KW_OK);
            g_assert_true(gateway_is_open(a));
            g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
            gateway_stop(a);
            town_free(in);
        }
        g_assert_cmpuint(n, >, 7);
    }
}

/* --- forget ---------------------------------------------------------------------------------------- */

static void
test_forget_path(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    g_assert_cmpint(gateway_check(a, with_path), ==, KW_OK);
    kw_admission_made(a->admission, "t_by_ts");
    g_assert_cmpint(gateway_commit(a), ==, KW_OK);
    town_put(in, "t", "row");
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_forget(a, with_path, "t", "by_ts", true), ==, KW_REFUSED);
    gateway_assert_text(
        a, "this gateway serves table t with the path by_ts; take the path out of the policy first");
    g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
    g_assert_cmpint(gateway_forget(a, without, "t", "by_tss", false), ==, KW_NOT_FOUND);
    g_assert_cmpint(gateway_forget(a, without, "u", NULL, false), ==, KW_NOT_FOUND);
    g_assert_cmpint(gateway_forget(a, without, "t", NULL, true), ==, KW_REFUSED);
    gateway_assert_text(a, "this gateway serves table t; take it out of the policy first");
    g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", false), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t_by_ts still holds rows");
    assert_facts(in, "\"state\":\"retired\"", true);
    g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==, KW_OK);
    g_assert_cmpstr(a->emptied[0], ==, "t_by_ts");
    g_assert_null(a->emptied[1]);
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t_by_ts"), ==, 0);
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t"), ==, 1);
    assert_facts(in, "retired", false);
    gateway_stop(a);
    town_free(in);
}

static void
test_forget_not_made(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
    town_put(in, "t_by_ts", "row");
    g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
    g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==, KW_REFUSED);
    gateway_assert_text(a, "the store table t_by_ts holds rows and was not created by Keyway");
    g_assert_cmpuint(kw_memory_store_rows(in->store, "t_by_ts"), ==, 1);
    gateway_stop(a);
    town_free(in);
}

static void
noted(void *user, const kw_error *error)
{
    g_assert_null(error);
    ((gateway *)user)->done = true;
}

/* A whole table, with the rows that a version without facts wrote; keyway create made its store table. */
static void
test_forget_table(void)
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) policy = test_policy(BASE), other = test_policy(STRING_N);
    g_autoptr(kw_policy) nothing = test_policy_named("u", BASE);
    set_legacy_of(in, policy);
    g_assert_cmpint(gateway_admit(a, policy), ==, KW_OK);
    const char *created[] = {"t", "elsewhere"};
    a->done = false;
    kw_catalog_note_created(a->catalog, created, 2, KW_DEADLINE_NONE, noted, a);
    gateway_wait(a);
    assert_facts(in, "\"made\":true", true);
    town_put(in, "t", "row");
    g_assert_cmpint(gateway_admit(b, nothing), ==, KW_OK);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, true), ==, KW_REFUSED);
    gateway_assert_text(b, "the gateway a serves table t; take it out of its policy first");
    gateway_stop(a);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, false), ==, KW_REFUSED);
    g_assert_cmpint(gateway_forget(b, nothing, "t", NULL, true), ==, KW_OK);
    g_autofree char *facts = town_facts(in, "t");
    g_assert_cmpstr(facts, ==, "");
    town_put(in, "t", "a row of others");
    a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, other), ==, KW_OK); /* nothing is adopted */
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* Wherever it stops, it can be repeated, and meanwhile no policy can have the path. */
static void
test_forget_faults(void)
{
    g_autoptr(kw_policy) with_path = test_policy(BASE BY_TS), without = test_policy(BASE);
    for (int applied = 0; applied < 2; applied++) {
        bool failed = true;
        for (uint64_t n = 1; failed; n++) {
            town *in = town_new();
            gateway *a = gateway_new(in, "a", false);
            g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
            town_put(in, "t_by_ts", "row");
            g_assert_cmpint(gateway_admit(a, without), ==, KW_OK);
            uint64_t before = in->control->operations;
            in->control->fail_at = before + n;
            in->control->fail_applied = applied;
            kw_code code = gateway_forget(a, without, "t", "by_ts", true);
            failed = in->control->operations >= before + n;
            in->control->fail_at = 0;
            if (code != KW_OK && kw_memory_store_rows(in->store, "t_by_ts") == 0)
                g_assert_cmpint(gateway_check(a, with_path), ==, KW_REFUSED);
            g_assert_cmpint(gateway_forget(a, without, "t", "by_ts", true), ==,
                            code == KW_OK ? KW_NOT_FOUND : KW_OK);
            g_assert_cmpint(gateway_admit(a, with_path), ==, KW_OK);
            gateway_stop(a);
            town_free(in);
        }
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/catalog/first", test_first);
    g_test_add_func("/catalog/not shared", test_not_shared);
    g_test_add_func("/catalog/refused start leaves nothing", test_refused_start_leaves_nothing);
    g_test_add_func("/catalog/made", test_made);
    g_test_add_func("/catalog/adopted", test_adopted);
    g_test_add_func("/catalog/adopted and changed", test_adopted_and_changed);
    g_test_add_func("/catalog/adopted with an old layout", test_adopted_with_an_old_layout);
    g_test_add_func("/catalog/row between check and commit", test_row_between);
    g_test_add_func("/catalog/two/one policy", test_two_with_one_policy);
    g_test_add_func("/catalog/two/two policies", test_two_with_two_policies);
    g_test_add_func("/catalog/two/path dropped", test_path_dropped_beside);
    g_test_add_func("/catalog/two/race", test_race);
    g_test_add_func("/catalog/two/conflict", test_conflict);
    g_test_add_func("/catalog/two/other protocol", test_other_protocol);
    g_test_add_func("/catalog/renamed table", test_renamed_table);
    g_test_add_func("/catalog/lease/dead gateway", test_dead_gateway);
    g_test_add_func("/catalog/lease/paused gateway", test_paused_gateway);
    g_test_add_func("/catalog/lease/paused and not missed", test_paused_and_not_missed);
    g_test_add_func("/catalog/lease/dead comes back", test_dead_comes_back);
    g_test_add_func("/catalog/lease/id taken", test_id_taken);
    g_test_add_func("/catalog/lease/clock back", test_clock_back);
    g_test_add_func("/catalog/faults", test_faults);
    g_test_add_func("/catalog/forget/path", test_forget_path);
    g_test_add_func("/catalog/forget/not made", test_forget_not_made);
    g_test_add_func("/catalog/forget/table", test_forget_table);
    g_test_add_func("/catalog/forget/faults", test_forget_faults);
    return g_test_run();
}

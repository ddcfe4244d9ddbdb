/* A path that is added to a table with rows, in the catalog: each step, what is refused, and a drop. */
#include "changing.h"

static kw_change_record
record_of(kw_change_place place)
{
    return (kw_change_record){.table = "t",
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
                              .place_at_ms = 1000,
                              .started_ms = 1000,
                              .author = "ann",
                              .reason = "",
                              .holder = "",
                              .example = ""};
}

static kw_policy *
filling_policy(void)
{
    g_autoptr(kw_policy) text = test_policy(BASE BY_TS), old = test_policy(BASE);
    const kw_change_record record = record_of(KW_OLD(BOTH));
    kw_policy *policy = changing_compile(&record, text, old);
    g_assert_true(kw_path_is_filling(&kw_policy_table(policy, 0)->paths[1]));
    return policy;
}

typedef struct adding {
    town *in;
    gateway *a;
    kw_policy *without, *filling, *with;
    kw_change_record record;
    kw_change_step begin, end;
} adding;

static adding
adding_new(void)
{
    adding self = {.in = town_new(),
                   .without = test_policy(BASE),
                   .filling = filling_policy(),
                   .with = test_policy(BASE BY_TS),
                   .record = record_of(KW_OLD(BOTH))};
    self.a = gateway_new(self.in, "a", false);
    g_assert_cmpint(gateway_admit(self.a, self.without), ==, KW_OK);
    town_put(self.in, "t", "row");
    return self;
}

static void
adding_free(adding *self)
{
    gateway_stop(self->a);
    kw_policy_unref(self->without);
    kw_policy_unref(self->filling);
    kw_policy_unref(self->with);
    town_free(self->in);
}

static void
begin(adding *self)
{
    self->begin = (kw_change_step){.records = &self->record, .count = 1};
    self->end = (kw_change_step){.base = &self->record, .base_count = 1};
    g_assert_cmpint(gateway_admit_step(self->a, self->filling, &self->begin), ==, KW_OK);
    town_assert_facts(self->in, "\"store_table\":\"t_by_ts\",\"state\":\"filling\"}", true);
    town_put(self->in, "t_by_ts", "row");
}

KW_TEST(test_complete, "/catalog/added-path/complete")
{
    adding self = adding_new();
    g_assert_cmpint(gateway_check(self.a, self.with), ==, KW_REFUSED);
    gateway_assert_text(self.a, "the new path would only hold what is written from now on");
    g_assert_cmpint(gateway_check(self.a, self.filling), ==, KW_UNAVAILABLE);
    begin(&self);
    g_assert_cmpint(gateway_admit(self.a, self.filling), ==, KW_OK); /* a restart */
    g_assert_cmpint(gateway_check(self.a, self.with), ==, KW_REFUSED);
    gateway_assert_text(self.a, "a change of table t, path by_ts is under way");
    g_assert_cmpint(gateway_check(self.a, self.without), ==, KW_REFUSED);
    gateway_assert_text(self.a, "a change of table t, path by_ts is under way");
    g_assert_cmpint(gateway_check_step(self.a, self.filling, &self.end), ==, KW_REFUSED);
    gateway_assert_text(self.a, "are not those of the next place");
    g_assert_cmpint(gateway_forget(self.a, self.filling, "t", "by_ts", true), ==, KW_REFUSED);
    g_assert_cmpint(gateway_admit_step(self.a, self.with, &self.end), ==, KW_OK);
    town_assert_facts(self.in, "\"store_table\":\"t_by_ts\",\"state\":\"complete\",\"verified\":true}", true);
    town_assert_facts(self.in, "changing_placements", false);
    g_assert_cmpint(gateway_admit(self.a, self.without), ==, KW_OK); /* dropped */
    town_assert_facts(self.in, "\"store_table\":\"t_by_ts\",\"state\":\"retired\"", true);
    adding_free(&self);
}

KW_TEST(test_cancel, "/catalog/added-path/cancel")
{
    adding self = adding_new();
    begin(&self);
    g_assert_cmpint(gateway_admit_step(self.a, self.without, &self.end), ==, KW_OK);
    town_assert_facts(self.in, "\"store_table\":\"t_by_ts\",\"state\":\"retired\"", true);
    g_assert_cmpint(gateway_check_step(self.a, self.filling, &self.begin), ==, KW_REFUSED);
    gateway_assert_text(self.a, "run keyway forget t --path by_ts --drop-rows");
    g_assert_cmpint(gateway_forget(self.a, self.without, "t", "by_ts", true), ==, KW_OK);
    begin(&self);
    adding_free(&self);
}

KW_TEST(test_begin_refused, "/catalog/added-path/refused")
{
    adding self = adding_new();
    kw_change_step step = {.records = &self.record, .count = 1};
    town_put(self.in, "t_by_ts", "row");
    g_assert_cmpint(gateway_check_step(self.a, self.filling, &step), ==, KW_REFUSED);
    gateway_assert_text(self.a, "holds rows that were not written under this path");
    g_assert_cmpint(gateway_check_step(self.a, self.with, &step), ==, KW_REFUSED);
    gateway_assert_text(self.a, "are not those of the next place"); /* it would be read at once */
    adding_free(&self);
}

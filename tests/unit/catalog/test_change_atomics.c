/* Atomic operations (increments and conditional writes) that become allowed or forbidden on a table with
 * order: stamp and with rows, in the catalog: what the beginning and the end need, and which policies are
 * admitted meanwhile. */
#include "changing.h"

#include "catalog/catalog_internal.h"

#define STAMP "    order: stamp\n"
#define ON STAMP "    atomics: true\n" BASE
#define OFF STAMP "    atomics: false\n" BASE
#define PLAIN STAMP BASE

typedef struct turning {
    town *in;
    gateway *a, *b, *c;       /* a holds the change */
    kw_policy *before, *text; /* of the versions before the change, and of the change */
    kw_policy *held;          /* `text` during the change */
    kw_change_record record;
    kw_change_step step;
} turning;

static kw_change_record
record_of(const turning *self, bool forbids)
{
    return (kw_change_record){.table = "t",
                              .path = "primary",
                              .given = {1, "t"},
                              .now = {1, "t"},
                              .under_way = true,
                              .old = {1, "t"},
                              .old_given = {1, "t"},
                              .old_version = {1, "0123456789abcdef0123456789abcdef"},
                              .new_version = 2,
                              .place = KW_OLD(STAMPED),
                              .atomics = true,
                              .drops = forbids,
                              .writers = KW_CHANGE_SEVERAL_WRITERS,
                              .step = 1,
                              .goal = forbids ? KW_OLD(ALONE) : KW_NEW(ALONE),
                              .holder = kw_catalog_instance(self->a->catalog),
                              .started_ms = 1000,
                              .author = "ann",
                              .reason = "",
                              .example = ""};
}

/* Three gateways serve the table. */
static turning *
turning_new(const char *before, const char *text, bool forbids)
{
    turning *self = g_new0(turning, 1);
    self->in = town_new();
    self->before = test_policy(before);
    self->text = test_policy(text);
    self->a = gateway_new(self->in, "a", true);
    self->b = gateway_new(self->in, "b", true);
    self->c = gateway_new(self->in, "c", true);
    gateway *all[] = {self->a, self->b, self->c};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        g_assert_cmpint(gateway_admit(all[i], self->before), ==, KW_OK);
    town_put(self->in, "t", "row");
    self->record = record_of(self, forbids);
    self->held = changing_compile(&self->record, self->text, self->before);
    return self;
}

static void
turning_free(turning *self)
{
    gateway *all[] = {self->a, self->b, self->c};
    for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
        gateway_stop(all[i]);
    kw_policy_unref(self->before);
    kw_policy_unref(self->text);
    kw_policy_unref(self->held);
    town_free(self->in);
    g_free(self);
}

static kw_code
try_begin(turning *self, kw_policy *policy)
{
    self->step = (kw_change_step){.records = &self->record, .count = 1};
    return gateway_admit_step(self->a, policy, &self->step);
}

static kw_code
try_end(turning *self, kw_policy *policy)
{
    self->step = (kw_change_step){.base = &self->record, .base_count = 1};
    return gateway_admit_step(self->a, policy, &self->step);
}

static void
report(const turning *self, gateway *by)
{
    kw_change_report given = {
        .table = "t", .path = "primary", .started_ms = self->record.started_ms, .step = 1};
    kw_catalog_report_changes(by->catalog, &given, 1);
    while (by->catalog->renewing || by->catalog->stored_revision != by->catalog->revision)
        uv_run(kw_loop_uv(by->town->loop), UV_RUN_ONCE);
}

/* The change begins, and the others load it, one after the other. */
static void
begin(turning *self)
{
    g_assert_cmpint(try_begin(self, self->held), ==, KW_OK);
    report(self, self->a);
    g_assert_cmpint(gateway_admit(self->b, self->held), ==, KW_OK);
    report(self, self->b);
    g_assert_cmpint(gateway_admit(self->c, self->held), ==, KW_OK);
}

/* The others load the end, one after the other. */
static void
follow(turning *self, kw_policy *policy)
{
    g_assert_cmpint(gateway_admit(self->b, policy), ==, KW_OK);
    g_assert_cmpint(gateway_admit(self->c, policy), ==, KW_OK);
    town_assert_facts(self->in, "changing_atomics", false);
}

/* Without a change it is refused, and the text says how it is done. The catalog has the new value from the
 * end on, which needs the reports of all gateways. */
KW_TEST(test_on, "/catalog/change atomics/on")
{
    turning *self = turning_new(PLAIN, ON, false);
    g_assert_cmpint(gateway_check(self->b, self->text), ==, KW_REFUSED);
    gateway_assert_text(self->b,
                        "atomics: false, and this policy has atomics: true; restore the old value, or "
                        "change it while the table is in use: set policy.source: store");
    begin(self);
    town_assert_facts(self->in, "\"changing_atomics\":true", true);
    town_assert_facts(self->in, "\"atomics\":true", false);
    g_assert_cmpint(try_end(self, self->text), ==, KW_UNAVAILABLE);
    gateway_assert_text(self->a, "the gateway c has not reported the place stamped-old");
    report(self, self->c);
    g_assert_cmpint(try_end(self, self->text), ==, KW_OK);
    town_assert_facts(self->in, "\"atomics\":true", true);
    follow(self, self->text);
    turning_free(self);
}

KW_TEST(test_off, "/catalog/change atomics/off")
{
    turning *self = turning_new(ON, OFF, true);
    begin(self);
    town_assert_facts(self->in, "\"atomics\":true,\"changing_atomics\":true", true);
    report(self, self->c);
    g_assert_cmpint(try_end(self, self->text), ==, KW_OK);
    town_assert_facts(self->in, "\"atomics\":true", false);
    follow(self, self->text);
    turning_free(self);
}

static bool
cancel(void *user, int64_t current, kw_change_record *record, kw_arena *arena, kw_error *ret_error)
{
    (void)user, (void)current, (void)arena, (void)ret_error;
    record->goal = KW_OLD(ALONE);
    return true;
}

static void
on_cancelled(void *user, const kw_current *current, const kw_error *error)
{
    g_assert_true(current && !error);
    *(bool *)user = true;
}

/* The gateways that have not loaded the end have a text that allows atomic operations. */
KW_TEST(test_cancelled, "/catalog/change atomics/cancelled")
{
    turning *self = turning_new(PLAIN, ON, false);
    bool cancelled = false;
    begin(self);
    report(self, self->c);
    kw_catalog_edit_change(self->b->catalog, "t", NULL, cancel, NULL, kw_deadline_in_ms(10000), on_cancelled,
                           &cancelled);
    while (!cancelled)
        uv_run(kw_loop_uv(self->in->loop), UV_RUN_ONCE);
    g_assert_cmpint(try_end(self, self->text), ==, KW_UNAVAILABLE); /* not the goal of the catalog */
    self->record.goal = KW_OLD(ALONE);
    g_assert_cmpint(try_end(self, self->text), ==, KW_REFUSED); /* this text allows them */
    g_assert_cmpint(try_end(self, self->before), ==, KW_OK);
    town_assert_facts(self->in, "\"atomics\":true", false);
    follow(self, self->before);
    turning_free(self);
}

/* Other policies while the change is under way, and steps that it does not have. */
KW_TEST(test_others, "/catalog/change atomics/others")
{
    turning *self = turning_new(PLAIN, ON, false);
    g_assert_cmpint(try_begin(self, self->text), ==, KW_REFUSED); /* not compiled for it */
    begin(self);
    g_assert_cmpint(gateway_check(self->b, self->before), ==, KW_REFUSED);
    gateway_assert_text(self->b, "a change of table t, path primary is under way, but not in this policy");
    kw_policy *off = test_policy(OFF), *placed = changing_compile(&self->record, off, self->before);
    g_assert_cmpint(gateway_check(self->b, placed), ==, KW_REFUSED);
    gateway_assert_text(self->b, "a change is under way that allows increments and conditional writes");
    report(self, self->c);
    g_assert_cmpint(try_end(self, off), ==, KW_REFUSED);
    g_assert_cmpint(try_end(self, self->held), ==, KW_REFUSED);
    g_assert_cmpint(try_end(self, self->text), ==, KW_OK);
    g_assert_cmpint(gateway_check(self->b, self->held), ==, KW_UNAVAILABLE);
    gateway_assert_text(self->b, "is not under way; try again");
    follow(self, self->text);
    kw_policy_unref(off);
    kw_policy_unref(placed);
    turning_free(self);
}

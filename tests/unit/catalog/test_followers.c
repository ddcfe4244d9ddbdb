/* What gateways report about changes of key rules, and what the holder of a change reads. */
#include "changing.h"

#include "catalog/catalog_internal.h"

typedef struct seen {
    gateway *by;
    kw_change_follower followers[4];
    size_t count;
    char ids[4][8];
} seen;

static void
on_followers(void *user, const kw_change_follower *followers, size_t count, const kw_error *error)
{
    seen *self = user;
    g_assert_cmpuint(count, <=, G_N_ELEMENTS(self->followers));
    for (size_t i = 0; i < count; i++) {
        self->followers[i] = followers[i];
        g_strlcpy(self->ids[i], followers[i].id, sizeof self->ids[i]);
    }
    self->count = count;
    gateway_ended(self->by, error);
}

static kw_code
read_followers(seen *self, gateway *by, const kw_change_record *record)
{
    *self = (seen){.by = by};
    by->done = false;
    kw_catalog_read_followers(by->catalog, record, KW_DEADLINE_NONE, on_followers, self);
    gateway_wait(by);
    return by->error.code;
}

static const kw_change_follower *
find(const seen *self, const char *id)
{
    for (size_t i = 0; i < self->count; i++)
        if (g_str_equal(self->ids[i], id))
            return &self->followers[i];
    return NULL;
}

static void
report(gateway *self, const kw_change_record *record, uint64_t step)
{
    kw_catalog_report_changes(
        self->catalog,
        &(kw_change_report){
            .table = record->table, .path = record->path, .started_ms = record->started_ms, .step = step},
        1);
    while (self->catalog->renewing)
        uv_run(kw_loop_uv(self->town->loop), UV_RUN_ONCE);
}

static void
report_callers(gateway *self, bool has_callers)
{
    kw_catalog_report_callers(self->catalog, has_callers);
    g_assert_true(self->catalog->renewing);
    while (self->catalog->renewing)
        uv_run(kw_loop_uv(self->town->loop), UV_RUN_ONCE);
    kw_catalog_report_callers(self->catalog, has_callers); /* as before: nothing is written */
    g_assert_false(self->catalog->renewing);
}

KW_TEST(test_reports, "/catalog/followers/reports")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true), *c = gateway_new(in, "c", true);
    g_autoptr(kw_policy) other = test_policy_named("u", BASE "    store_table: u\n");
    const kw_change_record *record = &change->record;
    seen found;
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, change->old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(c, other), ==, KW_OK); /* does not have the table */
    report(b, record, 3);
    g_assert_cmpint(read_followers(&found, a, record), ==, KW_OK);
    g_assert_cmpuint(found.count, ==, 2);
    g_assert_true(find(&found, "a")->itself && !find(&found, "b")->itself);
    g_assert_cmpuint(find(&found, "a")->step, ==, 0);
    g_assert_cmpuint(find(&found, "b")->step, ==, 3);
    g_assert_false(find(&found, "a")->dead || find(&found, "b")->dead);
    g_assert_false(find(&found, "a")->has_callers || find(&found, "b")->has_callers);
    report_callers(b, true);
    g_assert_cmpint(read_followers(&found, a, record), ==, KW_OK);
    g_assert_true(!find(&found, "a")->has_callers && find(&found, "b")->has_callers);
    report_callers(b, false);
    g_assert_cmpint(read_followers(&found, a, record), ==, KW_OK);
    g_assert_false(find(&found, "b")->has_callers);
    g_assert_cmpuint(find(&found, "b")->step, ==, 3);
    report(a, record, 4);
    report(b, record, 4);
    g_assert_cmpint(read_followers(&found, b, record), ==, KW_OK);
    g_assert_cmpuint(find(&found, "a")->step + find(&found, "b")->step, ==, 8);
    kw_change_record later = *record;
    later.started_ms++; /* the next change of the path */
    g_assert_cmpint(read_followers(&found, b, &later), ==, KW_OK);
    g_assert_cmpuint(find(&found, "a")->step + find(&found, "b")->step, ==, 0);
    gateway_stop(c);
    gateway_stop(b);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

KW_TEST(test_dead_follower, "/catalog/followers/dead")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    seen found;
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, change->old), ==, KW_OK);
    report(b, &change->record, 3);
    gateway_die(b);
    town_pass_ms(KW_LEASE_DEAD_MS + 1);
    g_assert_cmpint(read_followers(&found, a, &change->record), ==, KW_OK);
    g_assert_false(find(&found, "a")->dead);
    g_assert_true(find(&found, "b")->dead);
    g_assert_cmpuint(find(&found, "b")->step, ==, 3);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

/* A gateway that ends, and whose writes can still be applied, is seen until its registration has expired. */
KW_TEST(test_left_registration, "/catalog/followers/left registration")
{
    for (int leaves = 0; leaves < 2; leaves++) {
        town *in = town_new();
        changing *change = changing_new();
        gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
        seen found;
        g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
        g_assert_cmpint(gateway_admit(b, change->old), ==, KW_OK);
        if (leaves)
            kw_catalog_leave_registration(b->catalog);
        gateway_stop(b);
        g_assert_cmpint(read_followers(&found, a, &change->record), ==, KW_OK);
        g_assert_true(!find(&found, "b") == !leaves);
        town_pass_ms(KW_LEASE_DEAD_MS + 1);
        g_assert_cmpint(read_followers(&found, a, &change->record), ==, KW_OK);
        g_assert_true(!leaves || find(&found, "b")->dead);
        gateway_stop(a);
        changing_free(change);
        town_free(in);
    }
}

/* A registration that replaces a lost one has the reports, which remain true, and another name. */
KW_TEST(test_lost_registration, "/catalog/followers/lost registration")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = gateway_new(in, "a", true);
    seen found;
    g_assert_cmpstr(kw_catalog_instance(a->catalog), ==, "");
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    g_autofree char *first = g_strdup(kw_catalog_instance(a->catalog));
    g_assert_cmpuint(strlen(first), ==, 32);
    report(a, &change->record, 5);
    town_remove_registrations(in);
    kw_catalog_update_registration(a->catalog);
    while (a->lost == 0)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    g_assert_cmpstr(kw_catalog_instance(a->catalog), ==, "");
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    g_assert_cmpstr(kw_catalog_instance(a->catalog), !=, first);
    g_assert_cmpint(read_followers(&found, a, &change->record), ==, KW_OK);
    g_assert_cmpuint(find(&found, "a")->step, ==, 5);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

static uint64_t
count_operations(gateway *by, const kw_change_record *record)
{
    seen found;
    uint64_t before = by->town->control->operations;
    g_assert_cmpint(read_followers(&found, by, record), ==, KW_OK);
    g_assert_nonnull(find(&found, by->catalog->settings.gateway_id));
    return by->town->control->operations - before;
}

/* A read of the followers writes the registration only if it was not renewed within a second. */
KW_TEST(test_recent_registration, "/catalog/followers/recent registration")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = gateway_new(in, "a", true);
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    report(a, &change->record, 1);
    uint64_t recent = count_operations(a, &change->record), lease = a->catalog->lease;
    g_assert_cmpuint(count_operations(a, &change->record), ==, recent);
    g_assert_cmpuint(a->catalog->lease, ==, lease);
    town_pass_ms(1001);
    g_assert_cmpuint(count_operations(a, &change->record), ==, recent + 1);
    g_assert_cmpuint(a->catalog->lease, >, lease);
    g_assert_cmpuint(count_operations(a, &change->record), ==, recent);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

static void
on_rival(void *user)
{
    const kw_catalog *catalog = ((gateway *)user)->catalog;
    g_assert_true(catalog->renewing || catalog->stored_revision == catalog->revision);
}

/* Reports that change while a renewal is in flight are written after it, without the pause that follows a
 * failure: the timer of 400 ms expires later. */
KW_TEST(test_report_during_a_renewal, "/catalog/followers/report during a renewal")
{
    town *in = town_new();
    changing *change = changing_new();
    gateway *a = gateway_new(in, "a", true);
    kw_timer *rival = kw_timer_new(in->loop, on_rival, a);
    g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
    while (a->catalog->renewing)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    kw_catalog_update_registration(a->catalog);
    g_assert_true(a->catalog->renewing);
    report(a, &change->record, 2);
    kw_timer_start_ms(rival, 400);
    while (a->catalog->stored_revision != a->catalog->revision)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
    kw_timer_free(rival);
    gateway_stop(a);
    changing_free(change);
    town_free(in);
}

KW_TEST(test_faults, "/catalog/followers/faults")
{
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        town *in = town_new();
        changing *change = changing_new();
        gateway *a = gateway_new(in, "a", true);
        seen found;
        g_assert_cmpint(gateway_admit(a, change->old), ==, KW_OK);
        in->control->fail_at = in->control->operations + n;
        kw_code code = read_followers(&found, a, &change->record);
        failed = in->control->operations >= in->control->fail_at;
        g_assert_true(code == KW_OK ? found.count == 1 : failed && found.count == 0);
        in->control->fail_at = 0;
        gateway_stop(a);
        changing_free(change);
        town_free(in);
    }
}

static void
assert_registration(const char *text, bool good)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_registration read = {0};
    if (kw_registration_parse(kw_bytes_of_text(text), arena, &read) != good)
        g_error("%s: %s", good ? "refused" : "accepted", text);
}

KW_TEST(test_damaged, "/catalog/followers/damaged registration")
{
#define SAYS(changes) "{\"serving\":{},\"next\":{}" changes "}"
#define ONE(step) ",\"changes\":[{\"table\":\"t\",\"path\":\"p\",\"started_ms\":1,\"step\":" step "}]"
    assert_registration(SAYS(""), true);
    assert_registration(SAYS(",\"changes\":[]"), true);
    assert_registration(SAYS(ONE("2")), true);
    assert_registration(SAYS(",\"follows\":true"), true);
    assert_registration(SAYS(",\"follows\":\"true\""), false);
    assert_registration(SAYS(",\"has_callers\":true"), true);
    assert_registration(SAYS(",\"has_callers\":1"), false);
    assert_registration(SAYS(ONE("\"2\"")), false);
    assert_registration(SAYS(ONE("-2")), false);
    assert_registration(SAYS(ONE("null")), false);
    assert_registration(SAYS(",\"changes\":{}"), false);
    assert_registration(SAYS(",\"changes\":[1]"), false);
    assert_registration(SAYS(",\"changes\":[{\"table\":\"t\",\"path\":\"p\",\"step\":1}]"), false);
    assert_registration(SAYS(",\"changes\":[{\"table\":7,\"path\":\"p\",\"started_ms\":1,\"step\":1}]"),
                        false);
}

/* The sweep of stale hints: which hints its slices visit, and which of several gateways sweeps. The linker
 * replaces the slices, and what would need a store or a catalog, by functions of this file. */
#include "coordinator/hint_sweep.h"

#include "reconcile/hint_slice.h"
#include "schema/progress.h"

#include "rule/policies.h"

#include <glib.h>

#define TABLE                                                                                                \
    "    fields: {id: string, seller: string, status: string}\n"                                             \
    "    key: [{field: id}]\n"                                                                               \
    "    paths:\n"                                                                                           \
    "      by_seller: {key: [{field: {name: seller, encoding: terminated}}, {field: id}]}\n"                 \
    "      by_status: {key: [{field: {name: status, encoding: terminated}}, {field: id}]}\n"
#define SELLERS "t_by_seller"
#define STATUSES "t_by_status"

#define S UINT64_C(1000)
#define HOUR (3600 * S)

void __wrap_kw_hint_slice(kw_call *call, const kw_hint_slice_request *request, kw_hint_slice_done done,
                          void *user);
void __wrap_kw_catalog_read_followers(kw_catalog *catalog, const kw_change_record *record,
                                      kw_deadline deadline, kw_change_followers_read done, void *user);
const kw_fence *__wrap_kw_catalog_fence(const kw_catalog *catalog);
bool __wrap_kw_store_is_shared(const kw_store *store);

static uint64_t now_ms;
static bool shared;
static kw_fence fence;

/* The slice, or the read of the registrations, that is in progress; NULL: none is. */
static const kw_hint_slice_request *slice;
static kw_hint_slice_done slice_done;
static kw_change_followers_read gateways_read;
static void *its_user;

void
__wrap_kw_hint_slice(kw_call *call, const kw_hint_slice_request *request, kw_hint_slice_done done, void *user)
{
    (void)call;
    slice = request;
    slice_done = done;
    its_user = user;
}

void
__wrap_kw_catalog_read_followers(kw_catalog *catalog, const kw_change_record *record, kw_deadline deadline,
                                 kw_change_followers_read done, void *user)
{
    (void)catalog;
    (void)deadline;
    g_assert_cmpstr(record->table, ==, "t");
    gateways_read = done;
    its_user = user;
}

const kw_fence *
__wrap_kw_catalog_fence(const kw_catalog *catalog)
{
    (void)catalog;
    return shared ? &fence : NULL;
}

bool
__wrap_kw_store_is_shared(const kw_store *store)
{
    (void)store;
    return shared;
}

static uint64_t
mono_ns(void)
{
    return now_ms * 1000 * 1000;
}

typedef struct scene {
    kw_control control;
    kw_hint_sweep *sweep;
    unsigned wakes;
} scene;

static scene *
scene_new(bool several_gateways)
{
    scene *self = g_new0(scene, 1);
    kw_clock_inject(NULL, mono_ns);
    now_ms = S;
    shared = several_gateways;
    slice = NULL;
    gateways_read = NULL;
    kw_fence_open_until(&fence, UINT64_MAX);
    self->control.state = KW_CONTROL_SERVING;
    self->control.policy = test_policy(TABLE);
    self->sweep = kw_hint_sweep_new(&self->control);
    return self;
}

static void
scene_free(scene *self)
{
    kw_hint_sweep_free(self->sweep);
    kw_policy_unref(self->control.policy);
    kw_clock_inject(NULL, NULL);
    g_free(self);
}

static void
wake(void *user)
{
    scene *self = user;
    self->wakes++;
}

/* Ticks as the timer does, until something is in progress or nothing begins for that long. */
static void
run(scene *self, uint64_t least_ms)
{
    uint64_t until_ms = now_ms + least_ms;
    while (!slice && !gateways_read && now_ms <= until_ms) {
        uint64_t again_ms = kw_hint_sweep_tick(self->sweep, wake, self);
        g_assert_true(again_ms > 0);
        g_assert_true((again_ms == UINT64_MAX) == kw_hint_sweep_is_busy(self->sweep));
        if (again_ms != UINT64_MAX)
            now_ms += again_ms;
    }
}

static void
expect_slice(scene *self, uint64_t within_ms, const char *store_table, const char *after)
{
    run(self, within_ms);
    g_assert_nonnull(slice);
    g_assert_cmpint(slice->mode, ==, KW_HINTS_STALE);
    g_assert_true(slice->repair);
    g_assert_true(kw_bytes_equal(slice->hints->store_table, kw_bytes_of_text(store_table)));
    g_assert_true(kw_bytes_equal(slice->after, kw_bytes_of_text(after)));
}

static void
end_slice(scene *self, const kw_hint_slice_result *result, const kw_error *error)
{
    unsigned wakes = self->wakes;
    slice = NULL;
    slice_done(its_user, result, error);
    g_assert_cmpuint(self->wakes, ==, wakes + 1);
    g_assert_false(kw_hint_sweep_is_busy(self->sweep));
}

static void
visit(scene *self, const char *after, bool end)
{
    end_slice(self, &(kw_hint_slice_result){.rows = 1, .after = kw_bytes_of_text(after), .end = end}, NULL);
}

static void
fail(scene *self)
{
    end_slice(self, NULL, &(kw_error){.code = KW_UNAVAILABLE, .text = "the test's"});
}

static void
expect_nothing(scene *self, uint64_t for_ms)
{
    run(self, for_ms);
    g_assert_null(slice);
    g_assert_null(gateways_read);
}

/* The hints of all paths, once; a second between two slices; then nothing for an hour. */
KW_TEST(test_all, "/coordinator/hint_sweep/all")
{
    scene *self = scene_new(false);
    expect_nothing(self, 59 * S);
    expect_slice(self, 61 * S, SELLERS, "");
    visit(self, "a", false);
    expect_nothing(self, S - 1);
    expect_slice(self, S, SELLERS, "a");
    visit(self, "b", true);
    expect_slice(self, 2 * S, STATUSES, "");
    visit(self, "", true);
    expect_nothing(self, HOUR - 3 * S);
    expect_slice(self, HOUR + 3 * S, SELLERS, "");
    visit(self, "", true);
    scene_free(self);
}

/* A slice that fails is repeated; after ten failures, the next path follows. */
KW_TEST(test_failures, "/coordinator/hint_sweep/failures")
{
    scene *self = scene_new(false);
    expect_slice(self, 121 * S, SELLERS, "");
    visit(self, "a", false);
    for (int i = 0; i < 9; i++) {
        expect_slice(self, 2 * S, SELLERS, "a");
        fail(self);
    }
    expect_slice(self, 2 * S, SELLERS, "a");
    visit(self, "b", false);
    for (int i = 0; i < 10; i++) {
        expect_slice(self, 2 * S, SELLERS, "b");
        fail(self);
    }
    expect_slice(self, 2 * S, STATUSES, "");
    visit(self, "", true);
    scene_free(self);
}

/* The rows of a table that is not served can have other key rules. */
KW_TEST(test_not_served, "/coordinator/hint_sweep/not_served")
{
    scene *self = scene_new(false);
    kw_policy_set_served(self->control.policy, 0, &(kw_error){.code = KW_UNAVAILABLE, .text = "the test's"});
    expect_nothing(self, 3 * HOUR);
    kw_policy_set_served(self->control.policy, 0, NULL);
    expect_slice(self, 2 * HOUR, SELLERS, "");
    visit(self, "", true);
    scene_free(self);
}

/* --- several gateways -------------------------------------------------------------------------------- */

static void
expect_read(scene *self, uint64_t within_ms)
{
    run(self, within_ms);
    g_assert_null(slice);
    g_assert_nonnull(gateways_read);
}

/* own, other: names of registrations. */
static void
report(scene *self, const char *own, const char *other, bool other_is_dead)
{
    const kw_change_follower followers[] = {{.instance = other, .id = "other", .dead = other_is_dead},
                                            {.instance = own, .id = "own", .itself = true}};
    kw_change_followers_read done = gateways_read;
    gateways_read = NULL;
    done(its_user, followers, 2, NULL);
    g_assert_false(kw_hint_sweep_is_busy(self->sweep));
}

/* The first gateway sweeps, and reads every minute whether it still is the first one. */
KW_TEST(test_first, "/coordinator/hint_sweep/first")
{
    scene *self = scene_new(true);
    unsigned slices = 0;
    expect_read(self, 121 * S);
    report(self, "b", "c", false);
    expect_slice(self, 2 * S, SELLERS, "");
    visit(self, "a", false);
    for (run(self, 2 * S); slice; run(self, 2 * S), slices++)
        visit(self, "a", false);
    g_assert_cmpuint(slices, >, 50);
    g_assert_cmpuint(slices, <, 61);
    expect_read(self, 0);
    report(self, "b", "c", false);
    expect_slice(self, 2 * S, SELLERS, "a");
    visit(self, "b", true);
    expect_read(self, 2 * S); /* for the next path */
    report(self, "b", "a", false);
    expect_nothing(self, HOUR - 3 * S);
    scene_free(self);
}

/* Another gateway does not sweep, until the first one is dead. */
KW_TEST(test_other, "/coordinator/hint_sweep/other")
{
    scene *self = scene_new(true);
    expect_read(self, 121 * S);
    report(self, "b", "a", false);
    expect_read(self, 2 * S);
    report(self, "b", "a", false);
    expect_nothing(self, HOUR - 3 * S);
    expect_read(self, HOUR + 3 * S);
    report(self, "b", "a", true);
    expect_slice(self, 2 * S, SELLERS, "");
    visit(self, "", true);
    scene_free(self);
}

/* A gateway whose registration does not have the table does not sweep it. */
KW_TEST(test_unregistered, "/coordinator/hint_sweep/unregistered")
{
    scene *self = scene_new(true);
    expect_read(self, 121 * S);
    kw_change_followers_read done = gateways_read;
    gateways_read = NULL;
    done(its_user, NULL, 0, NULL);
    expect_read(self, 2 * S);
    report(self, "a", "b", false);
    expect_slice(self, 2 * S, STATUSES, "");
    visit(self, "", true);
    scene_free(self);
}

KW_TEST(test_unreadable, "/coordinator/hint_sweep/unreadable")
{
    scene *self = scene_new(true);
    expect_read(self, 121 * S);
    kw_change_followers_read done = gateways_read;
    gateways_read = NULL;
    done(its_user, NULL, 0, &(kw_error){.code = KW_UNAVAILABLE, .text = "the test's"});
    expect_read(self, 2 * S);
    report(self, "a", "b", false);
    expect_slice(self, 2 * S, SELLERS, "");
    visit(self, "", true);
    scene_free(self);
}

KW_TEST(test_no_lease, "/coordinator/hint_sweep/no_lease")
{
    scene *self = scene_new(true);
    kw_fence_shut(&fence);
    expect_nothing(self, 3 * HOUR);
    kw_fence_open_until(&fence, UINT64_MAX);
    self->control.lost = true;
    expect_nothing(self, 3 * HOUR);
    self->control.lost = false;
    expect_read(self, 2 * S);
    report(self, "a", "b", false);
    scene_free(self);
}

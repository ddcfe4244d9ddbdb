/* Which rows the slices of a pass or sweep scan: those that changed, or all if such a scan was too slow. The
 * linker replaces kw_copy and what would need a catalog by functions of this file. */
#include "change/set.h"
#include "coordinator/slice.h"
#include "gateway/gateway_internal.h"
#include "support/memory_store.h"

#include "rule/policies.h"

#include <glib.h>

#define FIELDS "    fields: {id: {type: string, max_bytes: 20}, ts: {type: timestamp, unit: ms}, n: int}\n"
#define OLD FIELDS "    key: [{field: id}, {field: ts}]\n"
#define NEW FIELDS "    key: [{field: ts}, {field: id}]\n"
#define SINCE_MS 50
#define CORES 3

void __wrap_kw_copy(kw_call *call, const kw_copy_request *request, kw_copy_done done, void *user);
bool __wrap_kw_change_can_work(const kw_coordinator *self, const kw_change_record *record);
const kw_fence *__wrap_kw_catalog_fence(const kw_catalog *catalog);
uint64_t __wrap_kw_store_last_doubt_ns(const kw_store *store);
const char *__wrap_kw_catalog_instance(const kw_catalog *catalog);

/* The slice in progress; NULL: none. */
static const kw_copy_request *request;
static kw_copy_done slice_done;
static void *slice_user;

void
__wrap_kw_copy(kw_call *call, const kw_copy_request *given, kw_copy_done done, void *user)
{
    (void)call;
    g_assert_null(request);
    request = given;
    slice_done = done;
    slice_user = user;
}

bool
__wrap_kw_change_can_work(const kw_coordinator *self, const kw_change_record *record)
{
    (void)self;
    (void)record;
    return true;
}

const kw_fence *
__wrap_kw_catalog_fence(const kw_catalog *catalog)
{
    (void)catalog;
    return NULL;
}

uint64_t
__wrap_kw_store_last_doubt_ns(const kw_store *store)
{
    (void)store;
    return 0;
}

const char *
__wrap_kw_catalog_instance(const kw_catalog *catalog)
{
    (void)catalog;
    return "a";
}

typedef struct scene {
    kw_control control;
    kw_coordinator *coordinator;
    kw_change_record record; /* as it begins */
} scene;

static void
set_record(scene *self)
{
    g_autoptr(kw_policy) old = test_policy(OLD), new = test_policy(NEW);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test");
    kw_change_set_unref(self->control.changes);
    g_clear_pointer(&self->control.policy, kw_policy_unref);
    self->control.changes = kw_change_set_new(&self->record, 1, NULL);
    kw_change_set_add_model(self->control.changes, 0, kw_policy_model(old));
    self->control.policy = kw_change_set_compile(self->control.changes, kw_policy_model(new), problems);
    g_assert_nonnull(self->control.policy);
}

/* This gateway makes the pass or sweep. Version 3 needs passes, and both placements are written under it. */
static scene *
scene_new(kw_change_act act)
{
    scene *self = g_new0(scene, 1);
    self->control.loop = kw_loop_new();
    self->control.state = KW_CONTROL_SERVING;
    self->coordinator = kw_coordinator_new(&self->control);
    self->coordinator->cores = CORES;
    self->record = (kw_change_record){.table = "t",
                                      .path = "primary",
                                      .given = {1, "t"},
                                      .now = {2, "t2"},
                                      .under_way = true,
                                      .old = {1, "t"},
                                      .old_given = {1, "t"},
                                      .old_version = {1, "0123456789abcdef0123456789abcdef"},
                                      .new_version = 2,
                                      .place = KW_OLD(LAST_PASS),
                                      .writers = KW_CHANGE_SEVERAL_WRITERS,
                                      .step = 1,
                                      .goal = KW_NEW(BOTH),
                                      .holder = "a",
                                      .settled_ms = SINCE_MS,
                                      .swept_ms = SINCE_MS,
                                      .set_at_ms = 2 * SINCE_MS,
                                      .copied = true,
                                      .compared = true,
                                      .started_ms = 1000,
                                      .author = "",
                                      .reason = "",
                                      .example = ""};
    set_record(self);
    kw_change_work *work = kw_change_work_of(self->coordinator, &self->record);
    work->is_holder = true;
    work->next.act = act;
    return self;
}

static void
fail(kw_code code)
{
    const kw_error error = {.code = code, .text = "the test's"};
    request = NULL;
    slice_done(slice_user, NULL, &error);
}

static void
visit(const char *after, bool end)
{
    const kw_copy_result result = {.rows = 1, .after = kw_bytes_of_text(after), .end = end, .progress = 0.5};
    request = NULL;
    slice_done(slice_user, &result, NULL);
}

/* Starts the next slice, without the pause after a failure. */
static void
expect_slice(scene *self, const char *store_table, const char *after, bool scan_all)
{
    kw_change_work_of(self->coordinator, &self->record)->not_before_ns = 0;
    kw_change_work_start(self->coordinator);
    g_assert_nonnull(request);
    g_assert_true(kw_bytes_equal(request->from->store_table, kw_bytes_of_text(store_table)));
    g_assert_true(kw_bytes_equal(request->after, kw_bytes_of_text(after)));
    g_assert_cmpint(request->since_ms, ==, SINCE_MS);
    g_assert_true(request->scan_all == scan_all);
}

static void
scene_free(scene *self)
{
    if (request)
        fail(KW_UNAVAILABLE);
    kw_coordinator_close(self->coordinator);
    kw_coordinator_free(self->coordinator);
    kw_change_set_unref(self->control.changes);
    kw_policy_unref(self->control.policy);
    kw_loop_free(self->control.loop);
    g_free(self);
}

/* After a slice that is too slow, slices scan all rows up to the end of the placement. In the next placement,
 * they begin again with the rows that changed. */
static void
test_slow(kw_change_act act, kw_code code)
{
    const char *first = act == KW_CHANGE_ACT_PASS ? "t" : "t2", *second = first[1] ? "t" : "t2";
    scene *self = scene_new(act);
    expect_slice(self, first, "", false);
    visit("a", false);
    expect_slice(self, first, "a", false);
    fail(code);
    expect_slice(self, first, "a", true);
    visit("b", false);
    expect_slice(self, first, "b", true);
    fail(code);
    expect_slice(self, first, "b", true);
    visit("c", false);
    expect_slice(self, first, "c", true);
    visit("d", true);
    expect_slice(self, second, "", false);
    scene_free(self);
}

KW_TEST(test_pass, "/coordinator/passes/pass")
{
    test_slow(KW_CHANGE_ACT_PASS, KW_TIMEOUT);
    test_slow(KW_CHANGE_ACT_PASS, KW_LIMIT);
}

KW_TEST(test_sweep, "/coordinator/passes/sweep")
{
    test_slow(KW_CHANGE_ACT_SWEEP, KW_TIMEOUT);
    test_slow(KW_CHANGE_ACT_SWEEP, KW_LIMIT);
}

/* After one failure of another kind, the slice is repeated: the store was perhaps unavailable for a moment.
 * Two in a row count as a scan that is too slow. */
KW_TEST(test_other_failures, "/coordinator/passes/other-failures")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    expect_slice(self, "t", "", false);
    fail(KW_UNAVAILABLE);
    expect_slice(self, "t", "", false);
    visit("a", false);
    expect_slice(self, "t", "a", false);
    fail(KW_UNAVAILABLE);
    expect_slice(self, "t", "a", false);
    fail(KW_INTERNAL);
    expect_slice(self, "t", "a", true);
    visit("b", false);
    expect_slice(self, "t", "b", true);
    scene_free(self);
}

/* The next place's pass selects rows again, although this one did not reach the end of the placement. */
KW_TEST(test_next_version, "/coordinator/passes/next-version")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    expect_slice(self, "t", "", false);
    fail(KW_TIMEOUT);
    expect_slice(self, "t", "", true);
    visit("a", false);
    kw_change_set_place(&self->record, KW_OLD(LAST_PASS), 1, 2 * SINCE_MS);
    set_record(self);
    expect_slice(self, "t", "", false);
    scene_free(self);
}

static void
remember(const char *key)
{
    static const kw_ordering ordering = {.regime.order = KW_WRITE_ORDER_STAMP};
    g_assert_false(kw_copy_seen_must_visit(request->seen, request->seen_use, &ordering, kw_bytes_of_text(key),
                                           &(kw_row){.cells_count = 0}));
}

static kw_change_pass
pass_of(const scene *self)
{
    return self->control.changes->records[0].pass;
}

/* On the way back, scans read the new placement, so the pass begins with it. */
KW_TEST(test_first, "/coordinator/passes/first")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    self->record.place = KW_NEW(LAST_PASS);
    self->record.goal = KW_OLD(BOTH);
    set_record(self);
    expect_slice(self, "t2", "", false);
    g_assert_cmpint(request->seen_use, ==, KW_COPY_SEEN_ADD);
    remember("x");
    visit("a", true);
    expect_slice(self, "t", "", false);
    g_assert_cmpint(request->seen_use, ==, KW_COPY_SEEN_COMPARE);
    visit("b", true);
    expect_slice(self, "t2", "", false);
    g_assert_cmpint(request->seen_use, ==, KW_COPY_SEEN_LEFT);
    visit("c", true);
    g_assert_cmpint(pass_of(self), ==, KW_CHANGE_PASS_ENDED);
    scene_free(self);
}

static void
expect_scan(scene *self, const char *store_table, kw_copy_seen_use use)
{
    expect_slice(self, store_table, "", false);
    g_assert_cmpint(request->seen_use, ==, use);
}

/* Old rows that the new placement does not have are visited at the end. */
KW_TEST(test_left, "/coordinator/passes/left")
{
    for (int left = 0; left < 2; left++) {
        scene *self = scene_new(KW_CHANGE_ACT_PASS);
        expect_scan(self, "t", KW_COPY_SEEN_ADD);
        if (left)
            remember("x");
        visit("a", true);
        expect_scan(self, "t2", KW_COPY_SEEN_COMPARE);
        visit("b", false);
        expect_slice(self, "t2", "b", false);
        visit("c", true);
        if (left) {
            g_assert_cmpint(pass_of(self), ==, KW_CHANGE_PASS_SECOND);
            expect_scan(self, "t", KW_COPY_SEEN_LEFT);
            visit("d", true);
        }
        g_assert_cmpint(pass_of(self), ==, KW_CHANGE_PASS_ENDED);
        g_assert_cmpint(self->control.changes->records[0].settled_ms, ==, 2 * SINCE_MS);
        scene_free(self);
    }
}

/* A gateway that takes over does not know what the one before has scanned. */
KW_TEST(test_taken_over, "/coordinator/passes/taken-over")
{
    for (kw_change_pass pass = KW_CHANGE_PASS_FIRST; pass <= KW_CHANGE_PASS_SECOND; pass++) {
        scene *self = scene_new(KW_CHANGE_ACT_PASS);
        self->record.pass = pass;
        self->record.copied_to = KW_BYTES_LITERAL("a");
        set_record(self);
        expect_slice(self, "t", "", false);
        remember("x");
        visit("b", false);
        g_assert_cmpint(pass_of(self), ==, KW_CHANGE_PASS_FIRST);
        expect_slice(self, "t", "b", false);
        g_assert_cmpuint(kw_copy_seen_left(request->seen), ==, 1);
        scene_free(self);
    }
}

/* The catalog has earlier progress, for example because another change has made a step. */
static void
set_back(scene *self, kw_change_pass pass, const char *to)
{
    self->record.pass = pass;
    self->record.copied_to = kw_bytes_of_text(to);
    set_record(self);
}

/* The first slices of a pass can visit rows of other regions only. */
KW_TEST(test_no_position, "/coordinator/passes/no-position")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    expect_slice(self, "t", "", false);
    remember("x");
    visit("", false);
    expect_slice(self, "t", "", false);
    g_assert_cmpuint(kw_copy_seen_left(request->seen), ==, 1);
    visit("b", false);
    set_back(self, KW_CHANGE_PASS_FIRST, "");
    expect_slice(self, "t", "", false);
    g_assert_cmpuint(kw_copy_seen_left(request->seen), ==, 0);
    remember("x");
    visit("", false);
    self->record.goal = KW_OLD(BOTH); /* in between, the change was to go in another direction */
    set_back(self, KW_CHANGE_PASS_FIRST, "");
    expect_slice(self, "t", "", false);
    g_assert_cmpuint(kw_copy_seen_left(request->seen), ==, 0);
    scene_free(self);
}

/* A slice does not count if its gateway was not the holder for a moment. */
KW_TEST(test_lost, "/coordinator/passes/lost")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    expect_slice(self, "t", "", false);
    visit("a", true);
    expect_slice(self, "t2", "", false);
    g_clear_pointer(&kw_change_work_of(self->coordinator, &self->record)->seen, kw_copy_seen_unref);
    visit("b", true);
    g_assert_cmpint(pass_of(self), ==, KW_CHANGE_PASS_SECOND);
    expect_slice(self, "t", "", false);
    g_assert_cmpint(pass_of(self), ==, KW_CHANGE_PASS_FIRST);
    scene_free(self);
}

KW_TEST(test_set_back, "/coordinator/passes/set-back")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    expect_scan(self, "t", KW_COPY_SEEN_ADD);
    remember("x");
    visit("b", false);
    set_back(self, KW_CHANGE_PASS_FIRST, "a"); /* rows are remembered again */
    expect_slice(self, "t", "a", false);
    visit("c", true);
    expect_scan(self, "t2", KW_COPY_SEEN_COMPARE);
    visit("b", false);
    set_back(self, KW_CHANGE_PASS_SECOND, "a"); /* rows are compared again */
    expect_slice(self, "t2", "a", false);
    g_assert_cmpint(request->seen_use, ==, KW_COPY_SEEN_COMPARE);
    visit("b", false);
    set_back(self, KW_CHANGE_PASS_FIRST, "a"); /* a key of the other placement */
    expect_scan(self, "t", KW_COPY_SEEN_ADD);
    remember("x");
    visit("c", true);
    expect_scan(self, "t2", KW_COPY_SEEN_COMPARE);
    visit("c", true);
    expect_scan(self, "t", KW_COPY_SEEN_LEFT);
    visit("d", false);
    set_back(self, KW_CHANGE_PASS_SECOND, "b"); /* can be a key of either placement */
    expect_scan(self, "t", KW_COPY_SEEN_ADD);
    scene_free(self);
}

/* --- the request of a slice ---------------------------------------------------------------------------- */

/* The slice of a pass, after the first pass or the first one, under this version and goal. */
static void
expect_limits(kw_change_place place, kw_change_place goal, int64_t settled_ms, uint32_t max_scans,
              uint32_t max_rows, bool may_end_early)
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    self->record.place = place;
    self->record.goal = goal;
    self->record.settled_ms = settled_ms;
    self->record.swept_ms = 0;
    set_record(self);
    kw_change_work_start(self->coordinator);
    g_assert_nonnull(request);
    g_assert_cmpuint(request->max_scans, ==, max_scans);
    g_assert_cmpuint(request->max_rows, ==, max_rows);
    g_assert_cmpint(request->may_go_on != NULL, ==, may_end_early);
    scene_free(self);
}

/* Several regions are scanned at the same time if callers or the operator wait: atomic operations are held,
 * or the operator has given a command after the first pass. Other slices end early if callers begin to use
 * the gateway. */
KW_TEST(test_limits, "/coordinator/passes/limits")
{
    expect_limits(KW_OLD(LAST_PASS), KW_NEW(BOTH), SINCE_MS, 2 * CORES, 10000, false);
    expect_limits(KW_OLD(LAST_PASS), KW_NEW(BOTH), 0, 2 * CORES, 10000, false);
    expect_limits(KW_OLD(SPACED), KW_NEW(BOTH), SINCE_MS, 2 * CORES, 10000, false);
    expect_limits(KW_OLD(BOTH), KW_OLD(BOTH), SINCE_MS, 1, 5000, true);
    expect_limits(KW_OLD(BOTH), KW_OLD(BOTH), 0, 1, 5000, true);
    expect_limits(KW_OLD(BOTH), KW_NEW(BOTH), SINCE_MS, 2 * CORES, 10000, false);
}

KW_TEST(test_scans_at_once, "/coordinator/passes/scans-at-once")
{
    static const uint32_t scans[][2] = {{1, 2}, {4, 8}, {64, 8}}; /* cores, scans */
    for (size_t i = 0; i < G_N_ELEMENTS(scans); i++) {
        scene *self = scene_new(KW_CHANGE_ACT_PASS);
        self->coordinator->cores = scans[i][0];
        kw_change_work_start(self->coordinator);
        g_assert_cmpuint(request->max_scans, ==, scans[i][1]);
        scene_free(self);
    }
}

/* A command lets all rows be copied and compared again while the first slice of a pass runs. Its position
 * would be taken for that of the copy. */
KW_TEST(test_copied_again, "/coordinator/passes/copied-again")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    self->record.place = KW_OLD(BOTH);
    self->record.undecodable = 1;
    set_record(self);
    expect_slice(self, "t", "", false);
    kw_change_compare_again(&self->record, true);
    set_record(self);
    visit("a", false);
    g_assert_false(self->control.changes->records[0].copied);
    g_assert_cmpuint(self->control.changes->records[0].copied_to.size, ==, 0);
    scene_free(self);
}

static void
expect_before(kw_change_place place, int64_t before_ms)
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    self->record.place = place;
    set_record(self);
    expect_slice(self, kw_change_rules_at(KW_LADDER_MOVE, place).new_role.scan ? "t2" : "t", "", false);
    g_assert_cmpint(request->before_ms, ==, before_ms);
    scene_free(self);
}

/* Beside puts that do not wait for the next millisecond, a pass reads older cells only. */
KW_TEST(test_before, "/coordinator/passes/before")
{
    expect_before(KW_OLD(BOTH), 2 * SINCE_MS);
    expect_before(KW_NEW(BOTH), 2 * SINCE_MS);
    expect_before(KW_OLD(SPACED), 0);
    expect_before(KW_OLD(LAST_PASS), 0);
    expect_before(KW_NEW(SPACED), 0);
    expect_before(KW_NEW(LAST_PASS), 0);
}

static void
expect_range(scene *self, const char *after, const char *first, const char *last)
{
    kw_change_work_of(self->coordinator, &self->record)->not_before_ns = 0;
    kw_change_work_start(self->coordinator);
    g_assert_nonnull(request);
    g_assert_true(kw_bytes_equal(request->after, kw_bytes_of_text(after)));
    g_assert_true(kw_bytes_equal(request->first, kw_bytes_of_text(first)));
    g_assert_true(kw_bytes_equal(request->last, kw_bytes_of_text(last)));
}

static void
visit_range(const char *after, bool end, const char *first, const char *last)
{
    const kw_copy_result result = {.rows = 1,
                                   .after = kw_bytes_of_text(after),
                                   .end = end,
                                   .first = kw_bytes_of_text(first),
                                   .last = kw_bytes_of_text(last),
                                   .progress = 0.5};
    request = NULL;
    slice_done(slice_user, &result, NULL);
}

/* The first and the last row key are passed to the next slice, also if the first region has not been visited
 * yet. They belong to one placement and one pass. */
KW_TEST(test_key_range_of_pass, "/coordinator/passes/key-range-of-pass")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    expect_range(self, "", "", "");
    visit_range("", false, "m", "z");
    expect_range(self, "", "m", "z");
    visit_range("b", false, "a", "z");
    expect_range(self, "b", "a", "z");
    remember("x");
    visit_range("z", true, "a", "z");
    expect_range(self, "", "", ""); /* the other placement */
    visit_range("", false, "n", "y");
    expect_range(self, "", "n", "y");
    visit_range("y", true, "c", "y");
    expect_range(self, "", "", ""); /* the rows that are left in the first one */
    visit_range("", false, "m", "z");
    set_back(self, KW_CHANGE_PASS_FIRST, ""); /* the pass begins again */
    expect_range(self, "", "", "");
    scene_free(self);
}

/* A sweep that begins again can be that of another placement. */
KW_TEST(test_key_range_of_sweep, "/coordinator/passes/key-range-of-sweep")
{
    scene *self = scene_new(KW_CHANGE_ACT_SWEEP);
    expect_range(self, "", "", "");
    visit_range("b", false, "a", "z");
    expect_range(self, "b", "a", "z");
    fail(KW_UNAVAILABLE);
    expect_range(self, "b", "a", "z");
    visit_range("c", false, "a", "z");
    set_back(self, KW_CHANGE_PASS_FIRST, "");
    expect_range(self, "", "", "");
    scene_free(self);
}

static kw_code
tick_after_failure(kw_change_place place, kw_change_wait *ret_wait)
{
    char catalog; /* not used: see the wrapped functions */
    scene *self = scene_new(KW_CHANGE_ACT_WAIT);
    self->record.place = place;
    set_record(self);
    self->control.store = kw_memory_store_open();
    self->control.catalog = (kw_catalog *)(void *)&catalog;
    self->control.served_changes = self->control.changes;
    kw_change_work *work = kw_change_work_of(self->coordinator, &self->record);
    kw_change_planner_init(&work->planner, &self->record, 0);
    work->read_ns = kw_clock_boot_ns();
    work->problem = (kw_error){.code = KW_UNAVAILABLE, .text = "the test's"};
    kw_change_holder_tick(self->coordinator);
    kw_code code = work->problem.code;
    *ret_wait = work->next.wait;
    self->control.catalog = NULL;
    kw_store_free(self->control.store);
    scene_free(self);
    return code;
}

/* The step of the holder failed. While it is tried again, the status shows the failure. If it was made
 * nevertheless, and the change waits for a command now, the failure is over. */
KW_TEST(test_failed_step, "/coordinator/passes/failed-step")
{
    kw_change_wait wait;
    g_assert_cmpint(tick_after_failure(KW_NEW(LAST_PASS), &wait), ==, KW_UNAVAILABLE);
    g_assert_cmpint(wait, ==, KW_CHANGE_WAIT_REPORTS);
    g_assert_cmpint(tick_after_failure(KW_NEW(BOTH), &wait), ==, KW_OK);
    g_assert_cmpint(wait, ==, KW_CHANGE_WAIT_COMMAND);
}

static void
set_limits(scene *self, uint64_t rows_per_second, uint64_t share_percent)
{
    self->record.rows_per_second = rows_per_second;
    self->record.share_percent = share_percent;
    set_record(self);
}

/* A slice of 500 rows has ended, which took a second. Another limit or share applies at once, although the
 * next slice already waits. */
KW_TEST(test_throttled, "/coordinator/passes/throttled")
{
    scene *self = scene_new(KW_CHANGE_ACT_PASS);
    self->record.place = KW_OLD(BOTH);
    self->record.goal = KW_OLD(BOTH);
    self->record.settled_ms = 0;
    set_record(self);
    kw_change_work *work = kw_change_work_of(self->coordinator, &self->record);
    work->slice_ended_ns = kw_clock_mono_ns();
    work->slice_rows = 500;
    work->slice_ns = UINT64_C(1000000000);
    set_limits(self, 3, 0);
    g_assert_cmpuint(kw_change_work_start(self->coordinator), >, 150000);
    set_limits(self, 10, 0);
    g_assert_cmpuint(kw_change_work_start(self->coordinator), <=, 50000);
    self->coordinator->pace.others_have_callers = true;
    set_limits(self, 0, 1);
    uint64_t again_ms = kw_change_work_start(self->coordinator);
    g_assert_cmpuint(again_ms, >, 90000);
    g_assert_cmpuint(again_ms, <=, 99000);
    self->coordinator->pace_until_ns = UINT64_MAX; /* of changes with the default share */
    g_assert_null(request);
    set_limits(self, 0, 100);
    g_assert_cmpuint(kw_change_work_start(self->coordinator), ==, UINT64_MAX);
    g_assert_nonnull(request);
    scene_free(self);
}

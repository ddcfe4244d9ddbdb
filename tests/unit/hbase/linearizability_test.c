/* Many callers put, get and remove a few rows through several store handles of one store, against
 * thrift2_fake, with and without injected failures. Their results must be linearizable
 * (support/history.h). */
#include "fixture.h"

#include "base/thread.h"
#include "support/history.h"
#include "support/seeded.h"

#include <stdatomic.h>
#include <stdio.h>

#define HOT_KEYS 4 /* only rows of the upper half are removed */

/* --- callers of one store handle -------------------------------------------------------------- */

typedef struct caller_group caller_group;

typedef struct caller {
    caller_group *all;
    unsigned number;
    unsigned operations_left;
    size_t op; /* in the history */
    history_kind kind;
    uint32_t key;
    char row[16], value[24];
    kw_cell cell;
    kw_write write;
    kw_get get;
} caller;

struct caller_group {
    kw_store_handle *handle;
    history *seen;
    caller *callers;
    unsigned count, busy;
    int64_t timeout_ms;
    GRand *random;
    unsigned ok, failed, unknown;
    bool done;
};

/* Values and timestamps are unique in the process. */
static _Atomic uint64_t last_value;
static _Atomic int64_t last_stamp = 1700000000000;

static void next(caller *of);

static void
on_written(void *user, kw_outcome outcome, const kw_error *error)
{
    caller *of = user;
    caller_group *all = of->all;
    g_assert_true((outcome == KW_OUTCOME_OK) == (error == NULL));
    if (outcome == KW_OUTCOME_OK)
        history_end(all->seen, of->op, 0);
    else if (outcome == KW_OUTCOME_FAILED)
        history_failed(all->seen, of->op);
    all->ok += outcome == KW_OUTCOME_OK;
    all->failed += outcome == KW_OUTCOME_FAILED;
    all->unknown += outcome == KW_OUTCOME_UNKNOWN;
    next(of);
}

static void
on_got(void *user, kw_rows *rows, const kw_error *error)
{
    caller *of = user;
    if (error) {
        history_failed(of->all->seen, of->op);
        of->all->failed++;
    } else {
        char text[24] = "0";
        g_assert_cmpuint(rows->count, ==, 1);
        g_assert_true(kw_bytes_equal(rows->rows[0].key, kw_bytes_of_text(of->row)));
        if (rows->rows[0].cells_count)
            memcpy(text, rows->rows[0].cells[0].value.data, MIN(rows->rows[0].cells[0].value.size, 23));
        history_end(of->all->seen, of->op, g_ascii_strtoull(text, NULL, 10));
        of->all->ok++;
        kw_rows_free(rows);
    }
    next(of);
}

static void
start_write(caller *of, uint64_t value)
{
    snprintf(of->value, sizeof of->value, "%" G_GUINT64_FORMAT, value);
    of->cell = (kw_cell){.family = KW_BYTES_LITERAL("f"),
                         .qualifier = KW_BYTES_LITERAL("q"),
                         .value = kw_bytes_of_text(of->value)};
    of->write = (kw_write){.kind = of->kind == HISTORY_PUT ? KW_WRITE_PUT : KW_WRITE_DELETE,
                           .table = KW_BYTES_LITERAL("t"),
                           .row = kw_bytes_of_text(of->row),
                           .cells = &of->cell,
                           .cells_count = of->kind == HISTORY_PUT,
                           .timestamp = atomic_fetch_add(&last_stamp, 1) + 1,
                           .deadline = kw_deadline_in_ms(of->all->timeout_ms)};
    kw_store_handle_write(of->all->handle, &of->write, on_written, of);
}

static void
next(caller *of)
{
    caller_group *all = of->all;
    if (of->operations_left-- == 0) {
        all->done = --all->busy == 0;
        return;
    }
    int dice = g_rand_int_range(all->random, 0, 100);
    of->key = (uint32_t)g_rand_int_range(all->random, 0, HOT_KEYS);
    of->kind = dice < 50 ? HISTORY_GET : HISTORY_PUT;
    if (dice >= 90 && of->key >= HOT_KEYS / 2)
        of->kind = HISTORY_REMOVE;
    snprintf(of->row, sizeof of->row, "hot%u", of->key);
    uint64_t value = of->kind == HISTORY_PUT ? atomic_fetch_add(&last_value, 1) + 1 : 0;
    of->op = history_begin(all->seen, of->kind, of->key, value);
    if (of->kind != HISTORY_GET) {
        start_write(of, value);
        return;
    }
    of->get = (kw_get){.table = KW_BYTES_LITERAL("t"),
                       .row = kw_bytes_of_text(of->row),
                       .deadline = kw_deadline_in_ms(all->timeout_ms)};
    kw_store_handle_get(all->handle, &of->get, on_got, of);
}

static void
group_start(caller_group *all, kw_store_handle *handle, unsigned callers, unsigned operations,
            int64_t timeout_ms)
{
    *all = (caller_group){.handle = handle, .count = callers, .busy = callers, .timeout_ms = timeout_ms};
    all->seen = history_new();
    all->random = g_rand_new_with_seed((guint32)g_test_rand_int()); /* --seed repeats the sequence */
    all->callers = g_new0(caller, callers);
    for (unsigned i = 0; i < callers; i++) {
        all->callers[i] = (caller){.all = all, .number = i, .operations_left = operations};
        next(&all->callers[i]);
    }
}

static void
group_free(caller_group *all)
{
    g_rand_free(all->random);
    history_free(all->seen);
    g_free(all->callers);
}

static void
check_history(const history *seen)
{
    g_autofree char *wrong = history_wrong(seen);
    g_assert_cmpstr(wrong, ==, NULL);
}

/* --- histories -------------------------------------------------------------------------------- */

static void
test_without_failures(void)
{
    for (size_t form = 0; form < G_N_ELEMENTS(fixture_forms); form += 3) {
        fixture on;
        caller_group all;
        fixture_start(&on, 1, fixture_forms[form]);
        group_start(&all, on.bed.handle, 64, 100, 120000);
        bed_await(&on.bed, &all.done);
        g_assert_cmpuint(all.ok, ==, 64 * 100);
        check_history(all.seen);
        group_free(&all);
        fixture_stop(&on);
    }
}

/* Some calls are applied and their replies lost, or lost before they are applied, or late, or fail
 * temporarily, so that calls are sent again together with new ones. */
static void
inject_failures(const fake_call *call, fake_answer *to, void *user)
{
    GRand *random = user;
    int dice = g_rand_int_range(random, 0, 100);
    if (call->method == KW_HB_THBaseService_getAllRegionLocations)
        return;
    if (dice < 2) {
        to->kind = FAKE_CLOSE;
        to->do_nothing = dice == 0;
    } else if (dice < 8) {
        to->delay_ms = g_rand_int_range(random, 1, 10);
    } else if (dice < 10) {
        to->result = fake_io_error(call, "org.apache.hadoop.hbase.RegionTooBusyException: not now", true);
        to->do_nothing = dice == 8;
    }
}

typedef struct second_thread {
    fixture *on;
    kw_thread thread;
    caller_group group;
} second_thread;

/* A store handle and a loop of its own, as each thread of the gateway has. */
static void
run_second_handle(void *user)
{
    second_thread *of = user;
    bed own = {.loop = kw_loop_new(), .store = of->on->bed.store};
    own.handle = kw_store_open_handle(own.store, own.loop);
    group_start(&of->group, own.handle, 32, 60, 120000);
    bed_await(&own, &of->group.done);
    bool closed = false;
    kw_store_handle_close(own.handle, bed_on_done, &closed);
    bed_await(&own, &closed);
    kw_loop_free(own.loop);
}

static void
test_with_failures(void)
{
    fixture on;
    caller_group here;
    second_thread there = {.on = &on};
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)g_test_rand_int());
    kw_model_hbase settings = fixture_init(&on, 1, FRAMED_COMPACT);
    settings.channels = 4;
    fixture_open(&on, &settings);
    bed_await_ready(&on.bed);
    thrift2_fake_set_script(on.fakes[0], inject_failures, random);
    kw_thread_start(&there.thread, "second", run_second_handle, &there);
    group_start(&here, on.bed.handle, 32, 60, 120000);
    bed_await(&on.bed, &here.done);
    kw_thread_join(&there.thread);
    g_test_message("%u ok, %u failed, %u unknown", here.ok + there.group.ok, here.failed + there.group.failed,
                   here.unknown + there.group.unknown);
    g_assert_cmpuint(here.ok + there.group.ok, >, (32 + 32) * 60 / 2);
    history_join(here.seen, there.group.seen);
    check_history(here.seen);
    group_free(&here);
    group_free(&there.group);
    thrift2_fake_set_script(on.fakes[0], NULL, NULL);
    fixture_stop(&on);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/linearizability/without-failures", test_without_failures);
    g_test_add_func("/hbase/linearizability/with-failures", test_with_failures);
    return g_test_run();
}

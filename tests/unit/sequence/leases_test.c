/* Worker numbers of snowflakes between gateways whose clocks differ, which hang, are killed and restart:
 * each test leaves one number for all of them. The clock is injected, and set before each step to that of
 * the gateway that acts; leases are so long that timers fire only when the test makes them. */
#include "bed.h"

#include "base/metrics.h"

#include <stdio.h>
#include <string.h>

#define LEASE_MS 60000
#define HOUR_MS INT64_C(3600000)

typedef struct id_form {
    const char *field;
    unsigned worker_bits;
    unsigned sequence_bits;
    int64_t tick_ms;
} id_form;

static const id_form forms[] = {
    {"id: {type: int, generate: {kind: snowflake, epoch: 0}}", 10, 12, 1},
    {"id: {type: int, generate: {kind: snowflake, form: partitioned}}", 9, 16, 1000},
};

typedef struct lease_fixture {
    const id_form *form;
    bed *bed;
    GHashTable *seen;
    int64_t number; /* the only free number */
} lease_fixture;

static int64_t
worker_of(const lease_fixture *self, int64_t id)
{
    return id >> self->form->sequence_bits & ((INT64_C(1) << self->form->worker_bits) - 1);
}

static int64_t
next(lease_fixture *self, size_t gateway)
{
    int64_t id = bed_number(self->bed, gateway, "key=a", "id");
    g_assert_true(g_hash_table_add(self->seen, GSIZE_TO_POINTER((gsize)id))); /* no id occurs twice */
    return id;
}

static void
row_of(const lease_fixture *self, int64_t number, char *to, size_t size)
{
    snprintf(to, size, "worker/%u/%04d", self->form->worker_bits, (int)number);
}

static void
set_lease(lease_fixture *self, int64_t number, const char *owner, int64_t until_ms)
{
    char row[32], state[64];
    kw_cell cell = {.family = KW_BYTES_LITERAL("n"), .qualifier = KW_BYTES_LITERAL("lease")};
    row_of(self, number, row, sizeof row);
    snprintf(state, sizeof state, "%s %" G_GINT64_FORMAT, owner, (gint64)until_ms);
    cell.value = kw_bytes_of_text(state);
    kw_write write = {.kind = KW_WRITE_PUT,
                      .table = KW_BYTES_LITERAL("keyway_sequences"),
                      .row = kw_bytes_of_text(row),
                      .cells = &cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = KW_DEADLINE_NONE};
    bed_write(self->bed, &write);
}

/* The time up to which ids of the number may have been issued. */
static int64_t
stored_until(const lease_fixture *self)
{
    char row[32];
    row_of(self, self->number, row, sizeof row);
    kw_bytes stored =
        kw_memory_store_cell(self->bed->inner, "keyway_sequences", kw_bytes_of_text(row), "n", "lease");
    g_autofree char *state = g_strndup((const char *)stored.data, stored.size);
    return g_ascii_strtoll(strchr(state, ' ') + 1, NULL, 10);
}

/* The first gateway holds the number; all others are leased by other gateways for days. */
static void
open_fixture(lease_fixture *self, const id_form *form)
{
    *self = (lease_fixture){.form = form, .seen = g_hash_table_new(g_direct_hash, g_direct_equal)};
    self->bed = bed_new("", form->field);
    g_assert_true(bed_open(self->bed, 0));
    self->number = worker_of(self, next(self, 0));
    for (int64_t i = 0; i < INT64_C(1) << form->worker_bits; i++)
        if (i != self->number)
            set_lease(self, i, "other", bed_wall_ms + 100 * HOUR_MS);
}

static void
close_fixture(lease_fixture *self)
{
    bed_free(self->bed);
    g_hash_table_unref(self->seen);
}

/* As after kill -9: the lease is not released. */
static void
kill_gateway(lease_fixture *self, size_t gateway)
{
    uint64_t before = self->bed->plan.failed;
    self->bed->plan.fault = KW_FAULT_FAILED;
    self->bed->plan.fail_at = 1;
    bed_close(self->bed, gateway);
    g_assert_cmpuint(self->bed->plan.failed, ==, before + 1);
}

/* All gateways check their leases while the clocks stand still. */
static void
renew(lease_fixture *self)
{
    int64_t wall_ms = bed_wall_ms;
    uint64_t mono_ns = bed_mono_ns;
    bed_pass_all_ms(self->bed, LEASE_MS);
    bed_wall_ms = wall_ms;
    bed_mono_ns = mono_ns;
}

static void
run_until_lost(lease_fixture *self, int64_t lost_before)
{
    renew(self);
    while (kw_metrics_read(KW_METRIC_worker_leases_lost) == lost_before)
        uv_run(kw_loop_uv(self->bed->loop), UV_RUN_ONCE);
}

/* A gateway hangs: it stops issuing ids when its lease expires. Later, another gateway takes over the
 * number and continues after every issued id. The first gateway notices this when it continues. */
static void
hang(const id_form *form)
{
    lease_fixture self;
    int64_t lost = kw_metrics_read(KW_METRIC_worker_leases_lost), last = 0;
    open_fixture(&self, form);
    for (int i = 0; i < 200; i++)
        last = next(&self, 0);
    int64_t until = stored_until(&self);
    g_assert_cmpint(until, >=, bed_wall_ms + LEASE_MS);
    g_assert_false(bed_open(self.bed, 1));
    g_assert_nonnull(strstr(self.bed->error.text, "are leased by other gateways"));
    bed_close(self.bed, 1);

    bed_pass_ms(LEASE_MS);
    g_assert_true(g_str_has_prefix(
        bed_fill(self.bed, 0, "key=a"),
        "UNAVAILABLE: table t, field id: the lease of this gateway's worker number was not renewed in time"));
    bed_wall_ms = until + LEASE_MS; /* too early: the other gateway's clock may be slow */
    g_assert_false(bed_open(self.bed, 1));
    bed_close(self.bed, 1);
    bed_pass_ms(1);
    g_assert_true(bed_open(self.bed, 1));
    for (int i = 0; i < 200; i++) {
        int64_t id = next(&self, 1);
        g_assert_cmpint(worker_of(&self, id), ==, self.number);
        g_assert_cmpint(id, >, last);
    }
    bed_fill(self.bed, 0, "key=a");
    g_assert_cmpint(self.bed->error.code, ==, KW_UNAVAILABLE);

    run_until_lost(&self, lost);
    g_assert_nonnull(strstr(bed_fill(self.bed, 0, "key=a"), "this gateway has no worker number"));
    next(&self, 1);
    close_fixture(&self);
}

/* A gateway whose clock is an hour ahead takes over the number of a healthy gateway that does not know it
 * yet: for a while, both issue ids of one number, and no id occurs twice. */
static void
differ(const id_form *form)
{
    lease_fixture self;
    int64_t lost = kw_metrics_read(KW_METRIC_worker_leases_lost), now = bed_wall_ms;
    open_fixture(&self, form);
    int64_t until = stored_until(&self);
    bed_wall_ms = now + HOUR_MS;
    g_assert_true(bed_open(self.bed, 1));
    for (int i = 0; i < 1000; i++) {
        bed_wall_ms = now + i;
        g_assert_cmpint(worker_of(&self, next(&self, 0)), ==, self.number);
        bed_wall_ms = now + i + (i % 2 ? HOUR_MS : -HOUR_MS); /* then the clock steps back */
        g_assert_cmpint(worker_of(&self, next(&self, 1)), ==, self.number);
    }
    bed_wall_ms = until + 2 * form->tick_ms; /* the first gateway can issue ids up to the stored time only */
    bed_fill(self.bed, 0, "key=a");
    g_assert_cmpint(self.bed->error.code, ==, KW_BUSY);
    bed_wall_ms = now + LEASE_MS;
    run_until_lost(&self, lost);
    bed_fill(self.bed, 0, "key=a");
    g_assert_cmpint(self.bed->error.code, ==, KW_UNAVAILABLE);
    close_fixture(&self);
}

/* Gateways are killed repeatedly, and the clock steps back each time as far as allowed: the next holder
 * starts after the stored time, and cannot start earlier. */
static void
die(const id_form *form)
{
    lease_fixture self;
    int64_t last = 0;
    open_fixture(&self, form);
    for (int life = 0; life < 10; life++) {
        for (int i = 0; i < 100; i++) {
            int64_t id = next(&self, 0);
            g_assert_cmpint(id, >, last);
            last = id;
        }
        int64_t until = stored_until(&self);
        kill_gateway(&self, 0);
        g_assert_cmpint(stored_until(&self), ==, until);
        bed_wall_ms -= HOUR_MS;
        g_assert_false(bed_open(self.bed, 0));
        bed_close(self.bed, 0);
        bed_wall_ms = until + LEASE_MS + 1;
        g_assert_true(bed_open(self.bed, 0));
    }
    close_fixture(&self);
}

/* The clock jumps a day ahead: ids wait until the new time is stored. */
static void
jump(const id_form *form)
{
    lease_fixture self;
    open_fixture(&self, form);
    int64_t before = next(&self, 0), until = stored_until(&self);
    bed_wall_ms += 24 * HOUR_MS;
    g_assert_true(g_str_has_prefix(bed_fill(self.bed, 0, "key=a"), "BUSY: table t, field id: "));
    g_assert_cmpuint(self.bed->error.retry_after_ms, >, 0);
    renew(&self);
    while (stored_until(&self) == until)
        uv_run(kw_loop_uv(self.bed->loop), UV_RUN_ONCE);
    for (int i = 0; i < 20; i++)
        uv_run(kw_loop_uv(self.bed->loop), UV_RUN_NOWAIT);
    g_assert_cmpint(next(&self, 0), >, before);
    g_assert_cmpint(worker_of(&self, before), ==, self.number);
    close_fixture(&self);
}

#define BOTH_FORMS(name, path)                                                                               \
    KW_TEST(test_##name, path)                                                                               \
    {                                                                                                        \
        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++)                                                     \
            name(&forms[i]);                                                                                 \
    }

BOTH_FORMS(hang, "/leases/hang")
BOTH_FORMS(differ, "/leases/clocks_that_differ")
BOTH_FORMS(die, "/leases/die")
BOTH_FORMS(jump, "/leases/jump")

KW_TEST_START(start)
{
    bed_inject_clock();
    bed_lease_ms = LEASE_MS;
}

/* Repairs with concurrent writers, in random orders. Two rows follow the rules of HBase. A scrub reads and
 * repairs the second row step by step, while writers write to both rows at any moment. In the end the second
 * row must show the same values as the primary one. With a horizon that lies among the writes in progress it
 * does not, which shows that the horizon protects them. */
#include "reconcile/scrub.h"
#include "support/seeded.h"

#define COLUMNS 2
#define HORIZON_MS 100
#define EVENTS_MAX 64
#define TRIALS 200000

/* A put or a delete marker, of one column or of the row (-1). Of puts with equal timestamps, the last one
 * wins. */
typedef struct event {
    int column;
    bool deletes;
    int64_t timestamp;
    int value;
} event;

typedef struct row {
    event events[EVENTS_MAX];
    size_t count;
} row;

static void
apply(row *to, event it)
{
    g_assert_cmpuint(to->count, <, EVENTS_MAX);
    to->events[to->count++] = it;
}

static bool
is_hidden(const row *self, const event *put)
{
    for (size_t i = 0; i < self->count; i++) {
        const event *at = &self->events[i];
        if (at->deletes && at->timestamp >= put->timestamp && (at->column == -1 || at->column == put->column))
            return true;
    }
    return false;
}

/* The put that a reader of the column sees, or NULL. */
static const event *
visible_put(const row *self, int column)
{
    const event *newest = NULL;
    for (size_t i = 0; i < self->count; i++) {
        const event *at = &self->events[i];
        if (!at->deletes && at->column == column && (!newest || at->timestamp >= newest->timestamp))
            newest = at;
    }
    return newest && !is_hidden(self, newest) ? newest : NULL;
}

static int
visible_value(const row *self, int column)
{
    const event *put = visible_put(self, column);
    return put ? put->value : -1;
}

/* --- rows as the store returns them ----------------------------------------------------------- */

static const char *const qualifiers[COLUMNS] = {"a", "b"};

typedef struct stored_row {
    kw_row row;
    kw_cell cells[COLUMNS];
    int values[COLUMNS];
} stored_row;

static void
read_row(const row *from, stored_row *to)
{
    *to = (stored_row){.row = {.cells = to->cells}};
    for (int column = 0; column < COLUMNS; column++) {
        const event *put = visible_put(from, column);
        if (!put)
            continue;
        uint32_t at = to->row.cells_count++;
        to->values[at] = put->value;
        to->cells[at] = (kw_cell){.family = KW_BYTES_LITERAL("d"),
                                  .qualifier = kw_bytes_of_text(qualifiers[column]),
                                  .value = kw_bytes_of(&to->values[at], sizeof to->values[at]),
                                  .timestamp = put->timestamp};
    }
}

static int
column_of(kw_bytes qualifier)
{
    return kw_bytes_equal(qualifier, kw_bytes_of_text(qualifiers[1]));
}

static void
apply_write(row *to, const kw_write *write)
{
    bool deletes = write->kind == KW_WRITE_DELETE;
    for (size_t i = 0; i < write->cells_count; i++) {
        event put = {.column = column_of(write->cells[i].qualifier), .timestamp = write->timestamp};
        memcpy(&put.value, write->cells[i].value.data, sizeof put.value);
        apply(to, put);
    }
    for (size_t i = 0; i < write->columns_count; i++)
        apply(to, (event){column_of(write->columns[i].qualifier), true, write->timestamp, 0});
    if (deletes && write->columns_count == 0)
        apply(to, (event){-1, true, write->timestamp, 0});
}

/* --- one trial -------------------------------------------------------------------------------- */

typedef struct trial {
    row primary;
    row other;
    event in_progress[4]; /* all are acknowledged in the end */
    size_t in_progress_count;
    bool in_primary[4];
    bool in_other[4];
    kw_arena *arena;
} trial;

static int
below(int end)
{
    return g_test_rand_int_range(0, end);
}

static event
any_event(int64_t from, int64_t end, int value)
{
    bool deletes = below(3) == 0;
    return (event){.column = deletes ? below(COLUMNS + 1) - 1 : below(COLUMNS),
                   .deletes = deletes,
                   .timestamp = from + below((int)(end - from)),
                   .value = value};
}

/* Old writes that reached only one of the rows, and writes in progress. */
static void
set_up(trial *self)
{
    for (int value = 1, count = 1 + below(5); value <= count; value++) {
        event old = any_event(HORIZON_MS - 6, HORIZON_MS, value);
        int where = below(4);
        if (where != 1)
            apply(&self->primary, old);
        if (where != 2)
            apply(&self->other, old);
    }
    self->in_progress_count = (size_t)below(4);
    for (size_t i = 0; i < self->in_progress_count; i++) { /* from one gateway: each has another timestamp */
        self->in_progress[i] = any_event(0, 1, 100 + (int)i);
        self->in_progress[i].timestamp = HORIZON_MS + 1 + (int64_t)i * 3 + below(3);
    }
}

static void
continue_writers(trial *self, bool to_the_end)
{
    for (size_t i = 0; i < self->in_progress_count; i++) {
        if (!self->in_primary[i] && (to_the_end || below(3) == 0)) {
            apply(&self->primary, self->in_progress[i]);
            self->in_primary[i] = true;
        }
        if (!self->in_other[i] && (to_the_end || below(3) == 0)) {
            apply(&self->other, self->in_progress[i]);
            self->in_other[i] = true;
        }
    }
}

/* The repair does not change recent cells, even without the check that skips whole rows with recent cells. */
static void
repair(trial *self, bool raise, int64_t horizon_ms)
{
    static const kw_placement other_side;
    stored_row primary, other;
    read_row(&self->primary, &primary);
    continue_writers(self, false);
    read_row(&self->other, &other);
    if (kw_scrub_alike(false, &primary.row, &other.row))
        return;
    kw_scrub_repair how = {
        .other = &other_side, .row = KW_BYTES_LITERAL("r"), .horizon_ms = horizon_ms, .raise = raise};
    g_autoptr(GPtrArray) writes = g_ptr_array_new();
    if (!raise || primary.row.cells_count)
        kw_scrub_repair_row(&how, &primary.row, &other.row, self->arena, writes);
    for (guint i = 0; i < writes->len; i++) {
        continue_writers(self, below(8) == 0);
        apply_write(&self->other, writes->pdata[i]);
    }
}

/* True if in the end a reader of the second path sees another value than a reader of the primary path. */
static bool
rows_differ(kw_arena *arena, int64_t horizon_ms)
{
    trial self = {.arena = arena};
    set_up(&self);
    continue_writers(&self, false);
    repair(&self, false, horizon_ms);
    continue_writers(&self, false);
    repair(&self, true, horizon_ms);
    bool no_writers = self.in_progress_count == 0;
    continue_writers(&self, true);
    for (int column = 0; column < COLUMNS; column++) {
        bool written = no_writers;
        for (size_t i = 0; i < self.in_progress_count; i++)
            written |= self.in_progress[i].column == column || self.in_progress[i].column == -1;
        if (written && visible_value(&self.primary, column) != visible_value(&self.other, column))
            return true;
    }
    return false;
}

static size_t
count_different_rows(int64_t horizon_ms)
{
    size_t different = 0;
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (int i = 0; i < TRIALS; i++) {
        different += rows_differ(arena, horizon_ms);
        kw_arena_reset(arena);
    }
    return different;
}

static void
test_equal_rows(void)
{
    g_assert_cmpuint(count_different_rows(HORIZON_MS), ==, 0);
}

static void
test_horizon_is_needed(void)
{
    g_assert_cmpuint(count_different_rows(HORIZON_MS + 12), >, 0);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/reconcile/scrub writers/equal rows", test_equal_rows);
    g_test_add_func("/reconcile/scrub writers/the horizon is needed", test_horizon_is_needed);
    return g_test_run();
}

/* Reads a plan of single row keys. Their order is known before any read, so multi-gets read the rows in that
 * order, as many as the page still needs. The gets of one multi-get are made when it is sent, and belong with
 * their keys and columns to kw_points, which can outlive the gather while a read is in flight. */
#include "gather/gather_internal.h"

#include "gather/bounds.h"
#include "store/columns.h"

#include <glib.h>

#define POINTS_FIRST 64
#define POINTS_MOST 1024
#define POINTS_SHORT 16                        /* batch size while memory is short */
#define POINTS_KEY_BYTES ((size_t)1024 * 1024) /* of a batch, unless it is a single row */

struct kw_points {
    kw_gather *gather;   /* NULL: abandoned while a read is in flight */
    kw_account *account; /* owns a reference */
    kw_arena *arena;
    kw_ordering ordering;
    uint32_t *order; /* indexes of ranges, in the order of the answer */
    size_t count;
    size_t base;           /* the batch holds the rows of order[base], ... */
    size_t next;           /* the first one not requested yet */
    kw_prepared *prepared; /* owns a reference if the filter is compiled */
    kw_get form;           /* what all gets have in common */
    kw_arena_mark unused;  /* the memory from here on is that of the present batch */
    kw_rows *batch;
    size_t at;
    bool kept;
    bool reading;
    kw_error *error;
};

static int
by_logical_order(gconstpointer left, gconstpointer right, gpointer user)
{
    const kw_plan *plan = user;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const kw_range *of_a = &plan->ranges[a], *of_b = &plan->ranges[b];
    if (of_a->group != of_b->group)
        return of_a->group < of_b->group ? -1 : 1;
    int order = kw_bytes_compare(kw_range_suffix(of_a, of_a->start), kw_range_suffix(of_b, of_b->start));
    if (order)
        return plan->reversed ? -order : order;
    return a < b ? -1 : a > b;
}

static void
make_form(kw_points *points, const kw_gather_spec *spec)
{
    const kw_ordering *ordering = kw_gather_ordering(spec->plan);
    if (ordering) {
        points->ordering = *ordering;
        points->ordering.family = kw_arena_copy(points->arena, points->ordering.family);
    }
    points->prepared = spec->prepared ? kw_prepared_ref(spec->prepared) : NULL;
    points->form = (kw_get){.columns = kw_columns_copy(spec->columns, spec->columns_count, points->arena),
                            .columns_count = spec->columns_count,
                            .max_versions = 1,
                            .max_bytes = MAX(spec->buffer_bytes, spec->row_bytes),
                            .account = spec->account,
                            .call = spec->call,
                            .ordering = ordering ? &points->ordering : NULL,
                            .filters_cells_only = spec->filters_cells_only,
                            .filter = kw_arena_copy(points->arena, spec->filter),
                            .prepared = points->prepared};
}

/* The planner's points are in the order of their keys, so they are usually in order already. */
static void
make_order(kw_points *points, const kw_gather_spec *spec)
{
    const kw_plan *plan = spec->plan;
    uint32_t all = (uint32_t)plan->ranges_count;
    bool sorted = true;
    points->order = KW_ARENA_ARRAY(points->arena, uint32_t, all);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t index = plan->reversed ? all - 1 - i : i, *next = &points->order[points->count];
        if (!kw_position_is_before(&spec->position, plan, index, plan->ranges[index].start))
            continue;
        *next = index;
        sorted = sorted && (points->count == 0 || by_logical_order(next - 1, next, (gpointer)plan) < 0);
        points->count++;
    }
    if (!sorted)
        g_qsort_with_data(points->order, (gint)points->count, sizeof(uint32_t), by_logical_order,
                          (gpointer)plan);
}

kw_points *
kw_points_new(kw_gather *gather)
{
    kw_points *points = g_new0(kw_points, 1);
    points->gather = gather;
    points->account = kw_account_ref(gather->spec.account);
    points->arena = kw_arena_new_for(points->account, KW_MEMORY_ROWS);
    make_order(points, &gather->spec);
    make_form(points, &gather->spec);
    points->unused = kw_arena_mark_now(points->arena);
    return points;
}

static void
destroy(kw_points *points)
{
    kw_rows_free(points->batch);
    g_free(points->error);
    kw_prepared_unref(points->prepared);
    kw_arena_free(points->arena);
    kw_account_unref(points->account);
    g_free(points);
}

void
kw_points_free(kw_points *points)
{
    if (!points)
        return;
    points->gather = NULL;
    if (!points->reading)
        destroy(points);
}

static void
arrived(void *user, kw_rows *rows, const kw_error *error)
{
    kw_points *points = user;
    points->reading = false;
    if (!points->gather) {
        kw_rows_free(rows);
        destroy(points);
        return;
    }
    if (error) {
        points->error = g_memdup2(error, sizeof *error);
    } else {
        g_assert(rows->count == points->next - points->base);
        points->batch = rows;
        points->at = 0;
        points->kept = false;
        kw_gather_count(points->gather, rows);
    }
    kw_gather_continue(points->gather);
}

static const kw_range *
range_of(const kw_points *points, size_t at)
{
    return &points->gather->spec.plan->ranges[points->order[at]];
}

/* How many of the next `most` points, from the first on, one multi-get reads: it reads only one store table,
 * and its keys must not be too large together. */
static size_t
fitting(const kw_points *points, size_t most)
{
    const kw_range *first = range_of(points, points->next);
    size_t count = 1, bytes = first->start.size;
    for (; count < most; count++) {
        const kw_range *range = range_of(points, points->next + count);
        bytes += range->start.size;
        if (bytes > POINTS_KEY_BYTES ||
            !kw_bytes_equal(range->placement->store_table, first->placement->store_table))
            break;
    }
    return count;
}

/* How many points the page needs, if that many fit into memory. */
static size_t
wanted(const kw_points *points)
{
    const kw_gather *gather = points->gather;
    uint64_t most = POINTS_FIRST;
    size_t row_bytes = kw_flow_row_memory(&gather->flow, 0);
    if (row_bytes)
        most = CLAMP(gather->spec.buffer_bytes / row_bytes, 1, POINTS_MOST);
    most = MIN(most, MAX(kw_flow_wanted(&gather->flow), 1));
    if (kw_flow_is_short(&gather->flow))
        most = MIN(most, POINTS_SHORT);
    return MIN(most, points->count - points->next);
}

static void
fetch_batch(kw_points *points)
{
    const kw_gather *gather = points->gather;
    size_t count = fitting(points, wanted(points));
    kw_arena_rewind(points->arena, points->unused);
    kw_get *gets = KW_ARENA_ARRAY(points->arena, kw_get, count);
    const kw_get **list = KW_ARENA_ARRAY(points->arena, const kw_get *, count);
    points->form.table = kw_arena_copy(points->arena, range_of(points, points->next)->placement->store_table);
    points->form.deadline = gather->deadline;
    for (size_t i = 0; i < count; i++) {
        gets[i] = points->form;
        gets[i].row = kw_arena_copy(points->arena, range_of(points, points->next + i)->start);
        list[i] = &gets[i];
    }
    points->base = points->next;
    points->next += count;
    points->reading = true;
    kw_store_handle_get_many(gather->handle, list, count, arrived, points);
}

static void
end_batch(kw_points *points)
{
    kw_rows *batch = points->batch;
    points->batch = NULL;
    kw_gather *gather = points->gather;
    kw_page_retire(&gather->page, gather->spec.plan, batch, points->kept);
}

/* Offers the next row of the batch to the page. If the store has omitted the row because the batch reached
 * its size limit, drops the rest of the batch, so that the next read begins with this row. */
static kw_step
take(kw_points *points)
{
    kw_gather *gather = points->gather;
    kw_row *row = &points->batch->rows[points->at];
    bool kept = false;
    kw_taken taken = KW_TAKE_DONE;
    if (row->omitted == KW_OMITTED_LIMIT_REACHED) {
        points->next = points->base + points->at;
        end_batch(points);
        return KW_STEP_ROW;
    }
    if (row->cells_count > 0 || row->omitted == KW_OMITTED_TOO_LARGE)
        taken = kw_gather_take(gather, points->order[points->base + points->at], row, &kept);
    if (taken != KW_TAKE_DONE)
        return taken == KW_TAKE_LATER ? KW_STEP_ROW : KW_STEP_FAILED;
    points->kept |= kept;
    points->at++;
    if (points->at == points->batch->count)
        end_batch(points);
    return KW_STEP_ROW;
}

kw_step
kw_points_next(kw_points *points)
{
    if (points->error) {
        kw_gather_fail(points->gather, points->error);
        return KW_STEP_FAILED;
    }
    if (points->reading)
        return KW_STEP_WAIT;
    if (points->batch)
        return take(points);
    if (points->next == points->count)
        return KW_STEP_END;
    fetch_batch(points);
    return KW_STEP_WAIT;
}

bool
kw_points_known_end(const kw_points *points)
{
    return !points->reading && !points->batch && points->next == points->count;
}

bool
kw_points_were_requested(const kw_points *points, uint32_t range)
{
    for (size_t i = points->next; i < points->count; i++)
        if (points->order[i] == range)
            return false;
    return true;
}

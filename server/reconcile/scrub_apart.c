/* See scrub.h. Compares two rows of a record, the primary and the other one, in a store with several writers.
 * Selects the cells that must be equal in both rows, and the cells that only the other row has. The caller
 * passes each row with all its cells, including the control cells. */
#include "reconcile/scrub.h"

#include "store/control.h"

typedef struct row_pair {
    const kw_ordering *ordering;
    const kw_row *primary, *other;
    kw_arena *arena;
} row_pair;
/* True if a gone cell of the row `by` hides the cell. */
static bool
is_hidden(const row_pair *self, const kw_row *by, const kw_cell *cell)
{
    return cell->timestamp <= kw_control_gone_until(self->ordering, by, cell, self->arena);
}

static bool
is_visible(const row_pair *self, const kw_row *row, const kw_cell *cell)
{
    return !kw_is_control(self->ordering, cell) && !is_hidden(self, row, cell);
}

/* The cells of a column, from the newest one on. */
typedef struct column {
    const kw_cell *cells;
    size_t count;
} column;

static column
column_of(const kw_row *row, const kw_cell *like)
{
    column found = {.cells = kw_row_find_cell(row, like->family, like->qualifier)};
    const kw_cell *end = row->cells + row->cells_count;
    while (found.cells && found.cells + found.count < end &&
           kw_cell_same_column(found.cells + found.count, like))
        found.count++;
    return found;
}

static bool
has_cell(const kw_row *row, const kw_cell *cell)
{
    column cells = column_of(row, cell);
    for (size_t i = 0; i < cells.count; i++)
        if (cells.cells[i].timestamp == cell->timestamp)
            return true;
    return false;
}

static size_t
count_visible(const row_pair *self, const kw_row *row, const kw_cell *like)
{
    column cells = column_of(row, like);
    size_t count = 0;
    for (size_t i = 0; i < cells.count; i++)
        count += is_visible(self, row, &cells.cells[i]);
    return count;
}

/* True if the row `in` lacks this cell of the row `from` only because the family keeps no more versions. Then
 * `in` has a newer cell of the column, and at least as many visible cells of the column as `from`. */
static bool
is_displaced(const row_pair *self, const kw_row *from, const kw_row *in, const kw_cell *cell)
{
    column newest = column_of(in, cell);
    return newest.count && newest.cells[0].timestamp > cell->timestamp && !has_cell(in, cell) &&
           count_visible(self, in, cell) >= count_visible(self, from, cell);
}

/* True if the other row must have this cell of the primary row. */
static bool
is_needed(const row_pair *self, const kw_cell *cell)
{
    return is_visible(self, self->primary, cell) && !is_hidden(self, self->other, cell) &&
           !is_displaced(self, self->primary, self->other, cell);
}

/* True if the cell of the other row is compared: the primary row has it, too, or has removed it. */
static bool
is_comparable(const row_pair *self, const kw_cell *cell)
{
    if (!is_visible(self, self->other, cell))
        return false;
    return has_cell(self->primary, cell) || is_hidden(self, self->primary, cell);
}

/* True if only the other row has the cell, and the primary row has neither removed nor displaced it. */
static bool
is_extra(const row_pair *self, const kw_cell *cell)
{
    return is_visible(self, self->other, cell) && !is_comparable(self, cell) &&
           !is_displaced(self, self->other, self->primary, cell);
}

static kw_row
select_cells(const row_pair *self, const kw_row *row, bool (*wanted)(const row_pair *, const kw_cell *))
{
    kw_row selected = {.key = row->key, .cells = KW_ARENA_ARRAY(self->arena, kw_cell, row->cells_count)};
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (wanted(self, &row->cells[i]))
            selected.cells[selected.cells_count++] = row->cells[i];
    return selected;
}

void
kw_scrub_needed(const kw_ordering *ordering, const kw_row *primary, const kw_row *other, kw_arena *arena,
                kw_row *ret_primary, kw_row *ret_other)
{
    const row_pair self = {ordering, primary, other, arena};
    *ret_primary = select_cells(&self, primary, is_needed);
    *ret_other = select_cells(&self, other, is_comparable);
}

kw_row
kw_scrub_extra(const kw_ordering *ordering, const kw_row *primary, const kw_row *other, kw_arena *arena)
{
    const row_pair self = {ordering, primary, other, arena};
    return select_cells(&self, other, is_extra);
}

static bool
is_visible_in_primary(const row_pair *self, const kw_cell *cell)
{
    return is_visible(self, self->primary, cell);
}

kw_row
kw_scrub_visible(const kw_ordering *ordering, const kw_row *row, kw_arena *arena)
{
    const row_pair self = {ordering, row, row, arena};
    return kw_control_is_in(ordering, row) ? select_cells(&self, row, is_visible_in_primary) : *row;
}

/* --- the rows of a comparison -------------------------------------------------------------------- */

const kw_ordering *
kw_scrub_ordering(const kw_scrub_job *job)
{
    return job->sides->apart ? NULL : &job->sides->table->ordering;
}

kw_row
kw_scrub_job_visible(const kw_scrub_job *job, const kw_row *row)
{
    return job->sides->apart ? kw_scrub_visible(&job->sides->table->ordering, row, job->call->arena) : *row;
}

kw_row_copy
kw_scrub_copy_of(const kw_scrub_job *job, kw_bytes primary_key, kw_bytes other_key)
{
    const kw_scrub_sides *sides = job->sides;
    return (kw_row_copy){.era = job->call->era,
                         .table = sides->all[0]->store_table,
                         .row = primary_key,
                         .to_table = sides->all[1]->store_table,
                         .to_row = other_key,
                         .ordering = sides->apart ? &sides->table->ordering : NULL};
}

kw_scrub_view
kw_scrub_view_of(const kw_scrub_job *job, const kw_row *primary, const kw_row *other)
{
    kw_arena *arena = job->call->arena;
    const kw_ordering *ordering = &job->sides->table->ordering;
    kw_scrub_view view = {.primary = *primary, .other = *other};
    if (!job->sides->apart)
        return view;
    if (job->of_primary) {
        kw_scrub_needed(ordering, primary, other, arena, &view.primary, &view.other);
    } else {
        view.primary.cells_count = 0;
        view.other = kw_scrub_extra(ordering, primary, other, arena);
    }
    return view;
}

bool
kw_scrub_view_is_alike(const kw_scrub_job *job, const kw_row *primary, const kw_row *other)
{
    if (kw_scrub_alike(job->sides->exact, primary, other))
        return true;
    kw_arena_mark before = kw_arena_mark_now(job->call->arena);
    kw_scrub_view view = kw_scrub_view_of(job, primary, other);
    bool alike = kw_scrub_alike(job->sides->exact, &view.primary, &view.other);
    kw_arena_rewind(job->call->arena, before);
    return alike;
}

uint64_t
kw_scrub_view_state(const kw_scrub_job *job, const kw_row *primary, const kw_row *other)
{
    kw_arena_mark before = kw_arena_mark_now(job->call->arena);
    kw_scrub_view view = kw_scrub_view_of(job, primary, other);
    uint64_t state = kw_scrub_state(job->sides->exact, &view.primary, &view.other);
    kw_arena_rewind(job->call->arena, before);
    return state;
}

/* See scrub.h. The cells of rows are sorted by column, and the versions of a column by timestamp. So one pass
 * over both rows finds every cell that differs. */
#include "reconcile/scrub.h"

#include "rule/splits.h"

#include <stdlib.h>
#include <xxhash.h>

/* A timestamp further in the future was set by a caller, not by a clock. */
#define CLOCKS_AHEAD_MS 60000
/* Most columns, and most bytes of a name, in the text of a difference. */
#define COLUMNS_SHOWN 8
#define NAME_SHOWN 60

/* --- walking along two rows ---------------------------------------------------------------------- */

typedef struct walk {
    bool exact;
    const kw_row *primary;
    const kw_row *other;
    uint32_t primary_at;
    uint32_t other_at;
} walk;
/* The order of cells in rows. Unless exact, versions do not count. */
static int
compare_cells(const kw_cell *a, const kw_cell *b, bool exact)
{
    return exact ? kw_cell_compare(a, b) : kw_cell_compare_columns(a, b);
}

/* Advances to the next cell of either row. One of the cells can be NULL. */
static bool
next_cell(walk *self, const kw_cell **ret_primary, const kw_cell **ret_other)
{
    bool has_primary = self->primary_at < self->primary->cells_count;
    bool has_other = self->other_at < self->other->cells_count;
    const kw_cell *primary = has_primary ? &self->primary->cells[self->primary_at] : NULL;
    const kw_cell *other = has_other ? &self->other->cells[self->other_at] : NULL;
    if (!primary && !other)
        return false;
    int order = !other ? -1 : !primary ? 1 : compare_cells(primary, other, self->exact);
    *ret_primary = order <= 0 ? primary : NULL;
    *ret_other = order >= 0 ? other : NULL;
    self->primary_at += order <= 0;
    self->other_at += order >= 0;
    return true;
}

/* Advances to the next cell that differs. */
static bool
next_difference(walk *self, const kw_cell **ret_primary, const kw_cell **ret_other)
{
    while (next_cell(self, ret_primary, ret_other))
        if (!*ret_primary || !*ret_other || !kw_bytes_equal((*ret_primary)->value, (*ret_other)->value))
            return true;
    return false;
}

/* --- judging ------------------------------------------------------------------------------------- */

static uint64_t
add_bytes(uint64_t state, kw_bytes bytes)
{
    uint64_t seed = state ^ bytes.size;
    return XXH64(bytes.size ? bytes.data : (const uint8_t *)"", bytes.size, seed);
}

static uint64_t
add_cell(uint64_t state, const kw_cell *cell)
{
    if (!cell)
        return add_bytes(state, KW_BYTES_NONE);
    state = add_bytes(add_bytes(add_bytes(state, cell->family), cell->qualifier), cell->value);
    return add_bytes(state, kw_bytes_of(&cell->timestamp, sizeof cell->timestamp));
}

uint64_t
kw_scrub_state(bool exact, const kw_row *primary, const kw_row *other)
{
    walk self = {.exact = exact, .primary = primary, .other = other};
    const kw_cell *a, *b;
    uint64_t state = kw_scrub_kind_of(primary, other);
    while (next_difference(&self, &a, &b))
        state = add_cell(add_cell(state, a), b);
    return state;
}

bool
kw_scrub_alike(bool exact, const kw_row *primary, const kw_row *other)
{
    walk self = {.exact = exact, .primary = primary, .other = other};
    const kw_cell *a, *b;
    return !next_difference(&self, &a, &b);
}

kw_scrub_kind
kw_scrub_kind_of(const kw_row *primary, const kw_row *other)
{
    if (primary->cells_count == 0)
        return KW_SCRUB_EXTRA;
    return other->cells_count == 0 ? KW_SCRUB_MISSING : KW_SCRUB_DIFFERENT;
}

static bool
is_young(const kw_cell *cell, int64_t horizon_ms, int64_t now_ms)
{
    return cell && cell->timestamp > horizon_ms && cell->timestamp <= now_ms + CLOCKS_AHEAD_MS;
}

bool
kw_scrub_is_young(const kw_row *primary, const kw_row *other, int64_t horizon_ms, int64_t now_ms)
{
    walk self = {.primary = primary, .other = other};
    const kw_cell *a, *b;
    while (next_difference(&self, &a, &b))
        if (is_young(a, horizon_ms, now_ms) || is_young(b, horizon_ms, now_ms))
            return true;
    return false;
}

/* --- text ---------------------------------------------------------------------------------------- */

/* The name of the column's field, with the entry of a map; otherwise the column itself. */
static const char *
name_of(const kw_table *table, const kw_cell *cell, kw_arena *arena)
{
    int number = kw_table_find_column(table, cell->family, cell->qualifier);
    if (number < 0) {
        kw_bytes shown = kw_bytes_of(cell->qualifier.data, MIN(cell->qualifier.size, NAME_SHOWN));
        return kw_arena_printf(arena, "column %s:%s", kw_bytes_to_binary_text(cell->family, arena),
                               kw_bytes_to_binary_text(shown, arena));
    }
    const kw_field *field = &table->fields[number];
    if (!field->entry)
        return field->name;
    kw_bytes entry = kw_bytes_skip(cell->qualifier, field->qualifier.size);
    entry.size = MIN(entry.size, NAME_SHOWN);
    return kw_arena_printf(arena, "%s.%s", field->name, kw_bytes_to_binary_text(entry, arena));
}

const char *
kw_scrub_text(kw_scrub_kind kind, const kw_table *table, bool exact, const kw_row *primary,
              const kw_row *other, kw_arena *arena)
{
    walk self = {.exact = exact, .primary = primary, .other = other};
    const kw_cell *a, *b;
    const char *text = "";
    size_t count = 0;
    if (kind == KW_SCRUB_EXTRA)
        return exact ? "the placement that scans read does not have the record"
                     : "the primary path does not have the record";
    if (kind == KW_SCRUB_MISSING)
        return exact ? "the other placement does not have the record" : "the path does not have the record";
    while (next_difference(&self, &a, &b)) {
        if (++count > COLUMNS_SHOWN)
            continue;
        const char *how = !b ? "is missing" : !a ? "is only here" : "has another value";
        const char *name = name_of(table, a ? a : b, arena);
        if (exact)
            name = kw_arena_printf(arena, "%s with timestamp %lld", name, (long long)(a ? a : b)->timestamp);
        text = kw_arena_printf(arena, "%s%s%s %s", text, count > 1 ? ", " : "", name, how);
    }
    if (count > COLUMNS_SHOWN)
        text = kw_arena_printf(arena, "%s, and %zu more", text, count - COLUMNS_SHOWN);
    return text;
}

/* --- repair -------------------------------------------------------------------------------------- */

/* A cell to put, or a column to delete, with a timestamp. */
typedef struct change {
    kw_cell cell;
    int64_t timestamp;
    bool deletes;
} change;

static kw_write *
add_write(const kw_scrub_repair *repair, kw_write_kind kind, int64_t timestamp, kw_arena *arena,
          GPtrArray *writes)
{
    kw_write *write = KW_ARENA_NEW(arena, kw_write);
    *write = (kw_write){.kind = kind,
                        .table = repair->other->store_table,
                        .row = repair->row,
                        .timestamp = timestamp,
                        .deadline = repair->deadline,
                        .fenced = true,
                        .era = repair->era};
    g_ptr_array_add(writes, write);
    return write;
}

/* Deletes only cells that no write in flight can have put. */
static void
delete_row(const kw_scrub_repair *repair, const kw_row *other, kw_arena *arena, GPtrArray *writes)
{
    int64_t newest = INT64_MIN;
    for (uint32_t i = 0; i < other->cells_count; i++)
        newest = MAX(newest, other->cells[i].timestamp);
    if (newest <= repair->horizon_ms)
        add_write(repair, KW_WRITE_DELETE, newest, arena, writes);
}

/* False if the column must stay as it is. There are two reasons. A write in flight can have put the other
 * row's cell, and the primary row has no newer one. Or `raise` is set, and the primary row has no cell of the
 * column that is old enough. */
static bool
make_change(const kw_scrub_repair *repair, const kw_cell *primary, const kw_cell *other, change *ret_change)
{
    bool other_newer = other && (!primary || other->timestamp >= primary->timestamp);
    if (other_newer && other->timestamp > repair->horizon_ms)
        return false;
    if (repair->raise && (!primary || primary->timestamp > repair->horizon_ms))
        return false;
    int64_t timestamp = other_newer ? other->timestamp : primary->timestamp;
    *ret_change = (change){.cell = primary ? *primary : *other,
                           .timestamp = repair->raise ? repair->horizon_ms : timestamp,
                           .deletes = !primary};
    return true;
}

static int
by_timestamp(const void *left, const void *right)
{
    const change *a = left, *b = right;
    if (a->deletes != b->deletes)
        return a->deletes - b->deletes;
    return (a->timestamp > b->timestamp) - (a->timestamp < b->timestamp);
}

static void
add_puts(const kw_scrub_repair *repair, const change *changes, size_t count, kw_arena *arena,
         GPtrArray *writes)
{
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, count);
    for (size_t i = 0; i < count; i++)
        cells[i] = changes[i].cell;
    kw_write *put = add_write(repair, KW_WRITE_PUT, changes[0].timestamp, arena, writes);
    put->cells = cells;
    put->cells_count = count;
}

static void
add_deletes(const kw_scrub_repair *repair, const change *changes, size_t count, kw_arena *arena,
            GPtrArray *writes)
{
    kw_column *columns = KW_ARENA_ARRAY(arena, kw_column, count);
    for (size_t i = 0; i < count; i++)
        columns[i] = (kw_column){.family = changes[i].cell.family, .qualifier = changes[i].cell.qualifier};
    kw_write *removal = add_write(repair, KW_WRITE_DELETE, changes[0].timestamp, arena, writes);
    removal->columns = columns;
    removal->columns_count = count;
}

/* Combines puts with the same timestamp into one write, as far as the limit for its row keys allows, so that
 * readers see them together. Does the same with deletes. */
static void
add_changes(const kw_scrub_repair *repair, change *changes, size_t count, kw_arena *arena, GPtrArray *writes)
{
    size_t most = MAX(KW_STORE_ROW_KEYS_MAX / MAX(repair->row.size, 1u), 1u);
    qsort(changes, count, sizeof *changes, by_timestamp);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1;
             to < count && to - from < most && by_timestamp(&changes[from], &changes[to]) == 0;)
            to++;
        if (changes[from].deletes)
            add_deletes(repair, changes + from, to - from, arena, writes);
        else
            add_puts(repair, changes + from, to - from, arena, writes);
    }
}

void
kw_scrub_repair_row(const kw_scrub_repair *repair, const kw_row *primary, const kw_row *other,
                    kw_arena *arena, GPtrArray *writes)
{
    walk self = {.primary = primary, .other = other};
    const kw_cell *a, *b;
    size_t count = 0;
    if (primary->cells_count == 0) {
        delete_row(repair, other, arena, writes);
        return;
    }
    change *changes = KW_ARENA_ARRAY(arena, change, (size_t)primary->cells_count + other->cells_count);
    while (next_difference(&self, &a, &b))
        count += make_change(repair, a, b, &changes[count]);
    if (count)
        add_changes(repair, changes, count, arena, writes);
}

/* True if the primary row has an older cell in this column. The walk is at the cell after `extra`. */
static bool
hides_primary(const walk *self, const kw_cell *extra)
{
    return self->primary_at < self->primary->cells_count &&
           kw_cell_same_column(&self->primary->cells[self->primary_at], extra);
}

void
kw_scrub_delete_extra(const kw_scrub_repair *repair, const kw_row *primary, const kw_row *other,
                      kw_arena *arena, GPtrArray *writes)
{
    walk self = {.exact = true, .primary = primary, .other = other};
    const kw_cell *a, *b;
    size_t count = 0;
    change *changes = KW_ARENA_ARRAY(arena, change, other->cells_count);
    while (next_difference(&self, &a, &b)) {
        if (a || hides_primary(&self, b))
            continue;
        if (count == 0 || !kw_cell_same_column(&changes[count - 1].cell, b)) /* else it is deleted already */
            changes[count++] = (change){.cell = *b, .timestamp = b->timestamp, .deletes = true};
    }
    if (count)
        add_changes(repair, changes, count, arena, writes);
}

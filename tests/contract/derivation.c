#include "contract/derivation.h"

#include "store/control.h"

#include <stdatomic.h>

/* --- deriving -------------------------------------------------------------------------------------- */

static bool
text_is(const kw_cell *cell, const char *text)
{
    return cell && kw_bytes_equal(cell->value, kw_bytes_of_text(text));
}

/* Returns the value of a field after the write; no bytes: none. */
static kw_bytes
merge(const kw_toy *toy, const char *name, const char *given, const kw_row *seen, kw_cell *cells,
      kw_column *absent, kw_derived *derived)
{
    kw_bytes qualifier = kw_bytes_of_text(name);
    const kw_cell *cell = kw_row_find_cell(seen, toy->family, qualifier);
    if (given)
        return kw_bytes_of_text(given);
    if (cell)
        cells[derived->cells_count++] = *cell;
    else if (toy->ordered)
        absent[derived->absent_count++] = (kw_column){.family = toy->family, .qualifier = qualifier};
    return cell ? cell->value : KW_BYTES_NONE;
}

/* A put of this row, with one cell, precedes the write. */
static void
precede(const kw_toy *toy, kw_bytes row, kw_bytes qualifier, kw_bytes value, kw_arena *arena,
        kw_derived *derived)
{
    kw_cell *cell = KW_ARENA_NEW(arena, kw_cell);
    kw_write *put = KW_ARENA_NEW(arena, kw_write);
    *cell = (kw_cell){.family = toy->family, .qualifier = qualifier, .value = value};
    *put = (kw_write){.kind = KW_WRITE_PUT,
                      .table = toy->hints,
                      .row = row,
                      .cells = cell,
                      .cells_count = 1,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(60000)};
    derived->preceding = put;
    derived->preceding_count = 1;
}

static void
add_hint(const kw_toy *toy, kw_bytes a, kw_bytes b, kw_arena *arena, kw_derived *derived)
{
    kw_bytes row = kw_bytes_of_text(kw_arena_printf(arena, "%.*s/%.*s", (int)a.size, (const char *)a.data,
                                                    (int)b.size, (const char *)b.data));
    precede(toy, row, KW_BYTES_NONE, KW_BYTES_NONE, arena, derived);
}

/* Looks up the row that the record wants. It names the record that has it. */
static bool
take(const kw_toy *toy, const kw_seen *seen, kw_arena *arena, kw_derived *derived, kw_error *ret_error)
{
    kw_lookup *lookup = KW_ARENA_NEW(arena, kw_lookup);
    *lookup = (kw_lookup){toy->hints, kw_bytes_of_text(toy->takes), toy->columns, 1};
    derived->lookups = lookup;
    derived->lookups_count = 1;
    if (seen->others_count == 0)
        return true;
    const kw_cell *owner = kw_row_find_cell(&seen->others[0], toy->family, KW_BYTES_LITERAL("a"));
    if (owner && !text_is(owner, toy->a))
        return kw_error_set(ret_error, KW_REFUSED, "it is taken");
    precede(toy, lookup->row, KW_BYTES_LITERAL("a"), kw_bytes_of_text(toy->a), arena, derived);
    return true;
}

static bool
derive(void *user, const kw_seen *seen, kw_arena *arena, kw_derived *ret_derived, kw_error *ret_error)
{
    kw_toy *toy = user;
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell, 2);
    kw_column *absent = KW_ARENA_ARRAY(arena, kw_column, 2);
    atomic_fetch_add(&toy->derived, 1);
    if (toy->fails)
        return kw_error_set(ret_error, KW_INVALID, "the values do not fit");
    const kw_cell *a = kw_row_find_cell(seen->row, toy->family, KW_BYTES_LITERAL("a"));
    *ret_derived =
        (kw_derived){.is_met = !toy->needs_a || text_is(a, toy->needs_a), .cells = cells, .absent = absent};
    kw_bytes after_a = merge(toy, "a", toy->a, seen->row, cells, absent, ret_derived);
    kw_bytes after_b = merge(toy, "b", toy->b, seen->row, cells, absent, ret_derived);
    if (toy->takes)
        return take(toy, seen, arena, ret_derived, ret_error);
    if (after_a.size && after_b.size)
        add_hint(toy, after_a, after_b, arena, ret_derived);
    return true;
}

kw_derivation
kw_toy_derivation(kw_toy *toy)
{
    toy->columns[0] = (kw_column){.family = toy->family, .qualifier = KW_BYTES_LITERAL("a")};
    toy->columns[1] = (kw_column){.family = toy->family, .qualifier = KW_BYTES_LITERAL("b")};
    return (kw_derivation){.columns = toy->columns, .columns_count = 2, .derive = derive, .user = toy};
}

/* --- the write ------------------------------------------------------------------------------------- */

kw_write
kw_toy_write(kw_toy *toy, kw_bytes table, const char *row, const kw_ordering *ordering)
{
    size_t count = 0;
    if (toy->a)
        toy->cells[count++] = (kw_cell){
            .family = toy->family, .qualifier = KW_BYTES_LITERAL("a"), .value = kw_bytes_of_text(toy->a)};
    if (toy->b)
        toy->cells[count++] = (kw_cell){
            .family = toy->family, .qualifier = KW_BYTES_LITERAL("b"), .value = kw_bytes_of_text(toy->b)};
    return (kw_write){.kind = KW_WRITE_PUT,
                      .table = table,
                      .row = kw_bytes_of_text(row),
                      .cells = toy->cells,
                      .cells_count = count,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(60000),
                      .ordering = ordering};
}

/* Notes cells that replace another one with the same timestamp: see sim_rows_print_ties. */
#include "histories/sim/rows_internal.h"

#include <stdio.h>

static void
add_hex(GString *to, GBytes *bytes, char after)
{
    kw_bytes all = sim_bytes(bytes);
    for (size_t i = 0; i < all.size; i++)
        g_string_append_printf(to, "%02x", all.data[i]);
    g_string_append_c(to, after);
}

static bool
are_tied(const sim_cell *one, const sim_cell *other)
{
    return one->kind == SIM_PUT && other->kind == SIM_PUT && one->timestamp == other->timestamp &&
           g_bytes_equal(one->qualifier, other->qualifier) && g_bytes_equal(one->family, other->family) &&
           !g_bytes_equal(one->value, other->value);
}

void
sim_note_ties(sim_rows *rows, const sim_row *row, const sim_cell *added)
{
    for (guint i = 0; i < row->cells->len && row->table->region == SIM_DATA; i++) {
        const sim_cell *cell = row->cells->pdata[i];
        if (!are_tied(cell, added))
            continue;
        add_hex(rows->ties, row->key, ' ');
        add_hex(rows->ties, cell->qualifier, ' ');
        add_hex(rows->ties, cell->value, ' ');
        add_hex(rows->ties, added->value, '\n');
    }
}

void
sim_rows_print_ties(sim_rows *rows)
{
    fputs(rows->ties->str, stdout);
    g_string_truncate(rows->ties, 0);
}

/* Prints the cells and delete markers of a table, for tests: see rows.h. */
#include "histories/sim/rows_internal.h"

#include <stdio.h>

static void
print_hex(kw_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        printf("%02x", bytes.data[i]);
}

static gboolean
dump_row(gpointer key, gpointer value, gpointer user)
{
    static const char *const kinds[] = {[SIM_PUT] = "put",
                                        [SIM_DELETE_VERSION] = "delete-version",
                                        [SIM_DELETE_COLUMN] = "delete-column",
                                        [SIM_DELETE_FAMILY] = "delete-family"};
    const sim_row *row = value;
    (void)key;
    (void)user;
    for (guint i = 0; i < row->cells->len; i++) {
        const sim_cell *cell = row->cells->pdata[i];
        print_hex(sim_bytes(row->key));
        printf(" ");
        print_hex(sim_bytes(cell->family));
        printf(":");
        print_hex(sim_bytes(cell->qualifier));
        printf(" %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " ", kinds[cell->kind], cell->timestamp,
               cell->ttl_ms);
        print_hex(sim_bytes(cell->value));
        printf("\n");
    }
    return FALSE;
}

void
sim_rows_dump(sim_rows *rows, const char *table)
{
    const sim_table *found = g_hash_table_lookup(rows->tables, table);
    if (found)
        g_tree_foreach(found->rows, dump_row, NULL);
}

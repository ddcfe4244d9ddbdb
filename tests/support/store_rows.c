/* store_rows FOLDER TABLE...: prints the cells of store tables of an embedded store that no gateway has open.
 *
 *   table orders
 *   746162 643a6e 1700000000000 0000000000000007      row key, column, timestamp, value
 *
 * Row keys, columns and values are in hexadecimal. All visible versions of a column are printed, newest
 * first. A table that does not exist is printed as "missing orders".
 */
#include "contract/sync.h"
#include "store/embedded/embedded.h"

#include <glib.h>
#include <stdio.h>

#define FETCH_ROWS 1000
#define FETCH_BYTES ((size_t)1 << 20)
#define VERSIONS_MAX 1000

static void
print_hex(kw_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++)
        printf("%02x", bytes.data[i]);
}

static void
print_rows(const kw_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        for (uint32_t j = 0; j < rows->rows[i].cells_count; j++) {
            const kw_cell *cell = &rows->rows[i].cells[j];
            print_hex(rows->rows[i].key);
            printf(" ");
            print_hex(cell->family);
            printf("3a");
            print_hex(cell->qualifier);
            printf(" %" G_GINT64_FORMAT " ", cell->timestamp);
            print_hex(cell->value);
            printf("\n");
        }
    }
}

static void
print_table(kw_sync *sync, const char *name)
{
    kw_error error;
    kw_table_facts *facts = kw_sync_describe(sync, kw_bytes_of_text(name), &error);
    if (!facts)
        g_error("%s", error.text);
    printf("%s %s\n", facts->exists ? "table" : "missing", name);
    bool end = !facts->exists;
    kw_table_facts_free(facts);
    const kw_range_scan_spec spec = {.table = kw_bytes_of_text(name), .max_versions = VERSIONS_MAX};
    kw_range_scan *scan = end ? NULL : kw_store_handle_open_range_scan(sync->handle, &spec);
    while (!end) {
        kw_rows *rows = kw_sync_fetch(sync, scan, FETCH_ROWS, FETCH_BYTES, true, &error);
        if (!rows)
            g_error("%s", error.text);
        print_rows(rows);
        end = rows->end;
        kw_rows_free(rows);
    }
    kw_range_scan_close(scan);
}

int
main(int argc, char **argv)
{
    kw_sync sync;
    kw_error error;
    if (argc < 2) {
        fprintf(stderr, "usage: store_rows FOLDER TABLE...\n");
        return 2;
    }
    const kw_model_embedded settings = {.path = argv[1], .cache_bytes = 8 << 20};
    kw_store *store = kw_embedded_open(&settings, &error);
    if (!store) {
        fprintf(stderr, "store_rows: %s\n", error.text);
        return 1;
    }
    kw_sync_open(&sync, store);
    for (int i = 2; i < argc; i++)
        print_table(&sync, argv[i]);
    kw_sync_close(&sync);
    kw_store_free(store);
    return 0;
}

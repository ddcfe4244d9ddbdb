/* keyway catalog export, keyway catalog import. */
#include "cli/catalog.h"
#include "cli/cli.h"
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

/* Of one part of an import; the gateway's limits are higher. */
#define PART_BYTES ((gsize)512 * 1024)
#define PART_CELLS 1000
/* By so much the counters of sequences are raised. */
#define AHEAD_DEFAULT G_GINT64_CONSTANT(1000000)
#define AHEAD_MAX G_GINT64_CONSTANT(1000000000000000)
#define DIFFERENCES_MAX 5
#define FACTS_ROW "=facts"

/* --- export --------------------------------------------------------------------------------------- */

static int
run_export(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(kw_catalog_file) file = NULL;
    GError *error = NULL;
    int code;

    if (!kw_cli_parse(cli, "catalog export", "FILE",
                      "Writes the catalog and the counters of sequences to a file.", NULL, NULL, 1, 1, &argc,
                      &argv, &code))
        return code;
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    file = kw_catalog_file_export(cli->client, &error);
    if (file != NULL && file->cells->len == 0)
        g_set_error(&error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND,
                    "the catalog is empty; nothing was written");
    if (error != NULL || !kw_catalog_file_write(file, argv[1], &error))
        return kw_cli_fail(error, "catalog export");
    printf("%u cells and %u counters were exported\n", file->cells->len, file->counters->len);
    return KW_EXIT_OK;
}

/* --- import: what the catalog has ----------------------------------------------------------------- */

static bool
is_facts(const kw_saved_cell *cell)
{
    gsize size;
    const char *row = g_bytes_get_data(cell->row, &size);

    return size == strlen(FACTS_ROW) && memcmp(row, FACTS_ROW, size) == 0;
}

static char *
name_of(const kw_saved_cell *cell)
{
    g_autofree char *row = kw_text_of_bytes(cell->row);
    g_autofree char *column = kw_text_of_bytes(cell->column);

    return is_facts(cell) ? g_steal_pointer(&column) : g_strdup_printf("%s %s", row, column);
}

/* Prints the cells that the catalog has, and the file has not, or has with another value. Returns their
 * number. */
static guint
print_differences(const kw_catalog_file *catalog, const kw_catalog_file *file)
{
    g_autoptr(GHashTable) expected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    guint count = 0;

    for (guint i = 0; i < file->cells->len; i++)
        g_hash_table_insert(expected, name_of(file->cells->pdata[i]), file->cells->pdata[i]);
    for (guint i = 0; i < catalog->cells->len; i++) {
        const kw_saved_cell *cell = catalog->cells->pdata[i], *other;
        g_autofree char *name = name_of(cell);

        other = g_hash_table_lookup(expected, name);
        if (other != NULL && g_bytes_equal(other->value, cell->value))
            continue;
        if (count++ < DIFFERENCES_MAX)
            fprintf(stderr, "the catalog has %s, which the export %s\n", name,
                    other == NULL ? "does not have" : "has with another value");
    }
    if (count > DIFFERENCES_MAX)
        fprintf(stderr, "and %u more\n", count - DIFFERENCES_MAX);
    return count;
}

/* The gateway refused to begin. That is no failure if the catalog has what the file has. */
static int
end_refused(kw_cli *cli, const kw_catalog_file *file, GError *refusal)
{
    g_autoptr(kw_catalog_file) catalog = NULL;

    if (refusal->code == KW_CLIENT_REFUSED)
        catalog = kw_catalog_file_export(cli->client, NULL);
    if (catalog == NULL || catalog->cells->len == 0 || print_differences(catalog, file) > 0 ||
        catalog->cells->len < file->cells->len)
        return kw_cli_fail(refusal, "catalog import");
    g_error_free(refusal);
    printf("the catalog has this content already; nothing was changed\n");
    return KW_EXIT_OK;
}

/* --- import: the parts ---------------------------------------------------------------------------- */

static bool
is_version(const kw_saved_cell *cell)
{
    g_autofree char *column = kw_text_of_bytes(cell->column);

    return is_facts(cell) && g_str_equal(column, "policy");
}

static bool
send_part(kw_cli *cli, const kw_catalog_file *file, kw_import_step step, GPtrArray *cells,
          GPtrArray *counters, GError **error)
{
    const kw_catalog_part part = {.export_id = file->export_id,
                                  .step = step,
                                  .cells = cells,
                                  .counters = counters,
                                  .counters_table = file->counters_table,
                                  .counters_keep_ms = file->counters_keep_ms};

    return kw_client_import_catalog(cli->client, &part, error);
}

static gsize
size_of(const kw_saved_cell *cell)
{
    return g_bytes_get_size(cell->row) + g_bytes_get_size(cell->column) + g_bytes_get_size(cell->value);
}

/* True if a part can end before the cell: the cells of a row, except those of facts, are in one part. */
static bool
begins_row(const kw_saved_cell *cell, const GPtrArray *part)
{
    const kw_saved_cell *last = part->pdata[part->len - 1];

    return is_facts(cell) || !g_bytes_equal(last->row, cell->row);
}

static bool
send_cells(kw_cli *cli, const kw_catalog_file *file, GError **error)
{
    g_autoptr(GPtrArray) part = g_ptr_array_new();
    gsize bytes = 0;

    for (guint i = 0; i < file->cells->len; i++) {
        kw_saved_cell *cell = file->cells->pdata[i];

        if (is_version(cell))
            continue;
        if (part->len > 0 && (part->len >= PART_CELLS || bytes + size_of(cell) > PART_BYTES) &&
            begins_row(cell, part)) {
            if (!send_part(cli, file, KW_IMPORT_ADD, part, NULL, error))
                return false;
            g_ptr_array_set_size(part, 0);
            bytes = 0;
        }
        g_ptr_array_add(part, cell);
        bytes += size_of(cell);
    }
    return part->len == 0 || send_part(cli, file, KW_IMPORT_ADD, part, NULL, error);
}

/* A counter that is raised above the numbers that were assigned after the export. */
static kw_saved_cell *
raised_counter(const kw_saved_cell *counter, gint64 ahead, GError **error)
{
    g_autofree char *text = kw_text_of_bytes(counter->value);
    g_autoptr(GBytes) value = NULL;
    gint64 number;
    char *raised;

    if (!g_ascii_string_to_signed(text, 10, 0, G_MAXINT64, &number, error))
        return NULL;
    raised = g_strdup_printf("%" G_GINT64_FORMAT, number + MIN(ahead, G_MAXINT64 - number));
    value = g_bytes_new_take(raised, strlen(raised));
    return kw_saved_cell_new(counter->row, counter->column, value);
}

static void
free_cell(gpointer cell)
{
    kw_saved_cell_free(cell);
}

static bool
send_counters(kw_cli *cli, const kw_catalog_file *file, gint64 ahead, GError **error)
{
    for (guint from = 0; from < file->counters->len; from += PART_CELLS) {
        g_autoptr(GPtrArray) part = g_ptr_array_new_with_free_func(free_cell);

        for (guint i = from; i < MIN(file->counters->len, from + PART_CELLS); i++) {
            kw_saved_cell *raised = raised_counter(file->counters->pdata[i], ahead, error);

            if (raised == NULL)
                return false;
            g_ptr_array_add(part, raised);
        }
        if (!send_part(cli, file, KW_IMPORT_ADD, NULL, part, error))
            return false;
    }
    return true;
}

/* The last part, with the version that becomes current. */
static bool
send_end(kw_cli *cli, const kw_catalog_file *file, GError **error)
{
    g_autoptr(GPtrArray) part = g_ptr_array_new();

    for (guint i = 0; i < file->cells->len; i++)
        if (is_version(file->cells->pdata[i]))
            g_ptr_array_add(part, file->cells->pdata[i]);
    return send_part(cli, file, KW_IMPORT_FINISH, part, NULL, error);
}

static int
run_import(kw_cli *cli, int argc, char **argv)
{
    g_autoptr(kw_catalog_file) file = NULL;
    GError *error = NULL;
    gint64 ahead = AHEAD_DEFAULT;
    int code;
    const GOptionEntry entries[] = {{"sequences-ahead", 0, 0, G_OPTION_ARG_INT64, &ahead,
                                     "Raise each counter of sequences to its exported value plus N [1000000]",
                                     "N"},
                                    G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "catalog import", "FILE",
                      "Puts an exported catalog into an empty one, and raises the counters of sequences.",
                      entries, NULL, 1, 1, &argc, &argv, &code))
        return code;
    if (ahead < 0 || ahead > AHEAD_MAX)
        return kw_cli_usage("--sequences-ahead must be 0 to %" G_GINT64_FORMAT, AHEAD_MAX);
    file = kw_catalog_file_read(argv[1], &error);
    if (file == NULL)
        return kw_cli_fail(error, "catalog import");
    if (kw_cli_connect(cli, &code) == NULL)
        return code;
    if (!send_part(cli, file, KW_IMPORT_START, NULL, NULL, &error))
        return end_refused(cli, file, error);
    if (!send_cells(cli, file, &error) || !send_counters(cli, file, ahead, &error) ||
        !send_end(cli, file, &error))
        return kw_cli_fail(error, "catalog import");
    printf("%u cells and %u counters were imported\n", file->cells->len, file->counters->len);
    return KW_EXIT_OK;
}

/* --- the commands --------------------------------------------------------------------------------- */

int
kw_command_catalog(kw_cli *cli, int argc, char **argv)
{
    int code;

    if (argc > 1 && g_str_equal(argv[1], "export"))
        return run_export(cli, argc - 1, argv + 1);
    if (argc > 1 && g_str_equal(argv[1], "import"))
        return run_import(cli, argc - 1, argv + 1);
    if (argc > 1 && argv[1][0] != '-')
        return kw_cli_usage("there is no command \"catalog %s\"", argv[1]);
    if (!kw_cli_parse(cli, "catalog", "COMMAND",
                      "Backs up the catalog.\n\n"
                      "Commands (`keyway catalog COMMAND --help`):\n"
                      "  export FILE   write the catalog and the counters of sequences to a file\n"
                      "  import FILE   put them into an empty catalog",
                      NULL, NULL, 0, 0, &argc, &argv, &code))
        return code;
    return kw_cli_usage("name a command: catalog export or catalog import");
}

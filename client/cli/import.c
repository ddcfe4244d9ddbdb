/* keyway import: writes the records of a file in batches. Records that cannot be read, are rejected, or have
 * an unknown outcome go to a reject file. */
#include "cli/batch.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "cli/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REASONS_SHOWN 5

typedef struct import_run {
    const char *file; /* "-": standard input */
    const char *name; /* of the file, for messages */
    char *format;
    char *null_text;   /* NULL: not given */
    char *reject_file; /* NULL until complete_names */
    int batch_size;
    gint64 from_line; /* records that begin before it are skipped */
    FILE *rejects;    /* NULL until the first reject */
    guint64 rejected;
    bool reject_broken; /* the reject file cannot be written */
    kw_progress progress;
} import_run;

static void
import_run_clear(import_run *run)
{
    g_free(run->format);
    g_free(run->null_text);
    g_free(run->reject_file);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(import_run, import_run_clear)

/* --- rejects ---------------------------------------------------------------------------------- */

/* {"line": 12, "error": "...", "record": {...}}; with "maybe_applied": true before the record if its outcome
 * is unknown. */
static void
write_reject(import_run *run, const kw_source_item *item, const GError *why)
{
    g_autoptr(GString) line = g_string_new(NULL);

    if (run->reject_file == NULL || run->reject_broken)
        return;
    if (run->rejects == NULL)
        run->rejects = fopen(run->reject_file, run->from_line > 1 ? "ae" : "we");
    g_string_append_printf(line, "{\"line\": %" G_GUINT64_FORMAT ", \"error\": ", item->line);
    kw_text_append_json(line, why->message);
    if (kw_client_error_maybe_applied(why))
        g_string_append(line, ", \"maybe_applied\": true");
    if (item->json != NULL)
        g_string_append_printf(line, ", \"record\": %s", item->json);
    g_string_append(line, "}\n");
    if (run->rejects != NULL && fputs(line->str, run->rejects) >= 0)
        return;
    g_printerr("keyway: %s: %s\n", run->reject_file, g_strerror(errno));
    run->reject_broken = true;
}

static void
reject(const kw_source_item *item, const GError *why, void *user)
{
    import_run *run = user;

    run->rejected++;
    if (run->rejected <= REASONS_SHOWN) {
        kw_progress_end(&run->progress);
        g_printerr("%s:%" G_GUINT64_FORMAT ": %s%s\n", run->name, item->line, why->message,
                   kw_client_error_maybe_applied(why) ? " (the outcome is unknown: it may have been written)"
                                                      : "");
    }
    write_reject(run, item, why);
}

static bool
read_all(import_run *run, kw_source *source, kw_batch *batch, GError **error)
{
    g_autoptr(GError) failure = NULL;
    kw_source_item item;

    while (kw_interrupted() == 0 && kw_source_next(source, &item, &failure)) {
        bool skipped = item.line < (guint64)run->from_line;

        if (!skipped && item.error != NULL)
            reject(&item, item.error, run);
        if (skipped || item.error != NULL) {
            kw_source_item_clear(&item);
        } else if (!kw_batch_add(batch, &item, error)) {
            return false;
        }
        kw_progress_show(&run->progress, kw_source_position(source), kw_source_size(source),
                         kw_batch_written(batch));
    }
    if (kw_interrupted() != 0)
        return false;
    if (!kw_batch_flush(batch, error))
        return false;
    if (failure == NULL)
        return true;
    g_propagate_error(error, g_steal_pointer(&failure));
    return false;
}

static void
print_how_to_continue(const import_run *run, guint64 line)
{
    if (!g_str_equal(run->file, "-"))
        g_printerr("  To continue: --from-line %" G_GUINT64_FORMAT "\n", line);
}

/* Reports why the import stopped, which lines are unfinished, and how to continue, unless lines may have been
 * written. */
static int
report_stop(const import_run *run, const kw_batch *batch, GError *error)
{
    guint64 first;
    guint64 last;
    int code;

    kw_batch_lines(batch, &first, &last);
    code = kw_cli_fail(error, "the import stopped");
    g_printerr("  %" G_GUINT64_FORMAT " records were written, %" G_GUINT64_FORMAT " rejected",
               kw_batch_written(batch), run->rejected);
    if (first != 0)
        g_printerr("; lines %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT " %s", first, last,
                   code == KW_EXIT_UNKNOWN ? "may have been written" : "were not written");
    g_printerr("\n");
    if (first != 0 && code != KW_EXIT_UNKNOWN)
        print_how_to_continue(run, first);
    return code;
}

static int
report_interrupted(const import_run *run, const kw_batch *batch, guint64 next)
{
    guint64 first;
    guint64 last;

    kw_batch_lines(batch, &first, &last);
    g_printerr("keyway: the import was interrupted\n  %" G_GUINT64_FORMAT
               " records were written, %" G_GUINT64_FORMAT " rejected; line %" G_GUINT64_FORMAT
               " is the first that was not processed\n",
               kw_batch_written(batch), run->rejected, first != 0 ? first : next);
    print_how_to_continue(run, first != 0 ? first : next);
    return 128 + kw_interrupted();
}

static bool
close_rejects(import_run *run)
{
    if (run->rejects != NULL && fclose(run->rejects) != 0 && !run->reject_broken) {
        g_printerr("keyway: %s: %s\n", run->reject_file, g_strerror(errno));
        run->reject_broken = true;
    }
    return !run->reject_broken;
}

static int
conclude(import_run *run, const kw_source *source, guint64 written)
{
    const char *text;
    guint64 missing = kw_source_missing(source, &text);
    double seconds = kw_progress_seconds(&run->progress);

    g_printerr("%s: %" G_GUINT64_FORMAT " records written, %" G_GUINT64_FORMAT " rejected, %.1f s, %.0f/s\n",
               run->name, written, run->rejected, seconds, (double)written / MAX(seconds, 0.001));
    if (run->rejected > 0 && run->reject_file != NULL)
        g_printerr("Correct the rejected records in %s and import that file.\n", run->reject_file);
    if (missing > 0)
        g_printerr("Cells stored as the text %s, or one like it: %" G_GUINT64_FORMAT
                   ". If it stands for a missing value, import the file again with --null %s\n",
                   text, missing, text);
    return run->rejected > 0 ? KW_EXIT_REJECTED : KW_EXIT_OK;
}

static int
run_import(import_run *run, kw_cli *cli, const kw_table_info *table)
{
    g_autoptr(kw_source) source = NULL;
    g_autoptr(kw_batch) batch = NULL;
    kw_call_options options = kw_cli_call_options(cli);
    GError *error = NULL;
    bool done;
    int code;

    source = kw_source_open(run->file, run->format, run->null_text, table, &error);
    if (source == NULL)
        return kw_cli_fail(error, "import");
    batch = kw_batch_new(cli->client, table->name, &options, (guint)run->batch_size, reject, run);
    kw_interrupts_catch();
    kw_progress_start(&run->progress, run->name);
    done = read_all(run, source, batch, &error);
    kw_progress_end(&run->progress);
    if (done)
        code = conclude(run, source, kw_batch_written(batch));
    else
        code = error != NULL ? report_stop(run, batch, error)
                             : report_interrupted(run, batch, kw_source_next_line(source));
    return close_rejects(run) ? code : KW_EXIT_FAILED;
}

/* Names the reject file, unless the user did. False: the reject file is the file to import. */
static bool
complete_names(import_run *run, const char *file)
{
    bool input = g_str_equal(file, "-");

    run->file = file;
    run->name = input ? "standard input" : file;
    if (run->reject_file == NULL)
        run->reject_file = g_strconcat(input ? "stdin" : file, ".rejected.jsonl", NULL);
    return !g_str_equal(run->reject_file, file);
}

int
kw_command_import(kw_cli *cli, int argc, char **argv)
{
    g_auto(import_run) run = {.batch_size = 500, .from_line = 1};
    g_autoptr(kw_table_info) table = NULL;
    int code;
    const GOptionEntry entries[] = {
        {"format", 0, 0, G_OPTION_ARG_STRING, &run.format,
         "csv or jsonl [by the name, else by the first character]", "FORMAT"},
        {"null", 0, 0, G_OPTION_ARG_STRING, &run.null_text,
         "Cells of CSV with this text are absent fields, as empty cells are", "TEXT"},
        {"reject", 0, 0, G_OPTION_ARG_FILENAME, &run.reject_file,
         "File for rejected records [FILE.rejected.jsonl; for standard input stdin.rejected.jsonl]",
         "REJECTS"},
        {"batch", 0, 0, G_OPTION_ARG_INT, &run.batch_size, "Records per batch [500]", "N"},
        {"from-line", 0, 0, G_OPTION_ARG_INT64, &run.from_line,
         "Skip the records before this line, to continue an import", "N"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "import", "TABLE FILE",
                      "Writes the records of a CSV or JSON file (- is standard input).", entries, NULL, 2, 2,
                      &argc, &argv, &code))
        return code;
    if (run.batch_size < 1 || run.batch_size > 10000)
        return kw_cli_usage("--batch %d: must be 1 to 10000", run.batch_size);
    if (run.from_line < 1)
        return kw_cli_usage("--from-line %" G_GINT64_FORMAT ": lines are numbered from 1", run.from_line);
    if (!complete_names(&run, argv[2]))
        return kw_cli_usage("--reject %s: is the file to import; name another file", run.reject_file);
    table = kw_cli_describe(cli, argv[1], &code);
    return table == NULL ? code : run_import(&run, cli, table);
}

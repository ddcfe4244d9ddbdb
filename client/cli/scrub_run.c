/* A comparison slice by slice; see scrub.h. */
#include "cli/interrupt.h"
#include "cli/scrub.h"
#include "cli/text.h"
#include "cli/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE_RECORDS 1000
#define SHOWN_DEFAULT 20
/* Longer than for other calls: if rows differ, the gateway waits until they are no longer being written. */
#define DEADLINE_MS 60000
#define PROGRESS_STEPS 1000000

void
kw_scrub_run_clear(kw_scrub_run *run)
{
    g_free(run->state_file);
    g_clear_pointer(&run->info, kw_table_info_free);
    kw_scrub_state_clear(&run->state);
}

/* --- output ----------------------------------------------------------------------------------- */

/* "order_id=A-1 ts=2026-11-21T10:00:00Z"; the row key if the row belongs to no record. */
static char *
record_text(const kw_scrub_run *run, const kw_difference *difference)
{
    if (difference->key == NULL)
        return kw_text_of_bytes(difference->row_key);
    return kw_record_print(run->info, difference->key, run->cli->raw);
}

/* Starts the output. In the table format, the first row starts it, so that no header is printed if there are
 * no rows. */
static void
open_output(kw_scrub_run *run)
{
    if (run->output == NULL)
        run->output = kw_output_new(run->cli->format, run->cli->raw, run->command->columns,
                                    run->command->columns_count);
}

static void
print_differences(kw_scrub_run *run, const kw_scrubbed *slice)
{
    if (slice->differences->len > 0)
        kw_progress_end(&run->progress);
    for (guint i = 0; i < slice->differences->len && run->show_left > 0; i++, run->show_left--) {
        const kw_difference *difference = slice->differences->pdata[i];
        g_autofree char *record = record_text(run, difference);
        kw_value cells[KW_SCRUB_CELLS_MAX];

        run->command->fill(run, difference, record, cells);
        open_output(run);
        kw_output_row(run->output, cells);
    }
}

const char *
kw_scrub_kind_text(kw_difference_kind kind)
{
    switch (kind) {
    case KW_DIFFERENCE_MISSING:
        return "missing";
    case KW_DIFFERENCE_DIFFERENT:
        return "different";
    case KW_DIFFERENCE_EXTRA:
        return "extra";
    case KW_DIFFERENCE_FOREIGN:
        return "foreign";
    }
    return "unknown";
}

static gint64
differences_of(const kw_scrub_state *state)
{
    return state->missing + state->different + state->extra;
}

static void
print_summary(const kw_scrub_run *run)
{
    const kw_scrub_state *state = &run->state;

    g_printerr("%s: %" G_GINT64_FORMAT " rows compared: %" G_GINT64_FORMAT " missing, %" G_GINT64_FORMAT
               " different, %" G_GINT64_FORMAT " extra, %" G_GINT64_FORMAT " foreign; %" G_GINT64_FORMAT
               " repaired\n",
               run->table, state->rows, state->missing, state->different, state->extra, state->foreign_rows,
               state->repaired);
    if (state->stale_hints > 0)
        g_printerr("Stale hints: %" G_GINT64_FORMAT ". Their records have other values now. They do no "
                   "harm.\n",
                   state->stale_hints);
    if (state->unsettled > 0)
        g_printerr("%" G_GINT64_FORMAT " records were being written, or were written shortly before, so "
                   "they could not be compared: %s later.\n",
                   state->unsettled, run->command->again);
}

/* --- slices ----------------------------------------------------------------------------------- */

static gint32
slice_records(const kw_scrub_run *run)
{
    return run->rows_per_second == 0 ? SLICE_RECORDS : CLAMP(run->rows_per_second, 1, SLICE_RECORDS);
}

/* Fetches the next slice. It retries for a while after temporary errors, because a slice can be fetched
 * again. */
static kw_scrubbed *
next_slice(kw_scrub_run *run, GError **error)
{
    kw_scrub_options options = {.cursor = run->state.cursor,
                                .repair = run->repair,
                                .max_records = slice_records(run),
                                .max_differences = MIN(run->show_left, 1000),
                                .deadline_ms =
                                    run->cli->timeout_ms == 0 ? DEADLINE_MS : run->cli->timeout_ms};

    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;
        kw_scrubbed *slice = run->command->next(run->cli->client, run->table, &options, &failure);

        if (slice != NULL)
            return slice;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return NULL;
        }
    }
}

/* Saves the state after the differences of the slice were printed. If it cannot be saved, a later run prints
 * them again, and it skips none. */
static bool
save_state(const kw_scrub_run *run, GError **error)
{
    if (run->state_file == NULL || run->state.cursor == NULL)
        return true;
    return kw_scrub_state_write(&run->state, run->state_file, run->command->group, run->table, error);
}

static void
throttle(const kw_scrub_run *run)
{
    gint64 rows = run->state.rows - run->rows_before;

    if (run->rows_per_second > 0)
        kw_pause_until(run->progress.started_us + rows * G_USEC_PER_SEC / run->rows_per_second);
}

/* Compares all slices. False: *error is set, or the user interrupted the command. */
static bool
run_all(kw_scrub_run *run, GError **error)
{
    do {
        g_autoptr(kw_scrubbed) slice = next_slice(run, error);

        if (slice == NULL)
            return false;
        print_differences(run, slice);
        kw_scrub_state_add(&run->state, slice);
        kw_progress_show(&run->progress, (guint64)(slice->progress * PROGRESS_STEPS), PROGRESS_STEPS,
                         (guint64)run->state.rows);
        if (!save_state(run, error))
            return false;
        if (run->state.cursor != NULL)
            throttle(run);
    } while (run->state.cursor != NULL && kw_interrupted() == 0);
    return run->state.cursor == NULL;
}

/* Prints why the command stopped and how to continue, and returns the exit status. */
static int
report_stop(const kw_scrub_run *run, GError *error)
{
    const char *name = run->command->name;
    g_autofree char *what = g_strdup_printf("the %s stopped", run->command->noun);
    int code = error == NULL ? 128 + kw_interrupted() : kw_cli_fail(error, what);

    if (error == NULL)
        g_printerr("keyway: the %s was interrupted\n", run->command->noun);
    if (run->state_file != NULL && run->state.cursor != NULL)
        g_printerr("  To continue: keyway %s %s%s --state %s\n", name, run->table,
                   run->repair ? " --repair" : "", run->state_file);
    else
        g_printerr("  The next %s starts at the beginning. To continue an interrupted %s, use --state "
                   "FILE.\n",
                   run->command->noun, run->command->noun);
    return code;
}

/* Removes the state file, and returns the exit status. */
static int
report_end(const kw_scrub_run *run)
{
    const kw_scrub_state *state = &run->state;

    if (run->state_file != NULL && remove(run->state_file) != 0 && errno != ENOENT)
        g_printerr("keyway: %s: %s\n", run->state_file, g_strerror(errno));
    if (differences_of(state) > state->repaired || state->foreign_rows > 0)
        return KW_EXIT_INVALID;
    return state->unsettled > 0 ? KW_EXIT_UNAVAILABLE : KW_EXIT_OK;
}

int
kw_scrub_run_all(kw_scrub_run *run)
{
    GError *error = NULL;
    bool shown, done;

    if (run->state_file != NULL &&
        !kw_scrub_state_read(&run->state, run->state_file, run->command->group, run->table, &error))
        return kw_cli_fail(error, run->state_file);
    run->rows_before = run->state.rows;
    if (run->cli->format != KW_OUTPUT_TABLE)
        open_output(run);
    kw_interrupts_catch();
    kw_progress_start(&run->progress, run->table);
    done = run_all(run, &error);
    kw_progress_end(&run->progress);
    shown = run->output == NULL || kw_output_end(run->output, NULL);
    print_summary(run);
    if (!done)
        return report_stop(run, error);
    return shown ? report_end(run) : KW_EXIT_FAILED;
}

bool
kw_scrub_parse(kw_scrub_run *run, const char *about, const char *repair_about, int argc, char **argv,
               int *ret_exit)
{
    const GOptionEntry entries[] = {
        {"repair", 0, 0, G_OPTION_ARG_NONE, &run->repair, repair_about, NULL},
        {"state", 0, 0, G_OPTION_ARG_FILENAME, &run->state_file,
         "Save the position in this file, and continue from it", "FILE"},
        {"rows-per-second", 0, 0, G_OPTION_ARG_INT, &run->rows_per_second,
         "Maximum number of rows to compare per second", "N"},
        {"show", 0, 0, G_OPTION_ARG_INT, &run->show_left, "Maximum number of differences to print [20]", "N"},
        G_OPTION_ENTRY_NULL};

    run->show_left = SHOWN_DEFAULT;
    if (!kw_cli_parse(run->cli, run->command->name, "TABLE", about, entries, NULL, 1, 1, &argc, &argv,
                      ret_exit))
        return false;
    if (run->rows_per_second < 0 || run->show_left < 0) {
        *ret_exit =
            kw_cli_usage("%s must not be negative", run->show_left < 0 ? "--show" : "--rows-per-second");
        return false;
    }
    run->table = argv[1];
    run->info = kw_cli_describe(run->cli, run->table, ret_exit);
    return run->info != NULL;
}

/* keyway verify: reads all rows of the paths of a table, one slice after another. */
#include "cli/verify.h"

#include "cli/interrupt.h"
#include "cli/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SLICE_ROWS 10000
#define EXAMPLES_MAX 100
#define DEADLINE_MS 60000
#define STEPS 1000000

typedef struct job {
    const kw_verify_run *run;
    GPtrArray *states; /* of the paths, in their order */
    kw_progress progress;
    gint64 rows; /* in this run */
} job;

/* --- slices ----------------------------------------------------------------------------------- */

static gint32
slice_rows(const kw_verify_run *run)
{
    return run->rows_per_second == 0 ? SLICE_ROWS : CLAMP(run->rows_per_second, 1, SLICE_ROWS);
}

static kw_verified *
next_slice(const job *self, const kw_verify_state *state, GError **error)
{
    const kw_verify_run *run = self->run;
    kw_verify_options options = {
        .path = state->path,
        .cursor = state->cursor,
        .max_rows = slice_rows(run),
        .max_examples = MIN(run->show - MIN(run->show, (int)state->examples->len), EXAMPLES_MAX),
        .deadline_ms = run->cli->timeout_ms == 0 ? DEADLINE_MS : run->cli->timeout_ms};

    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;
        kw_verified *slice = kw_client_verify(run->cli->client, run->info->name, &options, &failure);

        if (slice != NULL)
            return slice;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return NULL;
        }
    }
}

static void
throttle(const job *self)
{
    if (self->run->rows_per_second > 0)
        kw_pause_until(self->progress.started_us + self->rows * G_USEC_PER_SEC / self->run->rows_per_second);
}

/* False: *error is set, or the user interrupted the command. */
static bool
verify_path(job *self, guint path, GError **error)
{
    kw_verify_state *state = self->states->pdata[path];
    const kw_verify_run *run = self->run;

    while (!state->done && kw_interrupted() == 0) {
        g_autoptr(kw_verified) slice = next_slice(self, state, error);

        if (slice == NULL)
            return false;
        kw_verify_state_add(state, slice, (guint)run->show);
        self->rows += slice->rows;
        kw_progress_show(&self->progress, (guint64)((path + slice->progress) / self->states->len * STEPS),
                         STEPS, (guint64)self->rows);
        if (run->state_file != NULL &&
            !kw_verify_states_write(self->states, run->state_file, run->info->name, error))
            return false;
        if (!state->done)
            throttle(self);
    }
    return state->done;
}

/* --- all paths -------------------------------------------------------------------------------- */

static bool
list_paths(job *self, GError **error)
{
    const kw_verify_run *run = self->run;

    for (guint i = 0; i < run->info->paths->len; i++) {
        const kw_path_info *path = run->info->paths->pdata[i];
        bool wanted = run->path == NULL ? !path->association : g_str_equal(path->name, run->path);

        if (wanted)
            g_ptr_array_add(self->states, kw_verify_state_new(path->name));
    }
    if (self->states->len > 0)
        return true;
    g_set_error(error, KW_CLIENT_ERROR, KW_CLIENT_NOT_FOUND, "table %s has no path %s", run->info->name,
                run->path);
    return false;
}

static int
report_stop(const job *self, GError *error)
{
    const kw_verify_run *run = self->run;
    int code = error == NULL ? 128 + kw_interrupted() : kw_cli_fail(error, "the verification stopped");

    if (error == NULL)
        g_printerr("keyway: the verification was interrupted\n");
    if (run->state_file != NULL)
        g_printerr("  To continue: keyway %s %s%s%s --state %s\n", run->command, run->info->name,
                   run->path == NULL ? "" : " --path ", run->path == NULL ? "" : run->path, run->state_file);
    else
        g_printerr(
            "  The next one starts at the beginning. To continue an interrupted one, use --state FILE.\n");
    return code;
}

static int
report_end(const job *self)
{
    const char *file = self->run->state_file;
    bool fits = true;

    if (file != NULL && remove(file) != 0 && errno != ENOENT)
        g_printerr("keyway: %s: %s\n", file, g_strerror(errno));
    for (guint i = 0; i < self->states->len; i++)
        fits = fits && kw_verify_state_fits(self->states->pdata[i]);
    return fits ? KW_EXIT_OK : KW_EXIT_INVALID;
}

static bool
begin(job *self, GError **error)
{
    const kw_verify_run *run = self->run;

    return list_paths(self, error) &&
           (run->state_file == NULL ||
            kw_verify_states_read(self->states, run->state_file, run->info->name, error));
}

int
kw_verify_run_all(const kw_verify_run *run)
{
    g_autoptr(GPtrArray) states = g_ptr_array_new_with_free_func((GDestroyNotify)kw_verify_state_free);
    job self = {.run = run, .states = states};
    GError *error = NULL;
    bool done, shown;

    if (!begin(&self, &error))
        return kw_cli_fail(error, run->state_file == NULL ? run->command : run->state_file);
    kw_interrupts_catch();
    kw_progress_start(&self.progress, run->info->name);
    done = true;
    for (guint i = 0; done && i < states->len; i++)
        done = verify_path(&self, i, &error);
    kw_progress_end(&self.progress);
    shown = kw_verify_print(run->cli, states);
    if (!done)
        return report_stop(&self, error);
    return shown ? report_end(&self) : KW_EXIT_FAILED;
}

int
kw_command_verify(kw_cli *cli, int argc, char **argv)
{
    kw_verify_run run = {.cli = cli, .command = "verify", .show = KW_VERIFY_SHOW_DEFAULT};
    g_autofree char *path = NULL, *state_file = NULL;
    g_autoptr(kw_table_info) info = NULL;
    int code;
    const GOptionEntry entries[] = {
        {"path", 'p', 0, G_OPTION_ARG_STRING, &path, "Path to verify [all paths]", "PATH"},
        {"state", 0, 0, G_OPTION_ARG_FILENAME, &state_file,
         "Save the position in this file, and continue from it", "FILE"},
        {"rows-per-second", 0, 0, G_OPTION_ARG_INT, &run.rows_per_second,
         "Maximum number of rows to read per second", "N"},
        {"show", 0, 0, G_OPTION_ARG_INT, &run.show, "Maximum number of examples per path [20]", "N"},
        G_OPTION_ENTRY_NULL};

    if (!kw_cli_parse(cli, "verify", "TABLE",
                      "Reads all rows of a table, and checks that their keys follow the key rules and that "
                      "their values "
                      "can be decoded.",
                      entries, NULL, 1, 1, &argc, &argv, &code))
        return code;
    if (run.rows_per_second < 0 || run.show < 0)
        return kw_cli_usage("%s must not be negative", run.show < 0 ? "--show" : "--rows-per-second");
    info = kw_cli_describe(cli, argv[1], &code);
    if (info == NULL)
        return code;
    run.info = info;
    run.path = path;
    run.state_file = state_file;
    return kw_verify_run_all(&run);
}

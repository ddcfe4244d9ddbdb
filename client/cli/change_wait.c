/* Waits until a change needs the operator; see change.h. */
#include "cli/change.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

#include <unistd.h>

#define POLL_US 1000000
#define LINE_US 10000000
#define PROGRESS_STEPS 1000000

typedef struct waiter {
    kw_cli *cli;
    const char *table;
    kw_progress progress;
    gint64 next_line_us;
    char *problem; /* printed last */
} waiter;

static const kw_change_status *
first_running(const GPtrArray *changes)
{
    for (guint i = 0; i < changes->len; i++) {
        const kw_change_status *change = changes->pdata[i];

        if (!change->waiting)
            return change;
    }
    return NULL;
}

/* Temporary errors are retried for a while, for example while the gateway restarts. */
static GPtrArray *
fetch(const waiter *self, GError **error)
{
    for (int tries = 1;; tries++) {
        g_autoptr(GError) failure = NULL;
        GPtrArray *changes = kw_client_changes(self->cli->client, self->table, &failure);

        if (changes != NULL)
            return changes;
        if (!kw_cli_wait_to_retry(failure, tries)) {
            g_propagate_error(error, g_steal_pointer(&failure));
            return NULL;
        }
    }
}

static void
show_problem(waiter *self, const kw_change_status *change)
{
    if (change->problem[0] != '\0' && g_strcmp0(change->problem, self->problem) != 0) {
        kw_progress_end(&self->progress);
        g_printerr("keyway: %s: %s\n", self->table, change->problem);
    }
    g_free(self->problem);
    self->problem = g_strdup(change->problem);
}

static void
show(waiter *self, const kw_change_status *change)
{
    gint64 rows = change->copied ? change->rows_compared : change->rows_copied;

    show_problem(self, change);
    if (self->progress.shown) {
        self->progress.name = change->phase;
        kw_progress_show_rate(&self->progress, (guint64)(change->progress * PROGRESS_STEPS), PROGRESS_STEPS,
                              (guint64)rows, change->rows_per_second);
    } else if (g_get_monotonic_time() >= self->next_line_us) {
        g_autofree char *phase = kw_change_phase(change);

        g_printerr("%s: %s; %" G_GINT64_FORMAT " rows\n", self->table, phase, rows);
        self->next_line_us = g_get_monotonic_time() + LINE_US;
    }
}

/* NULL without an error: interrupted. */
static GPtrArray *
poll_changes(waiter *self, GError **error)
{
    GPtrArray *changes = fetch(self, error);
    const kw_change_status *running;

    while (changes != NULL && (running = first_running(changes)) != NULL) {
        show(self, running);
        g_ptr_array_unref(changes);
        kw_pause_until(g_get_monotonic_time() + POLL_US);
        changes = kw_interrupted() == 0 ? fetch(self, error) : NULL;
    }
    return changes;
}

GPtrArray *
kw_change_wait(kw_cli *cli, const char *table, int *ret_exit)
{
    waiter self = {.cli = cli, .table = table, .next_line_us = g_get_monotonic_time() + LINE_US};
    GError *error = NULL;
    GPtrArray *changes;

    if (kw_cli_connect(cli, ret_exit) == NULL)
        return NULL;
    kw_interrupts_catch();
    kw_progress_start(&self.progress, table);
    changes = poll_changes(&self, &error);
    kw_progress_end(&self.progress);
    g_free(self.problem);
    if (changes == NULL && error == NULL) {
        g_printerr("keyway: stopped waiting; the change continues\n");
        *ret_exit = 128 + kw_interrupted();
    } else if (changes == NULL) {
        *ret_exit = kw_cli_fail(error, "change status");
    }
    return changes;
}

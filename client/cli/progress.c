/* Redraws at most ten times per second. */
#include "cli/progress.h"

#include "cli/terminal.h"
#include "cli/text.h"

#include <stdio.h>
#include <unistd.h>

#define BAR_WIDTH 24
#define INTERVAL_US 100000

void
kw_progress_start(kw_progress *progress, const char *name)
{
    progress->name = name;
    progress->shown = isatty(STDERR_FILENO);
    progress->started_us = g_get_monotonic_time();
    progress->next_us = progress->started_us;
}

double
kw_progress_seconds(const kw_progress *progress)
{
    return (double)(g_get_monotonic_time() - progress->started_us) / 1e6;
}

void
kw_progress_show(kw_progress *progress, guint64 position, guint64 size, guint64 records)
{
    kw_progress_show_rate(progress, position, size, records,
                          (double)records / MAX(kw_progress_seconds(progress), 0.001));
}

void
kw_progress_show_rate(kw_progress *progress, guint64 position, guint64 size, guint64 records, double rate)
{
    char bar[BAR_WIDTH + 1] = "";
    g_autofree char *name = NULL;

    if (!progress->shown || g_get_monotonic_time() < progress->next_us)
        return;
    progress->next_us = g_get_monotonic_time() + INTERVAL_US;
    name = kw_text_for_terminal(progress->name); /* the bare stream escapes nothing */
    if (size == 0) {
        fprintf(kw_terminal_bare_error(), "\r%s  %" G_GUINT64_FORMAT " records  %.0f/s \033[K", name, records,
                rate);
        return;
    }
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = (guint64)i * size < position * BAR_WIDTH ? '=' : ' ';
    fprintf(kw_terminal_bare_error(), "\r%s  [%s] %3.0f%%  %" G_GUINT64_FORMAT " records  %.0f/s \033[K",
            name, bar, 100.0 * (double)position / (double)size, records, rate);
}

void
kw_progress_end(kw_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", kw_terminal_bare_error());
}

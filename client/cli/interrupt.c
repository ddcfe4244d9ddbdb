/* See interrupt.h. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

#define PAUSE_STEP_US 50000

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int number)
{
    interrupted = number;
}

void
kw_interrupts_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int
kw_interrupted(void)
{
    return interrupted;
}

void
kw_pause_until(gint64 time_us)
{
    gint64 left_us;

    while (kw_interrupted() == 0 && (left_us = time_us - g_get_monotonic_time()) > 0)
        g_usleep((gulong)MIN(left_us, PAUSE_STEP_US));
}

#include "cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PAUSE_STEP_US 50000

static volatile sig_atomic_t interrupted;
/* Readable after a signal. -1: signals are not caught, or the process could not open a descriptor. */
static int signal_event = -1;

static void
on_interrupt(int number)
{
    guint64 one = 1;
    int before = errno;
    ssize_t written;

    interrupted = number;
    written = write(signal_event, &one, sizeof one);
    /* Without a descriptor the write fails. A read that is about to begin then returns only when its next
     * byte arrives. */
    (void)written;
    errno = before;
}

void
kw_interrupts_catch(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};

    if (signal_event < 0)
        signal_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int
kw_interrupted(void)
{
    return interrupted;
}

gssize
kw_read_interruptible(int fd, void *to, gsize bytes_max)
{
    struct pollfd waits[] = {{.fd = fd, .events = POLLIN}, {.fd = signal_event, .events = POLLIN}};
    int ready;

    do {
        ready = poll(waits, G_N_ELEMENTS(waits), -1);
    } while (ready < 0 && errno == EINTR && kw_interrupted() == 0);
    if (kw_interrupted() != 0)
        errno = EINTR;
    return ready < 0 || kw_interrupted() != 0 ? -1 : read(fd, to, bytes_max);
}

void
kw_pause_until(gint64 time_us)
{
    gint64 left_us;

    while (kw_interrupted() == 0 && (left_us = time_us - g_get_monotonic_time()) > 0)
        g_usleep((gulong)MIN(left_us, PAUSE_STEP_US));
}

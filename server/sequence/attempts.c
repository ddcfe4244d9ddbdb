#include "sequence/attempts.h"

#include <glib.h>

#define TRIES 6
#define FIRST_PAUSE_MS 10 /* doubled with each attempt */

typedef struct attempt {
    struct attempt *next, *before; /* while pausing */
    kw_attempts *attempts;
    kw_addition addition; /* owns its name */
    unsigned tries;
    kw_timer *timer;
    kw_counted done;
    void *user;
} attempt;

struct kw_attempts {
    kw_loop *loop;
    kw_sequence_backend *counters;
    attempt *pausing;
    size_t open;
    bool closing;
};

static void
end(attempt *what, int64_t after, const kw_error *error)
{
    kw_timer_free(what->timer);
    what->attempts->open--;
    what->done(what->user, after, error);
    g_free((void *)what->addition.name.data);
    g_free(what);
}

static void
start_pausing(attempt *what, int64_t pause_ms)
{
    what->before = NULL;
    what->next = what->attempts->pausing;
    if (what->next)
        what->next->before = what;
    what->attempts->pausing = what;
    kw_timer_start_ms(what->timer, (uint64_t)pause_ms);
}

static void
stop_pausing(attempt *what)
{
    kw_timer_stop(what->timer);
    *(what->before ? &what->before->next : &what->attempts->pausing) = what->next;
    if (what->next)
        what->next->before = what->before;
}

static bool
may_pass(kw_code code)
{
    return code == KW_UNAVAILABLE || code == KW_TIMEOUT || code == KW_BUSY;
}

static void
tried(void *user, int64_t after, const kw_error *error)
{
    attempt *what = user;
    int64_t pause_ms = FIRST_PAUSE_MS << what->tries;
    bool again = error && may_pass(error->code) && ++what->tries < TRIES && !what->attempts->closing &&
                 kw_deadline_left_ms(what->addition.deadline) > pause_ms;
    if (again)
        start_pausing(what, pause_ms);
    else
        end(what, after, error);
}

static void
try_again(void *user)
{
    attempt *what = user;
    stop_pausing(what);
    kw_sequence_backend_add(what->attempts->counters, &what->addition, tried, what);
}

void
kw_attempts_add(kw_attempts *self, const kw_addition *addition, kw_counted done, void *user)
{
    g_assert(done && addition->amount >= 1 && !self->closing);
    attempt *what = g_new(attempt, 1);
    *what = (attempt){.attempts = self, .addition = *addition, .done = done, .user = user};
    what->addition.name.data = g_memdup2(addition->name.data, addition->name.size);
    what->timer = kw_timer_new(self->loop, try_again, what);
    self->open++;
    kw_sequence_backend_add(self->counters, &what->addition, tried, what);
}

void
kw_attempts_close(kw_attempts *self, const kw_error *why)
{
    self->closing = true;
    while (self->pausing) {
        attempt *what = self->pausing;
        stop_pausing(what);
        end(what, 0, why);
    }
}

kw_attempts *
kw_attempts_new(kw_loop *loop, kw_sequence_backend *counters)
{
    kw_attempts *self = g_new0(kw_attempts, 1);
    *self = (kw_attempts){.loop = loop, .counters = counters};
    return self;
}

void
kw_attempts_free(kw_attempts *self)
{
    g_assert(self->open == 0);
    g_free(self);
}

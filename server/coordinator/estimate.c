#include "coordinator/estimate.h"

#include <glib.h>

#define NS_PER_MS 1e6
#define LEFT_MS_MAX 1e15
/* After so many slices, the older ones count half: callers come and go, and with them the pauses. */
#define SLICES_MAX 16

void
kw_change_estimate_note(kw_change_estimate *self, double progress, unsigned weight, uint64_t now_ns)
{
    if (self->at_ns > 0 && progress >= self->at) {
        self->ns += (double)(now_ns - self->at_ns);
        self->progress += progress - self->at;
        self->slices++;
    }
    if (self->slices >= SLICES_MAX) {
        self->ns /= 2;
        self->progress /= 2;
        self->slices /= 2;
    }
    self->at_ns = now_ns;
    self->at = progress;
    if (self->progress > 0)
        self->unit_ns = self->ns / self->progress / weight;
}

void
kw_change_estimate_end_task(kw_change_estimate *self)
{
    *self = (kw_change_estimate){.unit_ns = self->unit_ns};
}

int64_t
kw_change_estimate_left_ms(const kw_change_estimate *self, unsigned weight, unsigned weight_after)
{
    double left = CLAMP(1 - self->at, 0, 1) * weight + weight_after;
    return self->unit_ns > 0 ? (int64_t)MIN(self->unit_ns * left / NS_PER_MS, LEFT_MS_MAX) : -1;
}

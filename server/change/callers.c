#include "change/callers.h"

#define NS_PER_MS (UINT64_C(1000) * 1000)
#define NS_PER_S (1000 * NS_PER_MS)
/* With fewer calls in a second, the gateway counts as unused. */
#define CALLS_MIN 5
/* Callers count as present until this time after they have used the gateway. Otherwise, those that make a
 * pause would change the registration again and again. */
#define KEEP_NS (10 * NS_PER_S)

void
kw_change_callers_look(kw_change_callers *self, uint64_t calls, uint64_t now_ns)
{
    uint64_t since_ns = now_ns - self->looked_ns;
    if (self->looked_ns > 0 && since_ns < KW_CHANGE_CALLERS_LOOK_MS * NS_PER_MS)
        return;
    bool used = self->looked_ns > 0 && (calls - self->calls) * NS_PER_S >= CALLS_MIN * since_ns;
    if (used)
        self->used_ns = now_ns;
    self->present = used || (self->present && now_ns - self->used_ns < KEEP_NS);
    self->calls = calls;
    self->looked_ns = now_ns;
}

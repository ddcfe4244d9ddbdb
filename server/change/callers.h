/* Whether callers use this gateway, as its registration says. Pure.
 *
 *   a look each second --> enough calls since the last look: callers are present
 *                      \-> for a while too few: they are not
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define KW_CHANGE_CALLERS_LOOK_MS 1000

typedef struct kw_change_callers {
    bool present;
    uint64_t calls;     /* at the last look that counted */
    uint64_t looked_ns; /* when it was; 0: there was none */
    uint64_t used_ns;   /* when a look last found enough calls */
} kw_change_callers;

/* Call it each second or more often. calls: of all callers since the start of the gateway. */
void kw_change_callers_look(kw_change_callers *self, uint64_t calls, uint64_t now_ns);

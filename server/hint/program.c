/* See program.h. docs/design/paths.md gives the reasons. */
#include "hint/program.h"

#include <glib.h>

#define READ KW_HINT_STEP_READ
#define HINTS KW_HINT_STEP_HINTS
#define STAMP KW_HINT_STEP_STAMP
#define PUT KW_HINT_STEP_PUT
#define NATIVE KW_HINT_STEP_NATIVE
#define COMPARE KW_HINT_STEP_COMPARE
#define REMOVE KW_HINT_STEP_REMOVE

/* clang-format off */
static const kw_hint_program store_programs[KW_HINT_OPERATIONS] = {
    /*                          steps                          kw:w,  kw:g,  needs atomics */
    [KW_HINT_PUT_OUTSIDE]    = {{PUT},                         true,  false, false},
    [KW_HINT_PUT_FULL]       = {{HINTS, PUT},                  true,  false, false},
    [KW_HINT_PUT_PARTIAL]    = {{READ, HINTS, COMPARE},        true,  true,  true},
    [KW_HINT_PUT_IF_OUTSIDE] = {{NATIVE},                      true,  true,  true},
    [KW_HINT_PUT_IF_FULL]    = {{HINTS, NATIVE},               true,  true,  true},
    [KW_HINT_PUT_IF_PARTIAL] = {{READ, HINTS, COMPARE},        true,  true,  true},
    [KW_HINT_INCREMENT]      = {{READ, HINTS, COMPARE},        true,  true,  true},
    [KW_HINT_REMOVE]         = {{REMOVE},                      true,  false, false},
};
static const kw_hint_program stamp_programs[KW_HINT_OPERATIONS] = {
    [KW_HINT_PUT_OUTSIDE]    = {{STAMP, PUT},                  true,  false, false},
    [KW_HINT_PUT_FULL]       = {{HINTS, STAMP, PUT},           true,  false, false},
    [KW_HINT_PUT_PARTIAL]    = {{READ, HINTS, STAMP, COMPARE}, true,  false, true},
    [KW_HINT_PUT_IF_OUTSIDE] = {{READ, STAMP, COMPARE},        true,  false, true},
    [KW_HINT_PUT_IF_FULL]    = {{READ, HINTS, STAMP, COMPARE}, true,  false, true},
    [KW_HINT_PUT_IF_PARTIAL] = {{READ, HINTS, STAMP, COMPARE}, true,  false, true},
    [KW_HINT_INCREMENT]      = {{READ, HINTS, STAMP, COMPARE}, true,  false, true},
    [KW_HINT_REMOVE]         = {{STAMP, REMOVE},               true,  false, false},
};
/* clang-format on */

kw_hint_program
kw_hint_program_of(kw_write_order order, kw_hint_operation operation, bool atomics)
{
    g_assert(order != KW_WRITE_ORDER_RAISED && operation < KW_HINT_OPERATIONS);
    kw_hint_program program =
        order == KW_WRITE_ORDER_STORE ? store_programs[operation] : stamp_programs[operation];
    program.leaves_writer &= atomics;
    program.leaves_generation &= atomics;
    return program;
}

/* True if the step changes the row of the record. */
static bool
writes_row(kw_hint_step step)
{
    return step == PUT || step == NATIVE || step == COMPARE || step == REMOVE;
}

kw_hint_next
kw_hint_next_after(kw_hint_step step, kw_hint_reply reply)
{
    switch (reply) {
    case KW_HINT_REPLY_OK:
        return KW_HINT_NEXT_STEP;
    case KW_HINT_REPLY_NOT_MET:
        return step == COMPARE || step == REMOVE ? KW_HINT_NEXT_AGAIN : KW_HINT_NEXT_NOT_MET;
    case KW_HINT_REPLY_FAILED:
        return KW_HINT_NEXT_FAILED;
    case KW_HINT_REPLY_DOUBTFUL:
        return writes_row(step) ? KW_HINT_NEXT_UNKNOWN : KW_HINT_NEXT_FAILED;
    }
    g_assert_not_reached();
}

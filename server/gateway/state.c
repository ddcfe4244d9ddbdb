#include "gateway/state.h"

#include "gateway/notify.h"

#include <glib.h>

#define TO(state) (1u << KW_CONTROL_##state)
static const unsigned moves[] = {
    [KW_CONTROL_STARTING] = TO(WAITING) | TO(SERVING) | TO(DRAINING),
    [KW_CONTROL_WAITING] = TO(SERVING) | TO(DRAINING),
    [KW_CONTROL_SERVING] = TO(FENCED) | TO(DRAINING),
    [KW_CONTROL_FENCED] = TO(SERVING) | TO(DRAINING),
    [KW_CONTROL_DRAINING] = TO(DONE),
    [KW_CONTROL_DONE] = 0,
};

static const char *const state_texts[] = {
    [KW_CONTROL_STARTING] = "starting",
    [KW_CONTROL_WAITING] = "waiting until it can serve",
    [KW_CONTROL_SERVING] = "serving",
    [KW_CONTROL_FENCED] = "this gateway lost its registration in the catalog and is not admitted again yet",
    [KW_CONTROL_DRAINING] = "draining",
    [KW_CONTROL_DONE] = "done",
};

void
kw_gateway_move(kw_gateway *gateway, kw_control_state to)
{
    g_assert(moves[gateway->control.state] & (1u << to));
    gateway->control.state = to;
    kw_notify_status(state_texts[to]);
}

const char *
kw_gateway_state_text(kw_control_state state)
{
    return state_texts[state];
}

#include "gateway/state.h"

#include "gateway/notify.h"

#include <glib.h>

#define TO(state) (1u << KW_GATEWAY_##state)
static const unsigned moves[] = {
    [KW_GATEWAY_STARTING] = TO(WAITING) | TO(SERVING) | TO(DRAINING),
    [KW_GATEWAY_WAITING] = TO(SERVING) | TO(DRAINING),
    [KW_GATEWAY_SERVING] = TO(DRAINING),
    [KW_GATEWAY_DRAINING] = TO(DONE),
    [KW_GATEWAY_DONE] = 0,
};

static const char *const state_texts[] = {"starting", "waiting until it can serve", "serving", "draining",
                                          "done"};

void
kw_gateway_move(kw_gateway *gateway, kw_gateway_state to)
{
    g_assert(moves[gateway->state] & (1u << to));
    gateway->state = to;
    kw_notify_status(state_texts[to]);
}

const char *
kw_gateway_state_text(kw_gateway_state state)
{
    return state_texts[state];
}

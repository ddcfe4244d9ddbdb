/* The states of the gateway: the moves of the picture in gateway.h are possible, and all others abort. */
#include "gateway/state.h"

#include "support/move_aborts.h"

#define ALL_MOVES 10

static bool
is_drawn(kw_control_state from, kw_control_state to)
{
    switch (from) {
    case KW_CONTROL_STARTING:
        return to == KW_CONTROL_WAITING || to == KW_CONTROL_SERVING || to == KW_CONTROL_DRAINING;
    case KW_CONTROL_WAITING:
        return to == KW_CONTROL_SERVING || to == KW_CONTROL_DRAINING;
    case KW_CONTROL_SERVING:
        return to == KW_CONTROL_FENCED || to == KW_CONTROL_DRAINING;
    case KW_CONTROL_FENCED:
        return to == KW_CONTROL_SERVING || to == KW_CONTROL_DRAINING;
    case KW_CONTROL_DRAINING:
        return to == KW_CONTROL_DONE;
    case KW_CONTROL_DONE:
        return false;
    }
    g_assert_not_reached();
}

static void
move(void *user, int to)
{
    kw_gateway_move(user, (kw_control_state)to);
}

KW_TEST(test_moves, "/gateway/state/moves")
{
    unsigned moves = 0;
    for (int from = KW_CONTROL_STARTING; from <= KW_CONTROL_DONE; from++)
        for (int to = KW_CONTROL_STARTING; to <= KW_CONTROL_DONE; to++) {
            g_autofree kw_gateway *gateway = g_new0(kw_gateway, 1);
            gateway->control.state = (kw_control_state)from;
            bool drawn = is_drawn((kw_control_state)from, (kw_control_state)to);
            g_assert_cmpint(move_aborts(move, gateway, to), ==, !drawn);
            if (!drawn)
                continue;
            move(gateway, to);
            g_assert_cmpint(gateway->control.state, ==, to);
            moves++;
        }
    g_assert_cmpuint(moves, ==, ALL_MOVES);
}

/* A gateway that has lost its registration stays in service for the calls that have begun. */
KW_TEST(test_in_service, "/gateway/state/in_service")
{
    kw_control control = {.state = KW_CONTROL_STARTING};
    for (int state = KW_CONTROL_STARTING; state <= KW_CONTROL_DONE; state++) {
        control.state = (kw_control_state)state;
        g_assert_cmpint(kw_control_is_in_service(&control), ==,
                        state == KW_CONTROL_SERVING || state == KW_CONTROL_FENCED);
    }
}

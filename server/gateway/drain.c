#include "gateway/drain.h"

#include "gateway/catalog_jobs.h"
#include "gateway/coordinator.h"
#include "gateway/follower.h"
#include "gateway/notify.h"
#include "gateway/policy_requests.h"
#include "gateway/prepare.h"
#include "gateway/reload.h"
#include "gateway/state.h"

static void
end(kw_gateway *gateway)
{
    kw_gateway_move(gateway, KW_GATEWAY_DONE);
    kw_loop_stop(gateway->loop);
}

static void
on_handle_closed(void *user)
{
    kw_gateway *gateway = user;
    gateway->handle = NULL;
    end(gateway);
}

static void
on_catalog_closed(void *user)
{
    kw_gateway *gateway = user;
    kw_store_handle_close(gateway->handle, on_handle_closed, gateway);
}

static void
on_sequences_closed(void *user)
{
    kw_gateway *gateway = user;
    if (gateway->catalog)
        kw_catalog_close(gateway->catalog, on_catalog_closed, gateway);
    else
        on_catalog_closed(gateway);
}

static void
on_idle(void *user)
{
    kw_gateway *gateway = user;
    kw_sequences_close(gateway->sequences, on_sequences_closed, gateway);
}

/* A slice of a change can wait for a timer, and then use the store handle again. */
static void
on_drained(void *user)
{
    kw_gateway *gateway = user;
    kw_net_free(gateway->net);
    gateway->net = NULL;
    kw_coordinator_when_idle(gateway->coordinator, on_idle, gateway);
}

void
kw_drain_start(kw_gateway *gateway, int exit_code)
{
    if (gateway->state >= KW_GATEWAY_DRAINING) {
        if (gateway->net)
            kw_net_close_now(gateway->net);
        return;
    }
    kw_gateway_move(gateway, KW_GATEWAY_DRAINING);
    gateway->exit_code = exit_code;
    kw_notify_stopping();
    kw_timer_stop(gateway->timer);
    kw_prepare_end(gateway);
    kw_reload_end(gateway->reload);
    kw_catalog_jobs_end(gateway);
    kw_policy_requests_end(gateway);
    kw_follower_stop(gateway->follower);
    kw_coordinator_stop(gateway->coordinator);
    if (!gateway->listening)
        kw_net_start(gateway->net); /* so that the loops can close their handles */
    gateway->listening = true;
    kw_net_drain(gateway->net, (uint64_t)kw_gateway_model(gateway)->timeouts.drain_ms, gateway->loop,
                 on_drained, gateway);
}

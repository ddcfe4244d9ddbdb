#include "gateway/drain.h"

#include "base/container.h"
#include "base/log.h"
#include "coordinator/coordinator.h"
#include "gateway/notify.h"
#include "gateway/reload.h"
#include "gateway/state.h"
#include "policy/follower.h"
#include "policy/prepare.h"
#include "policy/row_checks.h"

static void
end(kw_job *job)
{
    kw_gateway *gateway = KW_CONTAINER(job, kw_gateway, last_job);
    kw_gateway_move(gateway, KW_CONTROL_DONE);
    kw_loop_stop(gateway->control.loop);
}

/* No job waits for the store any more. Those that are queued end without using the catalog. */
static void
on_handle_closed(void *user)
{
    kw_gateway *gateway = user;
    gateway->control.handle = NULL;
    gateway->last_job.run = end;
    kw_jobs_add(&gateway->control.jobs, &gateway->last_job);
}

static void
on_catalog_closed(void *user)
{
    kw_gateway *gateway = user;
    kw_store_handle_close(gateway->control.handle, on_handle_closed, gateway);
}

/* True if a change with several writers is under way, and HBase can still apply a write that this gateway
 * gave up. */
static bool
leaves_writes(const kw_gateway *gateway)
{
    uint64_t late_ns = (uint64_t)kw_control_model(&gateway->control)->store.hbase.late_ms * 1000000;
    uint64_t doubt_ns = kw_store_last_doubt_ns(gateway->control.store);
    return kw_change_set_has_several_writers(gateway->control.changes) && doubt_ns > 0 &&
           kw_clock_boot_ns() < doubt_ns + late_ns;
}

static void
on_sequences_closed(void *user)
{
    kw_gateway *gateway = user;
    if (leaves_writes(gateway))
        kw_catalog_leave_registration(gateway->control.catalog);
    kw_catalog_close(gateway->control.catalog, on_catalog_closed, gateway);
}

static void
on_idle(void *user)
{
    kw_gateway *gateway = user;
    kw_sequences_close(gateway->control.sequences, on_sequences_closed, gateway);
}

/* Waits for the slice of a change, which can wait for a timer and then use the store handle again. */
static void
on_drained(void *user)
{
    kw_gateway *gateway = user;
    kw_net_free(gateway->net);
    gateway->net = NULL;
    gateway->control.open = false;
    kw_catalog_end_repeats(gateway->control.catalog); /* so that the puts that give up its changes complete */
    kw_coordinator_when_idle(gateway->control.coordinator, on_idle, gateway);
}

static bool
begin_lame_duck(kw_gateway *gateway)
{
    int64_t lame_duck_ms = kw_control_model(&gateway->control)->timeouts.lame_duck_ms;
    if (gateway->leaving || lame_duck_ms == 0 || !gateway->listeners.listening)
        return false;
    gateway->leaving = true;
    kw_log(KW_LOG_INFO, "gateway", "shutting down, but serving until the lame duck ends",
           KW_LOG_FACT("lame_duck_ms", lame_duck_ms));
    kw_notify_status(KW_DRAIN_LEAVING);
    kw_timer_start_ms(gateway->lame_duck, (uint64_t)lame_duck_ms);
    return true;
}

void
kw_drain_request(kw_gateway *gateway)
{
    if (!begin_lame_duck(gateway))
        kw_drain_start(gateway, KW_EXIT_OK);
}

void
kw_drain_on_lame_duck_over(void *gateway)
{
    kw_drain_start(gateway, KW_EXIT_OK);
}

void
kw_drain_start(kw_gateway *gateway, int exit_code)
{
    if (gateway->control.state >= KW_CONTROL_DRAINING) {
        if (gateway->net)
            kw_net_close_now(gateway->net);
        return;
    }
    kw_gateway_move(gateway, KW_CONTROL_DRAINING);
    gateway->exit_code = exit_code;
    kw_notify_stopping();
    gateway->leaving = true;
    kw_timer_stop(gateway->lame_duck);
    kw_timer_stop(gateway->serving.timer);
    kw_prepare_end(&gateway->control);
    kw_follower_stop(gateway->control.follower);
    kw_coordinator_stop(gateway->control.coordinator);
    kw_control_requests_stop(&gateway->control);
    kw_row_checks_stop(gateway->control.row_checks);
    if (!gateway->listeners.listening)
        kw_net_start(gateway->net); /* so that the loops can close their handles */
    gateway->listeners.listening = true;
    kw_net_drain(gateway->net, (uint64_t)kw_control_model(&gateway->control)->timeouts.drain_ms,
                 gateway->control.loop, on_drained, gateway);
}

#include "gateway/stores.h"

#include "base/log.h"
#include "store/embedded/embedded.h"
#include "store/hbase/hbase.h"
#include "store/order/order.h"

/* Opens HBase with ordered writes, because its servers have their own clocks and other gateways write to it,
 * too. */
static kw_store *
open_hbase(const kw_model_hbase *settings, kw_error *ret_error)
{
    kw_store *store = kw_hbase_open(settings, ret_error);
    kw_order_settings order = {.clock_width_ms = KW_ORDER_CLOCK_WIDTH_MS,
                               .max_clock_skew_ms = settings->max_clock_skew_ms,
                               .late_ms = settings->late_ms,
                               .client_pause_ms = settings->client_pause_ms};
    return store ? kw_order_store_new(store, &order) : NULL;
}

kw_store *
kw_stores_open(const kw_model *model, kw_error *ret_error)
{
    switch (model->store.kind) {
    case KW_STORE_EMBEDDED:
        return kw_embedded_open(&model->store.embedded, ret_error);
    case KW_STORE_HBASE:
        return open_hbase(&model->store.hbase, ret_error);
    }
    g_assert_not_reached();
}

void
kw_stores_configure_log(const kw_model *model)
{
    static const char *const names[] = {
        [KW_LOG_DEBUG] = "debug", [KW_LOG_INFO] = "info", [KW_LOG_WARN] = "warn", [KW_LOG_ERROR] = "error"};
    kw_log_level least = KW_LOG_INFO;
    for (int level = KW_LOG_DEBUG; level <= KW_LOG_ERROR; level++)
        if (g_strcmp0(model->log_level, names[level]) == 0)
            least = (kw_log_level)level;
    kw_log_configure(least, model->log_json);
}

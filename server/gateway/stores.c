#include "gateway/stores.h"

#include "base/log.h"
#include "store/embedded/embedded.h"
#include "store/hbase/hbase.h"
#include "store/null.h"

kw_store *
kw_stores_open(const kw_model *model, kw_error *ret_error)
{
    switch (model->store.kind) {
    case KW_STORE_EMBEDDED:
        return kw_embedded_open(&model->store.embedded, ret_error);
    case KW_STORE_HBASE:
        return kw_hbase_open(&model->store.hbase, ret_error);
    case KW_STORE_NULL:
        return kw_null_store_open();
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

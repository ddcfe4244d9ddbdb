/* Opens an HBase of the tests: on a busy machine it can be silent for seconds. */
#pragma once

#include "store/hbase/hbase.h"

static inline kw_store *
patient_hbase_open(const kw_model_hbase *settings)
{
    kw_hbase_tuning tuning = kw_hbase_tuning_default;
    kw_error error;
    tuning.connect_timeout_ms = 30000;
    kw_store *store = kw_hbase_open_tuned(settings, &tuning, &error);
    if (!store)
        g_error("%s", error.text);
    return store;
}

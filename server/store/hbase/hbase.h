/* The store behind HBase's Thrift2 servers; see README.md beside this file. */
#pragma once

#include "config/model.h"
#include "store/store.h"

/* Does not connect yet (the store handles do): servers may come later. INVALID for unusable TLS files. */
kw_store *kw_hbase_open(const kw_model_hbase *settings, kw_error *ret_error);

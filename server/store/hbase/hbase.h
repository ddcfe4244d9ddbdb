/* The store on HBase's Thrift2 servers; see README.md in this folder. */
#pragma once

#include "config/model.h"
#include "store/store.h"

/* Does not connect: the store handles do, and the servers can start later. INVALID if no server is configured
 * or the TLS files cannot be used. */
kw_store *kw_hbase_open(const kw_model_hbase *settings, kw_error *ret_error);

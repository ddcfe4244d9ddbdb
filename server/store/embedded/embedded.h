/* The store inside the process: RocksDB with HBase's cell semantics; see embedded.c. */
#pragma once

#include "config/model.h"
#include "store/store.h"

/* Opens or creates the folder. UNAVAILABLE when it is locked or cannot be written, CORRUPT when it holds
 * something else. */
kw_store *kw_embedded_open(const kw_model_embedded *settings, kw_error *ret_error);

/* Drops what is damaged in the write-ahead log, and all that follows, so that the store can be opened; copies
 * of the logs are kept in the folder. `report` says for the operator what went, also when it fails after
 * that. */
bool kw_embedded_repair(const kw_model_embedded *settings, kw_buffer *report, kw_error *ret_error);

/* The store that runs inside the process: HBase's cell semantics on RocksDB. See README.md. */
#pragma once

#include "config/model.h"
#include "store/store.h"

/* Opens the store in the folder `settings->path`, and creates a missing one. Returns NULL with UNAVAILABLE
 * if the folder is locked or cannot be written, and with CORRUPT if it is damaged or contains something
 * else. */
kw_store *kw_embedded_open(const kw_model_embedded *settings, kw_error *ret_error);

/* Drops the first damaged commit of the write-ahead log and all later ones, so that the store can be opened.
 * Copies of the logs are kept in the folder. `report` lists for the operator what was dropped, even if a
 * later step fails. */
bool kw_embedded_repair(const kw_model_embedded *settings, kw_buffer *report, kw_error *ret_error);

/* Internal to gateway: opens the store, and configures the log, that a policy names. */
#pragma once

#include "config/model.h"
#include "store/store.h"

kw_store *kw_stores_open(const kw_model *model, kw_error *ret_error);

void kw_stores_configure_log(const kw_model *model);

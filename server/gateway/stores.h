/* Inside of the room: which store and which log a policy asks for. */
#pragma once

#include "config/model.h"
#include "store/store.h"

kw_store *kw_stores_open(const kw_model *model, kw_error *ret_error);

void kw_stores_configure_log(const kw_model *model);

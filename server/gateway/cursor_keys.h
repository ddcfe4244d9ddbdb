/* Inside of the room: the keys that sign cursors. */
#pragma once

#include "gather/cursor.h"
#include "schema/policy.h"

/* From the policy's keys or key file; else a random key, kept beside the embedded store's data (cursor.key,
 * readable by its owner only), or, with other stores, in memory, which is logged. INVALID naming what is
 * wrong. */
kw_keyring *kw_keys_open(const kw_model *model, kw_error *ret_error);

/* Does the policy say which keys? Then they are read again at reload. */
bool kw_keys_configured(const kw_model *model);

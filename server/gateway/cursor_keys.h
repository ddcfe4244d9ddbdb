/* Internal to gateway: the keys that sign cursors. */
#pragma once

#include "gather/cursor.h"
#include "schema/policy.h"

/* Reads the policy's keys or key file. Without them, uses a random key: with the embedded store it is kept in
 * its folder (cursor.key, readable only by the owner), with other stores in memory, which is logged. The text
 * of an error names the problem: INVALID, or UNAVAILABLE if the file in the store's folder cannot be created.
 */
kw_keyring *kw_cursor_keys_open(const kw_model *model, kw_error *ret_error);

/* True if the policy configures keys. They are then read again at reload. */
bool kw_cursor_keys_are_configured(const kw_model *model);

/* A store that keeps nothing: writes succeed, reads find one fixed row of three 100-byte cells. It exists
 * to measure the gateway itself (tests/bench). */
#pragma once

#include "store/store.h"

kw_store *kw_null_store_open(void);

/* A store that stores nothing. Writes succeed, and reads return one fixed row with three cells of 100 bytes.
 * It exists to measure the gateway itself (tests/bench). */
#pragma once

#include "store/store.h"

kw_store *kw_null_store_open(void);

/* Estimates how far a scan of row keys has come. Pure. */
#pragma once

#include "base/bytes.h"

/* The share of the rows from `first` to `last` that are not after `at`, 0 to 1. It assumes that keys are
 * spread evenly. 0 if `last` or `at` is empty. */
double kw_share_of_keys(kw_bytes first, kw_bytes last, kw_bytes at);

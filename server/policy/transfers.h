/* Backups of the catalog, for Admin calls: pages of an export, first of the catalog and then of the counters,
 * and the parts of an import. Any thread; the signature is that of kw_service_settings, and `user` is the
 * kw_control. */
#pragma once

#include "policy/control.h"

void kw_policy_transfer(void *user, const kw_transfer *part, kw_loop *loop, kw_transfer_done done,
                        void *done_user);

/* Jobs that change the catalog on behalf of Admin calls. Any thread. The signatures are
 * those of kw_service_settings; `user` is the kw_control. */
#pragma once

#include "policy/control.h"

void kw_catalog_jobs_forget(void *user, const kw_forget_command *command, kw_loop *loop, kw_forget_done done,
                            void *done_user);
void kw_catalog_jobs_verified(void *user, const kw_verified_rows *rows, kw_loop *loop, kw_verified_done done,
                              void *done_user);
void kw_catalog_jobs_created(void *user, const char *const *store_tables, size_t count);

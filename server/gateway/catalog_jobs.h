/* Inside of the module: jobs that callers of the Admin service start and that change the catalog. Any thread;
 * the signatures are those of kw_service_settings, `user` is the kw_gateway. */
#pragma once

#include "gateway/gateway_internal.h"

void kw_catalog_jobs_forget(void *user, const kw_forget_order *order, kw_loop *loop, kw_forget_done done,
                            void *done_user);
void kw_catalog_jobs_created(void *user, const char *const *store_tables, size_t count);

/* Main thread: the gateway begins to drain; callers who wait are answered now. */
void kw_catalog_jobs_end(kw_gateway *gateway);

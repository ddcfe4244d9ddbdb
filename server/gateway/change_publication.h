/* Internal to gateway: the states of changes that other threads can read, for /metrics. */
#pragma once

#include "gateway/gateway_internal.h"

/* Replaces the states by the present ones. Main thread only. */
void kw_change_publish(kw_gateway *gateway);

/* The signature is that of kw_http_sources; `user` is the kw_gateway. Any thread. */
void kw_change_publication_read(void *user, void (*add)(void *list, const kw_change_status *change),
                                void *list);

/* Main thread, when no other thread reads. */
void kw_change_publication_free(kw_gateway *gateway);

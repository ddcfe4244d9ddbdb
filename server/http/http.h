/* The admin port: a read-only HTTP server for health checks, metrics and a status page. It has its own
 * threads. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "service/service.h"
#include "store/store.h"

typedef struct kw_http kw_http;

/* The data that the pages show. Functions are called on the admin threads. */
typedef struct kw_http_sources {
    void *user;
    const kw_service *service;
    kw_store *store;
    /* True if the gateway is ready. Otherwise calls add_reason for every reason. */
    bool (*ready)(void *user, void (*add_reason)(void *list, const char *reason), void *list);
    /* Calls add for every table that is not served although the gateway is ready. NULL: there are none. */
    void (*degraded)(void *user, void (*add)(void *list, const char *text), void *list);
    /* Calls add_warning for every problem that does not make the gateway unready. */
    void (*warnings)(void *user, void (*add_warning)(void *list, const char *text), void *list);
    int64_t (*policy_loaded_at_ms)(void *user);
    /* Calls add for every change of a table that is under way; the status lives until add returns. NULL:
     * there are no changes. */
    void (*changes)(void *user, void (*add)(void *list, const kw_change_status *change), void *list);
    int64_t started_at_ms;
} kw_http_sources;

/* NULL with UNAVAILABLE, which names host and port. */
kw_http *kw_http_start(const char *host, uint16_t port, const kw_http_sources *sources, uint16_t *ret_port,
                       kw_error *ret_error);

/* Waits for the requests in progress. NULL is allowed. */
void kw_http_stop(kw_http *http);

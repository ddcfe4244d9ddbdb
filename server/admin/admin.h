/* The admin port: HTTP for health checks, metrics and people. Read-only; threads of its own. */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "service/service.h"
#include "store/store.h"

typedef struct kw_admin kw_admin;

/* What the pages show; everything is called on the admin threads. */
typedef struct kw_admin_sources {
    void *user;
    const kw_service *service;
    kw_store *store;
    /* Is the gateway ready? Else add_reason is called for every reason why not. */
    bool (*ready)(void *user, void (*add_reason)(void *list, const char *reason), void *list);
    /* Calls add_warning for everything that the operator should know although the gateway serves. */
    void (*warnings)(void *user, void (*add_warning)(void *list, const char *text), void *list);
    int64_t (*policy_loaded_at_ms)(void *user);
    int64_t started_at_ms;
} kw_admin_sources;

/* UNAVAILABLE naming host and port. */
kw_admin *kw_admin_start(const char *host, uint16_t port, const kw_admin_sources *sources, uint16_t *ret_port,
                         kw_error *ret_error);

/* Waits for the requests in hand. NULL is fine. */
void kw_admin_stop(kw_admin *admin);

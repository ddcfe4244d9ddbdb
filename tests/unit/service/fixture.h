/* A policy with fields of every type, and an exchange for methods, without a connection. */
#pragma once

#include "service/exchange.h"

typedef struct service_fixture {
    kw_policy *policy;
    const kw_table *table;
    kw_loop *loop;
    kw_service_worker worker;
    kw_snapshot snapshot; /* without rules about access */
    kw_exchange exchange;
} service_fixture;

service_fixture *service_fixture_new(void);
void service_fixture_free(service_fixture *fix);

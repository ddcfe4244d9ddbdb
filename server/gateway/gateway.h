/* The gateway: opens everything, introduces it to each other, and is silent until a signal comes.
 *
 *              prepared                      SIGTERM, SIGINT
 *   STARTING ------------> SERVING ---------------------------> DRAINING ---> DONE
 *       |                     ^                                    ^
 *       |  store not there    | prepared                           |
 *       +----------------> WAITING --------------------------------+
 *       |                                                          |
 *       +----------------------------------------------------------+   refused, or cannot listen
 *
 * To prepare a policy is to make its missing tables and to let the layout guard compare it with the store
 * (prepare.h). WAITING listens already, and answers UNAVAILABLE. All of it runs on the main thread's loop.
 */
#pragma once

#include "schema/policy.h"

/* Exit codes of keywayd. */
enum {
    KW_EXIT_OK = 0,
    KW_EXIT_POLICY = 1,  /* the policy file has problems */
    KW_EXIT_USAGE = 2,   /* wrong options */
    KW_EXIT_REFUSED = 3, /* the layout guard refused the policy */
    KW_EXIT_FAILED = 4   /* the store cannot be opened, or a port not be listened on */
};

typedef struct kw_gateway_settings {
    const char *config_file; /* NULL: the built-in policy */
    const char *port_file;   /* NULL: none */
} kw_gateway_settings;

/* Runs until a signal ends it; takes over the reference on the policy. Returns the exit code. */
int kw_gateway_run(const kw_gateway_settings *settings, kw_policy *policy);

/* The gateway: opens and connects all modules, then waits for signals.
 *
 *                             FENCED
 *                                ^ registration lost
 *                                v admitted again
 *                prepared        |         SIGTERM, SIGINT
 *   STARTING ---------------> SERVING ---------------------> DRAINING ---> DONE
 *       |                        ^                              ^
 *       |  store unreachable     | prepared                     |
 *       +--------------------> WAITING -------------------------+
 *       |                                                       |
 *       +-------------------------------------------------------+   refused, or cannot listen
 *
 * FENCED moves to DRAINING, too. After a signal, SERVING, FENCED and WAITING continue for
 * timeouts.lame_duck, while /readyz returns 503 already. Preparing a policy (prepare.h) creates its missing
 * store tables, and compares it with the catalog. WAITING listens and answers UNAVAILABLE. Everything runs on
 * the main thread's loop.
 */
#pragma once

#include "schema/policy.h"

/* Exit codes of keywayd. */
enum {
    KW_EXIT_OK = 0,
    KW_EXIT_POLICY = 1,  /* the policy file has problems */
    KW_EXIT_USAGE = 2,   /* wrong options */
    KW_EXIT_REFUSED = 3, /* the catalog does not permit the policy */
    KW_EXIT_FAILED = 4   /* another failure, for example: cannot open the store, cannot listen on a port */
};

typedef struct kw_gateway_settings {
    const char *config_file; /* NULL: the built-in policy */
    const char *port_file;   /* NULL: write none */
} kw_gateway_settings;

/* Runs until a signal ends it. Consumes the reference to the policy. Returns the exit code. */
int kw_gateway_run(const kw_gateway_settings *settings, kw_policy *policy);

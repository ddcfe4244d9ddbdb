/* A gateway of our own: keywayd as a child process without a store, on a free port of 127.0.0.1, for commands
 * that need what a gateway knows but nothing that it keeps. It ends with us, however we end.
 */
#pragma once

#include "keyway.h"

typedef struct kw_private kw_private;

/* The gateway's program, the caller's; NULL: not found. */
char *kw_private_program(void);

/* Runs KEYWAYD (a path in the environment), else keywayd from our own folder or PATH. */
kw_private *kw_private_start(GError **error);

/* "127.0.0.1:PORT" */
const char *kw_private_address(const kw_private *self);

/* NULL is fine. */
void kw_private_stop(kw_private *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_private, kw_private_stop)

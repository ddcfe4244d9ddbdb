/* A private gateway: keywayd as a child process, on a free port of 127.0.0.1, for commands that need the
 * gateway's functions but no stored data. Its store is empty, in a temporary folder. It ends with this
 * program, however that ends.
 */
#pragma once

#include "keyway.h"

typedef struct kw_private kw_private;

/* The path of the gateway's program, freed by the caller: the environment variable KEYWAYD, or else the first
 * keywayd in this program's folder, in the folder where `cmake --install` puts it, and in PATH. */
char *kw_private_program(GError **error);

kw_private *kw_private_start(GError **error);

/* "127.0.0.1:PORT" */
const char *kw_private_address(const kw_private *self);

/* NULL is ignored. */
void kw_private_stop(kw_private *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_private, kw_private_stop)

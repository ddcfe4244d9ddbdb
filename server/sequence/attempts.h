/* Private to this module: retries additions for some time when their backend fails. Numbers whose reply
 * was lost stay unused; no number is assigned twice. */
#pragma once

#include "sequence/backend.h"

typedef struct kw_attempts kw_attempts;

/* Borrows both arguments. */
kw_attempts *kw_attempts_new(kw_loop *loop, kw_sequence_backend *counters);

/* Like kw_sequence_backend_add. */
void kw_attempts_add(kw_attempts *self, const kw_addition *addition, kw_counted done, void *user);

/* Stops all retries; additions that wait for one fail with `why`. */
void kw_attempts_close(kw_attempts *self, const kw_error *why);

/* Call it when everything has completed. */
void kw_attempts_free(kw_attempts *self);

/* Inside of the room: additions that are tried again for a while when their backend fails. What was counted
 * and did not arrive is lost, not given twice. */
#pragma once

#include "sequence/counter.h"

typedef struct kw_attempts kw_attempts;

/* Both are borrowed. */
kw_attempts *kw_attempts_new(kw_loop *loop, kw_counters *counters);

/* As kw_counters_take. */
void kw_attempts_add(kw_attempts *self, const kw_addition *addition, kw_counted done, void *user);

/* Nothing is tried again any more; who waits for that is told why. */
void kw_attempts_close(kw_attempts *self, const kw_error *why);

/* Everything must have completed. */
void kw_attempts_free(kw_attempts *self);

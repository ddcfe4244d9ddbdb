/* The interface to the counters of sequence numbers, used by one loop. Each backend is a file:
 * backend_store.c counts in the store, backend_redis.c in Redis.
 *
 * An addition completes exactly once, on the loop, and always after the call that started it has returned. A
 * failed addition may still have been counted (its numbers are lost, never assigned twice). Names and
 * requests are copied.
 */
#pragma once

#include "base/loop.h"
#include "config/model.h"
#include "store/store.h"

typedef struct kw_sequence_backend kw_sequence_backend;

/* How long a counter must be kept. Each of these retentions has its own column family in the store. */
typedef enum kw_retention { KW_KEEP_EVER, KW_KEEP_DAYS, KW_KEEP_YEARS } kw_retention;
#define KW_RETENTIONS (KW_KEEP_YEARS + 1)

typedef struct kw_addition {
    kw_bytes name;
    int64_t amount; /* at least 1 */
    kw_retention keeping;
    kw_deadline deadline;
} kw_addition;

/* after: the counter's value including the amount. */
typedef void (*kw_counted)(void *user, int64_t after, const kw_error *error);

typedef struct kw_sequence_backend_class {
    void (*add)(kw_sequence_backend *self, const kw_addition *addition, kw_counted done, void *user);
    /* Fails additions in flight with UNAVAILABLE, at the latest when the store handle is closed. After that,
     * nothing new is started. */
    void (*close)(kw_sequence_backend *self, void (*closed)(void *user), void *user);
    void (*free)(kw_sequence_backend *self);
} kw_sequence_backend_class;

struct kw_sequence_backend {
    const kw_sequence_backend_class *class;
};

kw_sequence_backend *kw_sequence_backend_open_store(const kw_model_sequences *settings,
                                                    kw_store_handle *handle);
/* Borrows the password, which can be "". */
kw_sequence_backend *kw_sequence_backend_open_redis(const kw_model_sequences *settings, const char *password,
                                                    kw_loop *loop);

static inline void
kw_sequence_backend_add(kw_sequence_backend *self, const kw_addition *addition, kw_counted done, void *user)
{
    self->class->add(self, addition, done, user);
}

static inline void
kw_sequence_backend_close(kw_sequence_backend *self, void (*closed)(void *user), void *user)
{
    self->class->close(self, closed, user);
}

static inline void
kw_sequence_backend_free(kw_sequence_backend *self)
{
    self->class->free(self);
}

kw_retention kw_retention_of(kw_period period);

/* Seconds for which a counter lives after its last addition; 0: it does not expire. Long enough for a
 * period that can be used for `keep` before it begins and after it ends. */
int64_t kw_retention_seconds(const kw_model_sequences *settings, kw_retention keeping);

/* Family in the store. */
const char *kw_retention_family(kw_retention keeping);

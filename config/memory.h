/* Memory of one lifetime: all that is made for a model, or for one reading, goes together.
 *
 * Every piece is an allocation of its own, so that AddressSanitizer sees an overrun. Policies are
 * small and bounded (1 MiB, 100,000 nodes); this is not the arena of the hot path, which config/
 * may not use. One thread at a time.
 */
#pragma once

#include <glib.h>

typedef struct kw_memory kw_memory;

kw_memory *kw_memory_new(void);
/* NULL is fine. */
void kw_memory_free(kw_memory *memory);

/* Zeroed; count 0 gives NULL. The product was bounded by the caller. */
void *kw_memory_array(kw_memory *memory, size_t count, size_t size);
/* A NUL-terminated copy. */
char *kw_memory_text(kw_memory *memory, const char *text, size_t size);
char *kw_memory_printf(kw_memory *memory, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define KW_MEMORY_ARRAY(memory, type, count) ((type *)kw_memory_array((memory), (count), sizeof(type)))

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_memory, kw_memory_free)

/* Memory of one lifetime: everything allocated for a model, or for one read, is freed together.
 *
 * Every piece is an allocation of its own, so that AddressSanitizer detects overruns. Policies are small
 * and limited (1 MiB, 100,000 nodes). The arena of the hot path is not available in config/. One thread at
 * a time. */
#pragma once

#include <glib.h>

typedef struct kw_memory kw_memory;

kw_memory *kw_memory_new(void);
/* NULL is ignored. */
void kw_memory_free(kw_memory *memory);

/* Zeroed; NULL if count is 0. The caller has limited the product. */
void *kw_memory_array(kw_memory *memory, size_t count, size_t size);
/* A NUL-terminated copy. */
char *kw_memory_text(kw_memory *memory, const char *text, size_t size);
char *kw_memory_printf(kw_memory *memory, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define KW_MEMORY_ARRAY(memory, type, count) ((type *)kw_memory_array((memory), (count), sizeof(type)))

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_memory, kw_memory_free)

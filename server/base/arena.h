/* Memory by lifetime: everything made for a call lives in the call's arena and dies with it. What an arena
 * takes from malloc is charged to the memory budget (budget.h) and, where it has one, to its account.
 *
 * A bump allocator over chunks that are recycled per thread. An arena is used by one thread at a
 * time; it may be handed to another thread whole. Under AddressSanitizer every allocation is its
 * own malloc, so that overruns are seen. Allocation never returns NULL; it ends the process when
 * memory is exhausted, so sizes from outside are compared with a limit first.
 */
#pragma once

#include "base/budget.h"
#include "base/bytes.h"

#include <glib.h>

typedef struct kw_arena kw_arena;

/* Charged as KW_MEMORY_CALLS, to no account. */
kw_arena *kw_arena_new(void);

/* account: NULL for none; must outlive the arena. */
kw_arena *kw_arena_new_for(kw_account *account, kw_purpose purpose);

/* Frees the arena with everything in it. NULL is fine. */
void kw_arena_free(kw_arena *arena);

/* Forgets everything that was allocated, keeps the first chunk. */
void kw_arena_reset(kw_arena *arena);

/* Where an arena stands, so that what is allocated later can be taken back: unless the arena adopts another
 * or is reset in between. */
typedef struct kw_arena_mark {
    void *chunk, *next;
    uint8_t *at, *end;
    size_t used;
} kw_arena_mark;

kw_arena_mark kw_arena_mark_now(const kw_arena *arena);
void kw_arena_rewind(kw_arena *arena, kw_arena_mark mark);

/* `size` bytes, aligned for any type, not zeroed. size 0 gives a valid unique pointer. */
void *kw_arena_alloc(kw_arena *arena, size_t size);

/* The same, zeroed. */
void *kw_arena_alloc0(kw_arena *arena, size_t size);

/* `count` elements of `size` bytes, zeroed; asserts that the product does not overflow. */
void *kw_arena_array(kw_arena *arena, size_t count, size_t size);

/* A copy that lives as long as the arena. */
kw_bytes kw_arena_copy(kw_arena *arena, kw_bytes bytes);

/* A NUL-terminated copy of the bytes. */
char *kw_arena_text(kw_arena *arena, kw_bytes bytes);

char *kw_arena_printf(kw_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes over what `other` holds; `other` is gone, its memory lives as long as the arena (or until it is
 * reset) and is charged as the arena's own.
 */
void kw_arena_adopt(kw_arena *arena, kw_arena *other);

/* Bytes handed out since new or reset. */
size_t kw_arena_used(const kw_arena *arena);

/* Whom the arena is charged to; NULL: nobody. */
kw_account *kw_arena_account(const kw_arena *arena);

#define KW_ARENA_NEW(arena, type) ((type *)kw_arena_alloc0((arena), sizeof(type)))
#define KW_ARENA_ARRAY(arena, type, count) ((type *)kw_arena_array((arena), (count), sizeof(type)))

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_arena, kw_arena_free)

/* Memory by lifetime: everything allocated for a call lives in the call's arena and is freed with it. The
 * memory that an arena gets from malloc is charged to the memory budget (budget.h) and to the arena's
 * account, if it has one.
 *
 * The arenas of one call form a tree: arenas below another one count as part of it. An arena with an account
 * can hold at most the share of a call (kw_budget_call_share) together with those below it. guard.h says what
 * happens when it needs more, or when memory is short.
 *
 * A bump allocator over chunks that are recycled per thread. One thread at a time can use an arena; another
 * thread can take over a whole arena. Under AddressSanitizer every allocation is its own malloc, so that
 * overruns are detected. Allocation never returns NULL: the process aborts when memory is exhausted.
 */
#pragma once

#include "base/budget.h"
#include "base/bytes.h"

#include <glib.h>

typedef struct kw_arena kw_arena;

/* An arena without an account, charged as KW_MEMORY_CALLS. */
kw_arena *kw_arena_new(void);

/* The account must outlive the arena. NULL: no account. */
kw_arena *kw_arena_new_for(kw_account *account, kw_purpose purpose);

/* An arena with the account of `above`. It is freed with the root of the tree, if not before: so a guard
 * (guard.h) that is left between its creation and its use leaks nothing. */
kw_arena *kw_arena_new_below(kw_arena *above, kw_purpose purpose);

/* Frees the arena with everything in it; a root also frees the arenas below it. NULL is allowed. */
void kw_arena_free(kw_arena *arena);

/* Frees everything allocated in the arena, and keeps the first chunk for reuse. */
void kw_arena_reset(kw_arena *arena);

/* The present position of an arena. Rewinding to it frees everything allocated since then. A mark is invalid
 * after the arena is reset or adopts another. */
typedef struct kw_arena_mark {
    void *chunk, *next;
    uint8_t *at, *end;
    size_t used;
} kw_arena_mark;

kw_arena_mark kw_arena_mark_now(const kw_arena *arena);
void kw_arena_rewind(kw_arena *arena, kw_arena_mark mark);

/* `size` bytes, aligned for any type, not zeroed. Size 0 returns a valid unique pointer. */
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

/* Moves all memory of `other` into the arena, where it lives and is charged like the arena's own. `other` is
 * invalid afterwards.
 */
void kw_arena_adopt(kw_arena *arena, kw_arena *other);

/* Bytes allocated in the arena, without those freed by a reset or a rewind. */
size_t kw_arena_used(const kw_arena *arena);

/* The account that the arena is charged to, or NULL. */
kw_account *kw_arena_account(const kw_arena *arena);

/* The top of the tree that the arena is part of. */
kw_arena *kw_arena_root(kw_arena *arena);

/* Bytes that the arena and those below it hold, including unused space. */
size_t kw_arena_held(const kw_arena *arena);

/* Why an allocation outside of a guard would have been refused. */
kw_shortage kw_arena_shortage(const kw_arena *arena);

#define KW_ARENA_NEW(arena, type) ((type *)kw_arena_alloc0((arena), sizeof(type)))
#define KW_ARENA_ARRAY(arena, type, count) ((type *)kw_arena_array((arena), (count), sizeof(type)))

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_arena, kw_arena_free)

/* Arena: a chain of chunks, the newest first. Chunks of the two standard sizes go back to per-thread
 * lists instead of to malloc, so that a call on a busy loop costs no malloc at all. The first chunk is
 * small, because most calls need no more: a thousand calls in flight then share the caches and the
 * page tables' cache instead of sweeping them. */
#include "base/arena.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT ((size_t)16)

#ifdef __has_feature /* clang says it in this way */
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#define KW_ARENA_MALLOC 1
#else
#define KW_ARENA_MALLOC 0
#endif

typedef struct chunk {
    struct chunk *next;
    size_t size; /* of the payload */
    size_t unused;
    size_t unused2; /* keeps the payload aligned */
    uint8_t payload[];
} chunk;

struct kw_arena {
    chunk *chunks; /* newest first; the last one holds the arena itself */
    uint8_t *at;
    uint8_t *end;
    size_t used;
    size_t held; /* by all chunks */
    kw_account *account;
    kw_purpose purpose;
};

#define FIRST_SIZE ((size_t)4096 - 16 - sizeof(chunk)) /* with malloc's word a page */
#define CHUNK_SIZE ((size_t)16 * 1024)

/* What a thread keeps at most. */
#define SMALL_SPARES ((size_t)4 * 1024 * 1024)
#define STANDARD_SPARES ((size_t)1024 * 1024)

typedef struct spares {
    chunk *first;
    size_t bytes, most;
} spares;

typedef struct stock {
    spares small, standard;
} stock;

static pthread_once_t stock_once = PTHREAD_ONCE_INIT;
static pthread_key_t stock_key;

static void
spares_clear(spares *own)
{
    while (own->first) {
        chunk *next = own->first->next;
        free(own->first);
        own->first = next;
    }
}

static void
stock_free(void *data)
{
    stock *own = data;
    spares_clear(&own->small);
    spares_clear(&own->standard);
    free(own);
}

static void
stock_init(void)
{
    int failed = pthread_key_create(&stock_key, stock_free);
    g_assert(!failed);
}

static stock *
stock_get(void)
{
    static _Thread_local stock *cached;
    if (!cached) {
        pthread_once(&stock_once, stock_init);
        cached = g_new0(stock, 1);
        cached->small.most = SMALL_SPARES;
        cached->standard.most = STANDARD_SPARES;
        pthread_setspecific(stock_key, cached);
    }
    return cached;
}

/* Where chunks of this size are kept; NULL: nowhere. */
static spares *
spares_of(size_t size)
{
    if (KW_ARENA_MALLOC)
        return NULL;
    return size == FIRST_SIZE ? &stock_get()->small : size == CHUNK_SIZE ? &stock_get()->standard : NULL;
}

static chunk *
chunk_new(size_t size)
{
    spares *own = spares_of(size);
    if (own && own->first) {
        chunk *reused = own->first;
        own->first = reused->next;
        own->bytes -= size;
        return reused;
    }
    chunk *made = g_malloc(sizeof(chunk) + size);
    made->size = size;
    return made;
}

static void
chunk_free(chunk *old)
{
    spares *own = spares_of(old->size);
    if (!own || own->bytes >= kw_budget_spare(own->most)) {
        free(old);
        return;
    }
    old->next = own->first;
    own->first = old;
    own->bytes += old->size;
}

/* --- arenas ------------------------------------------------------------------------------------- */

static size_t
size_of(const chunk *piece)
{
    return sizeof *piece + piece->size;
}

static void
charge(kw_arena *arena, size_t bytes)
{
    arena->held += bytes;
    kw_account_charge(arena->account, arena->purpose, (int64_t)bytes);
}

static void
take_back(kw_arena *arena, size_t bytes)
{
    arena->held -= bytes;
    kw_account_charge(arena->account, arena->purpose, -(int64_t)bytes);
}

kw_arena *
kw_arena_new_for(kw_account *account, kw_purpose purpose)
{
    size_t head = (sizeof(kw_arena) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    chunk *first = chunk_new(FIRST_SIZE);
    first->next = NULL;
    kw_arena *arena = (kw_arena *)(void *)first->payload;
    *arena = (kw_arena){.chunks = first,
                        .at = first->payload + head,
                        .end = first->payload + FIRST_SIZE,
                        .account = account,
                        .purpose = purpose};
    charge(arena, size_of(first));
    return arena;
}

kw_arena *
kw_arena_new(void)
{
    return kw_arena_new_for(NULL, KW_MEMORY_CALLS);
}

static void
free_newer_chunks(kw_arena *arena)
{
    while (arena->chunks->next) {
        chunk *next = arena->chunks->next;
        chunk_free(arena->chunks);
        arena->chunks = next;
    }
}

void
kw_arena_free(kw_arena *arena)
{
    if (!arena)
        return;
    take_back(arena, arena->held);
    free_newer_chunks(arena);
    chunk_free(arena->chunks);
}

void
kw_arena_reset(kw_arena *arena)
{
    size_t head = (sizeof(kw_arena) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    free_newer_chunks(arena);
    take_back(arena, arena->held - size_of(arena->chunks));
    arena->at = arena->chunks->payload + head;
    arena->end = arena->chunks->payload + arena->chunks->size;
    arena->used = 0;
}

kw_arena_mark
kw_arena_mark_now(const kw_arena *arena)
{
    return (kw_arena_mark){.chunk = arena->chunks,
                           .next = arena->chunks->next,
                           .at = arena->at,
                           .end = arena->end,
                           .used = arena->used};
}

static void
drop(kw_arena *arena, chunk **place)
{
    chunk *old = *place;
    *place = old->next;
    take_back(arena, size_of(old));
    chunk_free(old);
}

/* Newer chunks stand before the marked one; large ones that came while it was the newest, right behind it. */
void
kw_arena_rewind(kw_arena *arena, kw_arena_mark mark)
{
    while (arena->chunks != mark.chunk)
        drop(arena, &arena->chunks);
    while (arena->chunks->next != mark.next)
        drop(arena, &arena->chunks->next);
    arena->at = mark.at;
    arena->end = mark.end;
    arena->used = mark.used;
}

/* A chunk of its own for what does not fit. A large block goes behind the current chunk, so that
 * the room left in the current one stays in use. */
static void *
alloc_slow(kw_arena *arena, size_t size)
{
    g_assert(size < SIZE_MAX / 2);
    bool own_chunk = KW_ARENA_MALLOC || size > CHUNK_SIZE / 4;
    chunk *made = chunk_new(own_chunk ? size : CHUNK_SIZE);
    charge(arena, size_of(made));
    if (own_chunk && arena->chunks->next) {
        made->next = arena->chunks->next;
        arena->chunks->next = made;
        return made->payload;
    }
    made->next = arena->chunks;
    arena->chunks = made;
    arena->at = made->payload + (own_chunk ? made->size : size);
    arena->end = made->payload + made->size;
    return made->payload;
}

void *
kw_arena_alloc(kw_arena *arena, size_t size)
{
    size_t rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    if (rounded == 0)
        rounded = ALIGNMENT;
    g_assert(rounded >= size);
    arena->used += rounded;
    if (KW_ARENA_MALLOC)
        return alloc_slow(arena, size ? size : 1);
    if ((size_t)(arena->end - arena->at) < rounded)
        return alloc_slow(arena, rounded);
    void *made = arena->at;
    arena->at += rounded;
    return made;
}

void *
kw_arena_alloc0(kw_arena *arena, size_t size)
{
    void *made = kw_arena_alloc(arena, size);
    memset(made, 0, size);
    return made;
}

void *
kw_arena_array(kw_arena *arena, size_t count, size_t size)
{
    size_t total;
    bool overflow = __builtin_mul_overflow(count, size, &total);
    g_assert(!overflow);
    return kw_arena_alloc0(arena, total);
}

kw_bytes
kw_arena_copy(kw_arena *arena, kw_bytes bytes)
{
    uint8_t *copy = kw_arena_alloc(arena, bytes.size);
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    return kw_bytes_of(copy, bytes.size);
}

char *
kw_arena_text(kw_arena *arena, kw_bytes bytes)
{
    char *copy = kw_arena_alloc(arena, bytes.size + 1);
    if (bytes.size)
        memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = '\0';
    return copy;
}

char *
kw_arena_printf(kw_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return kw_arena_text(arena, kw_bytes_of_text(text));
}

void
kw_arena_adopt(kw_arena *arena, kw_arena *other)
{
    chunk *oldest = other->chunks;
    size_t held = other->held;
    take_back(other, held);
    charge(arena, held);
    arena->used += other->used;
    while (oldest->next)
        oldest = oldest->next;
    chunk *newest = other->chunks; /* read before: the oldest one holds `other` */
    oldest->next = arena->chunks;
    arena->chunks = newest;
}

size_t
kw_arena_used(const kw_arena *arena)
{
    return arena->used;
}

kw_account *
kw_arena_account(const kw_arena *arena)
{
    return arena->account;
}

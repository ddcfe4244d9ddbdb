/* Arena: a list of chunks, the newest first. Freed chunks of the two standard sizes are kept in per-thread
 * lists, so that a call on a busy loop needs no malloc at all. The first chunk is small because most calls
 * need no more: a thousand concurrent calls then fit into the CPU caches and the TLB. */
#include "base/arena.h"

#include "base/guard.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT ((size_t)16)

#ifdef __has_feature /* clang's way to report sanitizers */
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
    size_t held;     /* by all chunks */
    size_t held_all; /* the same, with the arenas below it; only of a root */
    kw_arena *root;
    kw_arena *below; /* the first one below it; only of a root */
    kw_arena *next_below, **place_below;
    kw_account *account;
    kw_purpose purpose;
    kw_shortage shortage; /* only of a root */
};

#define FIRST_SIZE ((size_t)4096 - 16 - sizeof(chunk)) /* with malloc's own 16 bytes, one page */
#define CHUNK_SIZE ((size_t)14 * 1024 - sizeof(chunk)) /* jemalloc adds a page to larger blocks */

/* Maximum bytes of spare chunks that a thread keeps. */
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

/* The spare list for chunks of this size; NULL if such chunks are not kept. */
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
    chunk *fresh = g_malloc(sizeof(chunk) + size);
    fresh->size = size;
    return fresh;
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

/* --- arenas -------------------------------------------------------------------------------------- */

static size_t
size_of(const chunk *piece)
{
    return sizeof *piece + piece->size;
}

static void
charge(kw_arena *arena, size_t bytes)
{
    arena->held += bytes;
    arena->root->held_all += bytes;
    kw_account_charge(arena->account, arena->purpose, (int64_t)bytes);
}

static void
uncharge(kw_arena *arena, size_t bytes)
{
    arena->held -= bytes;
    arena->root->held_all -= bytes;
    kw_account_charge(arena->account, arena->purpose, -(int64_t)bytes);
}

static kw_shortage
shortage_of(const kw_arena *root, size_t more)
{
    return root->account ? kw_budget_shortage(root->account, root->held_all, more) : KW_SHORTAGE_NONE;
}

/* After the share was exceeded, memory can become short only if the arena was rewound in between. */
static void
note_shortage(kw_arena *root, kw_shortage shortage)
{
    if (root->shortage != KW_SHORTAGE_OF_MEMORY)
        root->shortage = shortage;
}

/* Leaves the guard of the arena if there is no memory for that many more bytes. */
static void
check_share(kw_arena *root, size_t more)
{
    kw_shortage shortage = shortage_of(root, more);
    if (shortage == KW_SHORTAGE_NONE)
        return;
    kw_guard_leave(root, shortage);
    note_shortage(root, shortage);
}

/* root NULL: it is a root itself. */
static kw_arena *
arena_new(kw_arena *root, kw_account *account, kw_purpose purpose)
{
    size_t head = (sizeof(kw_arena) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    chunk *first = chunk_new(FIRST_SIZE);
    first->next = NULL;
    kw_arena *arena = (kw_arena *)(void *)first->payload;
    *arena = (kw_arena){.chunks = first,
                        .at = first->payload + head,
                        .end = first->payload + FIRST_SIZE,
                        .root = root ? root : arena,
                        .account = account,
                        .purpose = purpose};
    charge(arena, size_of(first));
    return arena;
}

kw_arena *
kw_arena_new_for(kw_account *account, kw_purpose purpose)
{
    return arena_new(NULL, account, purpose);
}

static void
link_below(kw_arena *arena)
{
    kw_arena **place = &arena->root->below;
    arena->place_below = place;
    arena->next_below = *place;
    if (*place)
        (*place)->place_below = &arena->next_below;
    *place = arena;
}

/* Of a root: does nothing. */
static void
unlink_below(kw_arena *arena)
{
    if (!arena->place_below)
        return;
    *arena->place_below = arena->next_below;
    if (arena->next_below)
        arena->next_below->place_below = arena->place_below;
}

kw_arena *
kw_arena_new_below(kw_arena *above, kw_purpose purpose)
{
    kw_arena *arena = arena_new(above->root, above->account, purpose);
    link_below(arena);
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
    while (arena->below)
        kw_arena_free(arena->below);
    unlink_below(arena);
    uncharge(arena, arena->held);
    g_assert(arena->root != arena || arena->held_all == 0);
    kw_guard_forget(arena);
    free_newer_chunks(arena);
    chunk_free(arena->chunks);
}

void
kw_arena_reset(kw_arena *arena)
{
    size_t head = (sizeof(kw_arena) + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    free_newer_chunks(arena);
    uncharge(arena, arena->held - size_of(arena->chunks));
    arena->at = arena->chunks->payload + head;
    arena->end = arena->chunks->payload + arena->chunks->size;
    arena->used = 0;
    arena->shortage = KW_SHORTAGE_NONE;
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
free_chunk_at(kw_arena *arena, chunk **place)
{
    chunk *old = *place;
    *place = old->next;
    uncharge(arena, size_of(old));
    chunk_free(old);
}

/* Chunks newer than the marked one precede it in the list. Large chunks that were added while it was the
 * newest follow it directly. */
void
kw_arena_rewind(kw_arena *arena, kw_arena_mark mark)
{
    while (arena->chunks != mark.chunk)
        free_chunk_at(arena, &arena->chunks);
    while (arena->chunks->next != mark.next)
        free_chunk_at(arena, &arena->chunks->next);
    arena->at = mark.at;
    arena->end = mark.end;
    arena->used = mark.used;
}

/* Allocates a new chunk for a block that does not fit into the current one. A large block gets a chunk of its
 * own, inserted after the current chunk, so that the free space of the current chunk stays in use. But the
 * first chunk of an arena must remain the last in the list, so nothing is inserted after it: the new chunk
 * becomes the current one. */
static void *
alloc_slow(kw_arena *arena, size_t size)
{
    g_assert(size < SIZE_MAX / 2);
    bool own_chunk = KW_ARENA_MALLOC || size > CHUNK_SIZE / 4;
    size_t payload = own_chunk ? size : CHUNK_SIZE;
    check_share(arena->root, sizeof(chunk) + payload);
    chunk *fresh = chunk_new(payload);
    charge(arena, size_of(fresh));
    if (own_chunk && arena->chunks->next) {
        fresh->next = arena->chunks->next;
        arena->chunks->next = fresh;
        return fresh->payload;
    }
    fresh->next = arena->chunks;
    arena->chunks = fresh;
    arena->at = fresh->payload + (own_chunk ? fresh->size : size);
    arena->end = fresh->payload + fresh->size;
    return fresh->payload;
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
    void *fresh = arena->at;
    arena->at += rounded;
    return fresh;
}

void *
kw_arena_alloc0(kw_arena *arena, size_t size)
{
    void *fresh = kw_arena_alloc(arena, size);
    memset(fresh, 0, size);
    return fresh;
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
    g_assert(!other->below);
    unlink_below(other);
    uncharge(other, held);
    note_shortage(arena->root, shortage_of(arena->root, held));
    charge(arena, held);
    arena->used += other->used;
    while (oldest->next)
        oldest = oldest->next;
    chunk *newest = other->chunks; /* read now, because the oldest chunk holds `other` */
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

kw_arena *
kw_arena_root(kw_arena *arena)
{
    return arena->root;
}

size_t
kw_arena_held(const kw_arena *arena)
{
    return arena->root == arena ? arena->held_all : arena->held;
}

kw_shortage
kw_arena_shortage(const kw_arena *arena)
{
    return arena->root->shortage;
}

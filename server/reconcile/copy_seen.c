/* See copy_seen.h. A hash table with linear probing. Hashes of keys have 128 bits and a random seed, so that
 * no two records share a place. */
#include "reconcile/copy_seen.h"

#include "store/control.h"

#include <xxhash.h>

typedef struct place {
    XXH128_hash_t key; /* low64 is 0: free */
    uint64_t cells;    /* 0: the row of the second placement was equal, or was visited */
} place;

#define PLACES_FIRST ((size_t)1024)
#define PLACES_MAX (KW_COPY_SEEN_BYTES_MAX / sizeof(place))

struct kw_copy_seen {
    gatomicrefcount references;
    uint64_t seed;
    place *places;
    size_t size;  /* a power of two */
    size_t count; /* places in use */
    size_t left;
    kw_copy_parts *parts; /* NULL: no scan has begun */
    kw_copy_seen_use use; /* of the scan */
    bool whole;           /* scans have one part */
};

static place *
new_places(size_t size)
{
    kw_budget_charge(KW_MEMORY_ROWS, (int64_t)(size * sizeof(place)));
    return g_new0(place, size);
}

static void
free_places(place *places, size_t size)
{
    g_free(places);
    kw_budget_charge(KW_MEMORY_ROWS, -(int64_t)(size * sizeof(place)));
}

kw_copy_seen *
kw_copy_seen_new(void)
{
    kw_copy_seen *self = g_new0(kw_copy_seen, 1);
    g_atomic_ref_count_init(&self->references);
    self->seed = (uint64_t)g_random_int() << 32 | g_random_int();
    self->size = PLACES_FIRST;
    self->places = new_places(self->size);
    return self;
}

kw_copy_seen *
kw_copy_seen_ref(kw_copy_seen *self)
{
    g_atomic_ref_count_inc(&self->references);
    return self;
}

void
kw_copy_seen_unref(kw_copy_seen *self)
{
    if (!g_atomic_ref_count_dec(&self->references))
        return;
    kw_copy_parts_free(self->parts);
    free_places(self->places, self->size);
    g_free(self);
}

kw_copy_parts *
kw_copy_seen_parts(kw_copy_seen *self, kw_copy_seen_use use, kw_bytes after)
{
    if (self->parts && self->use == use && !kw_copy_parts_have_ended(self->parts))
        return self->parts;
    kw_copy_parts_free(self->parts);
    self->parts = kw_copy_parts_new(after);
    self->use = use;
    if (self->whole)
        kw_copy_parts_keep_whole(self->parts);
    return self->parts;
}

void
kw_copy_seen_keep_whole(kw_copy_seen *self)
{
    self->whole = true;
    if (self->parts && !kw_copy_parts_are_divided(self->parts))
        kw_copy_parts_keep_whole(self->parts);
}

/* --- hashes ------------------------------------------------------------------------------------------ */

static uint64_t
add_bytes(uint64_t state, kw_bytes bytes)
{
    uint64_t seed = state ^ (bytes.size * UINT64_C(0x9E3779B97F4A7C15));
    return XXH3_64bits_withSeed(bytes.size ? bytes.data : (const uint8_t *)"", bytes.size, seed);
}

static XXH128_hash_t
hash_key(const kw_copy_seen *self, kw_bytes key)
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(key.data, key.size, self->seed);
    if (hash.low64 == 0)
        hash.low64 = 1;
    return hash;
}

/* Of the cells that decide whether a copy both ways writes anything: data and gone cells, not kw:w. */
static uint64_t
hash_cells(const kw_copy_seen *self, const kw_ordering *ordering, const kw_row *row)
{
    uint64_t state = ~self->seed;
    kw_marker ignored;
    for (uint32_t i = 0; i < row->cells_count; i++) {
        const kw_cell *cell = &row->cells[i];
        if (kw_is_control(ordering, cell) && !kw_control_marker(ordering, cell, &ignored))
            continue;
        state = add_bytes(add_bytes(add_bytes(state, cell->family), cell->qualifier), cell->value);
        state = add_bytes(state, kw_bytes_of(&cell->timestamp, sizeof cell->timestamp));
    }
    return state ? state : 1;
}

/* --- places ------------------------------------------------------------------------------------------ */

/* The place that has the key, or the free one where it belongs. */
static place *
find(const kw_copy_seen *self, XXH128_hash_t key)
{
    size_t at = key.low64 & (self->size - 1);
    while (self->places[at].key.low64 && !XXH128_isEqual(self->places[at].key, key))
        at = (at + 1) & (self->size - 1);
    return &self->places[at];
}

static void
grow(kw_copy_seen *self)
{
    place *before = self->places;
    size_t size = self->size;
    self->size *= 2;
    self->places = new_places(self->size);
    for (size_t i = 0; i < size; i++)
        if (before[i].key.low64)
            *find(self, before[i].key) = before[i];
    free_places(before, size);
}

/* False if there is no memory for more places. Rows that cannot be remembered are visited. */
static bool
can_grow(const kw_copy_seen *self)
{
    size_t size = 2 * self->size;
    return size <= PLACES_MAX && kw_budget_left(NULL) >= (int64_t)(size * sizeof(place));
}

/* At most three quarters of the places are in use. */
static bool
has_space(kw_copy_seen *self)
{
    if (self->count < self->size / 4 * 3)
        return true;
    if (!can_grow(self))
        return false;
    grow(self);
    return true;
}

/* False: there is no space. */
static bool
remember(kw_copy_seen *self, XXH128_hash_t key, uint64_t cells)
{
    bool space = has_space(self);
    place *at = find(self, key);
    if (!at->key.low64 && !space)
        return false;
    self->count += !at->key.low64;
    self->left += !at->cells;
    *at = (place){.key = key, .cells = cells};
    return true;
}

/* The record in this place is not among those that are left. */
static void
forget(kw_copy_seen *self, place *at)
{
    self->left -= at->cells > 0;
    at->cells = 0;
}

/* Forgets the record if its rows are equal. */
static bool
is_equal(kw_copy_seen *self, XXH128_hash_t key, uint64_t cells)
{
    place *at = find(self, key);
    if (!at->cells || at->cells != cells)
        return false;
    forget(self, at);
    return true;
}

void
kw_copy_seen_note_visited(kw_copy_seen *self, kw_bytes key)
{
    forget(self, find(self, hash_key(self, key)));
}

bool
kw_copy_seen_must_visit(kw_copy_seen *self, kw_copy_seen_use use, const kw_ordering *ordering, kw_bytes key,
                        const kw_row *row)
{
    XXH128_hash_t hash = hash_key(self, key);
    uint64_t cells = row ? hash_cells(self, ordering, row) : 0;
    switch (use) {
    case KW_COPY_SEEN_ADD:
        return !row || !remember(self, hash, cells);
    case KW_COPY_SEEN_COMPARE:
        return !is_equal(self, hash, cells);
    case KW_COPY_SEEN_LEFT:
        return find(self, hash)->cells > 0;
    }
    g_assert_not_reached();
}

size_t
kw_copy_seen_left(const kw_copy_seen *self)
{
    return self->left;
}

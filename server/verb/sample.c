/* See sample.h.
 *
 *   the regions -> for each region: its first rows -> its last rows -> some rows after each of 64 random keys
 *
 * Some reads run at the same time. All regions are read once before a region is read again, so that a check
 * that runs out of time has seen as many regions as possible.
 */
#include "verb/sample.h"

#include "base/units.h"

#include <string.h>

#define EDGE_ROWS 256   /* first and last rows of a region; of a table that has not twice as many, all */
#define SEEKS 64        /* random keys of a region */
#define SEEK_ROWS 4     /* rows after each of them */
#define READS_AT_ONCE 4 /* of one check */
#define FETCH_BYTES ((size_t)512 * 1024)
#define ROW_BYTES_MOST ((size_t)4 * 1024 * 1024)
#define RANDOM_BYTES 8
#define KEYS_KEPT 32 /* of a region, as beginnings of random keys */
#define POSITIONS 64 /* of a row key whose bytes are noted */
#define EVENLY 4     /* every n-th random key is chosen evenly between the first and the last row */

typedef struct region {
    kw_bytes start, stop; /* as the store reports them */
    kw_bytes low, high;   /* the least and the greatest row key that were read */
    kw_bytes *keys;       /* some of those that were read */
    size_t keys_count;
    bool seen;
    bool whole; /* every row was read */
} region;

/* The bytes that row keys have at a position. */
typedef struct byte_range {
    uint8_t least, most;
    bool known;
} byte_range;

typedef struct sampling {
    kw_call *call;
    const kw_sample_request *request;
    kw_sample_verdict *verdict;
    kw_arena *scratch;
    uint64_t until_ns;
    region *regions;
    size_t regions_count;
    byte_range positions[POSITIONS];
    size_t next;   /* number of the next read: pass * regions + region */
    size_t reads;  /* in progress */
    bool no_table; /* the store table is missing */
    kw_error failure;
    kw_sample_done done;
    void *user;
} sampling;

typedef struct reading {
    sampling *whole;
    region *of;
    bool first, reversed, seek;
    kw_range_scan *scan;
} reading;

/* The number of times that each region is read. */
#define PASSES (2 + SEEKS)

/* --- the end --------------------------------------------------------------------------------------- */

static void
finish(sampling *self)
{
    kw_sample_result result = {.regions_all = self->regions_count, .all_rows = true};
    for (size_t i = 0; i < self->regions_count; i++) {
        result.regions += self->regions[i].seen;
        result.all_rows = result.all_rows && self->regions[i].whole;
    }
    kw_error failure = self->failure;
    kw_sample_verdict_end(self->verdict, &result);
    kw_sample_verdict_clear(self->verdict);
    kw_arena_free(self->scratch);
    if (failure.code == KW_OK && !self->no_table && result.regions == 0 && self->regions_count > 0)
        kw_error_set(&failure, KW_TIMEOUT, "no region of the store table could be read in time");
    self->done(self->user, &result, failure.code == KW_OK ? NULL : &failure);
}

/* --- random keys ----------------------------------------------------------------------------------- */

static size_t
common_prefix(kw_bytes a, kw_bytes b)
{
    size_t size = MIN(a.size, b.size), same = 0;
    while (same < size && a.data[same] == b.data[same])
        same++;
    return same;
}

static uint64_t
number_after(kw_bytes key, size_t from, uint8_t fill)
{
    uint64_t number = 0;
    for (size_t i = 0; i < RANDOM_BYTES; i++)
        number = number << 8 | (from + i < key.size ? key.data[from + i] : fill);
    return number;
}

/* Evenly between the first and the last row key. */
static kw_bytes
key_between(const region *of, kw_arena *arena)
{
    size_t same = common_prefix(of->low, of->high);
    uint64_t low = number_after(of->low, same, 0), high = number_after(of->high, same, 0xff);
    uint64_t at = low + (high - low == UINT64_MAX ? kw_random_u64() : kw_random_u64() % (high - low + 1));
    uint8_t *bytes = kw_arena_alloc(arena, same + RANDOM_BYTES);
    memcpy(bytes, of->low.data, same);
    for (size_t i = 0; i < RANDOM_BYTES; i++)
        bytes[same + i] = (uint8_t)(at >> (8 * (RANDOM_BYTES - 1 - i)));
    return kw_bytes_of(bytes, same + RANDOM_BYTES);
}

static uint8_t
random_byte(const sampling *self, size_t position)
{
    const byte_range *at = &self->positions[MIN(position, POSITIONS - 1)];
    uint64_t chance = kw_random_u64();
    bool known = position < POSITIONS && at->known;
    return (uint8_t)(known ? at->least + chance % (at->most - at->least + 1U) : chance);
}

/* Keys that are chosen evenly often reach the same rows, because only a few bytes are possible at a position,
 * such as digits. So most random keys begin like a row that was read, and continue with bytes that rows have
 * at these positions. */
static kw_bytes
key_like(const sampling *self, const region *of)
{
    kw_bytes like = of->keys[kw_random_u64() % of->keys_count];
    size_t same = common_prefix(of->low, of->high);
    if (like.size <= same)
        return key_between(of, self->call->arena);
    size_t kept = same + kw_random_u64() % (like.size - same), size = kept + RANDOM_BYTES;
    uint8_t *bytes = kw_arena_alloc(self->call->arena, size);
    memcpy(bytes, like.data, kept);
    for (size_t i = kept; i < size; i++)
        bytes[i] = random_byte(self, i);
    return kw_bytes_of(bytes, size);
}

static kw_bytes
random_key(const sampling *self, const region *of, size_t pass)
{
    return pass % EVENLY == 0 ? key_between(of, self->call->arena) : key_like(self, of);
}

/* --- one read -------------------------------------------------------------------------------------- */

static void next_reads(sampling *self);

static void
note_bytes(sampling *self, kw_bytes key)
{
    for (size_t i = 0; i < MIN(key.size, POSITIONS); i++) {
        byte_range *at = &self->positions[i];
        uint8_t byte = key.data[i];
        *at = at->known ? (byte_range){MIN(at->least, byte), MAX(at->most, byte), true}
                        : (byte_range){byte, byte, true};
    }
}

static void
note_key(reading *self, kw_bytes key)
{
    region *of = self->of;
    kw_arena *arena = self->whole->call->arena;
    kw_bytes kept = kw_arena_copy(arena, key);
    if (!of->keys) {
        of->keys = KW_ARENA_ARRAY(arena, kw_bytes, KEYS_KEPT);
        of->low = of->high = kept;
    }
    if (kw_bytes_compare(kept, of->high) > 0)
        of->high = kept;
    bool full = of->keys_count == KEYS_KEPT;
    of->keys[full ? kw_random_u64() % KEYS_KEPT : of->keys_count++] = kept;
    note_bytes(self->whole, key);
}

static void
end_read(reading *self)
{
    sampling *whole = self->whole;
    kw_range_scan_close(self->scan);
    g_free(self);
    whole->reads--;
    next_reads(whole);
}

static void
note_error(reading *self, const kw_error *error)
{
    sampling *whole = self->whole;
    if (error->code == KW_NOT_FOUND)
        whole->no_table = true;
    else if (error->code == KW_LIMIT)
        self->of->seen = true; /* the row is too large to be checked */
    else if (kw_clock_mono_ns() < whole->until_ns && whole->failure.code == KW_OK)
        whole->failure = *error;
}

static void fetch(reading *self, uint32_t rows);

/* True if these are the last rows of the region, and a row that was read first is among them. */
static bool
meets_first_rows(const reading *self, const kw_rows *rows)
{
    return self->reversed && rows->count > 0 && self->of->keys &&
           kw_bytes_compare(rows->rows[rows->count - 1].key, self->of->high) <= 0;
}

static void
fetched(void *user, kw_rows *rows, const kw_error *error)
{
    reading *self = user;
    if (error) {
        note_error(self, error);
        end_read(self);
        return;
    }
    bool empty = rows->count == 0, end = rows->end, meets = meets_first_rows(self, rows);
    for (size_t i = 0; i < rows->count; i++) {
        kw_sample_verdict_add(self->whole->verdict, &rows->rows[i]);
        note_key(self, rows->rows[i].key);
    }
    kw_rows_free(rows);
    if (empty && !end) {
        fetch(self, 1);
        return;
    }
    self->of->seen = true;
    self->of->whole = self->of->whole || (self->first && end) || meets;
    end_read(self);
}

static void
fetch(reading *self, uint32_t rows)
{
    kw_deadline deadline = self->whole->until_ns;
    kw_range_scan_fetch(self->scan, rows, FETCH_BYTES, false, MIN(deadline, self->whole->call->deadline),
                        fetched, self);
}

static void
start_read(sampling *self, size_t number)
{
    reading *read = g_new0(reading, 1);
    size_t pass = number / self->regions_count;
    region *of = &self->regions[number % self->regions_count];
    *read = (reading){.whole = self, .of = of, .first = pass == 0, .reversed = pass == 1, .seek = pass > 1};
    kw_range_scan_spec spec = {.table = self->request->placement->store_table,
                               .start = of->start,
                               .stop = of->stop,
                               .reversed = read->reversed,
                               .max_versions = 1,
                               .max_row_bytes = ROW_BYTES_MOST};
    if (read->seek)
        spec.start = random_key(self, of, pass);
    read->scan = kw_store_handle_open_range_scan(self->call->handle, &spec);
    self->reads++;
    fetch(read, read->seek ? SEEK_ROWS : EDGE_ROWS);
}

/* --- all reads ------------------------------------------------------------------------------------- */

static bool
is_needed(const sampling *self, size_t number)
{
    const region *of = &self->regions[number % self->regions_count];
    return number < self->regions_count || (of->keys && !of->whole);
}

static bool
is_over(const sampling *self)
{
    return self->no_table || self->failure.code != KW_OK || self->next == PASSES * self->regions_count ||
           kw_clock_mono_ns() >= self->until_ns;
}

/* The last rows are read after the first ones, which can be all rows, and the random keys are between both.
 * So the first three passes do not overlap. */
static bool
may_start(const sampling *self)
{
    bool begins_pass = self->next % self->regions_count == 0 && self->next / self->regions_count <= 2;
    return self->reads == 0 || (self->reads < READS_AT_ONCE && !begins_pass);
}

static void
next_reads(sampling *self)
{
    while (!is_over(self) && !is_needed(self, self->next))
        self->next++;
    if (is_over(self)) {
        if (self->reads == 0)
            finish(self);
        return;
    }
    while (!is_over(self) && may_start(self)) {
        if (is_needed(self, self->next))
            start_read(self, self->next);
        self->next++;
    }
}

static void
on_regions(void *user, kw_regions *regions, const kw_error *error)
{
    sampling *self = user;
    size_t count = error || regions->count == 0 ? 1 : regions->count;
    self->regions = KW_ARENA_ARRAY(self->call->arena, region, count);
    self->regions_count = count;
    for (size_t i = 0; !error && i < regions->count; i++) {
        self->regions[i].start = kw_arena_copy(self->call->arena, regions->regions[i].start);
        self->regions[i].stop = kw_arena_copy(self->call->arena, regions->regions[i].stop);
    }
    kw_regions_free(regions);
    next_reads(self);
}

void
kw_verb_sample(kw_call *call, const kw_sample_request *request, kw_sample_done done, void *user)
{
    sampling *self = KW_ARENA_NEW(call->arena, sampling);
    *self = (sampling){.call = call,
                       .request = request,
                       .scratch = kw_arena_new(),
                       .until_ns = kw_clock_mono_ns() + (uint64_t)request->time_ms * KW_NS_PER_MS,
                       .failure = KW_ERROR_NONE,
                       .done = done,
                       .user = user};
    self->verdict = kw_sample_verdict_new(request->placement, call->arena, self->scratch);
    kw_store_handle_regions(call->handle, request->placement->store_table,
                            MIN(call->deadline, self->until_ns), on_regions, self);
}

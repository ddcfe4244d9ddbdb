/* Finds the bucket and region of each key of the sample, and the order that the rule keeps. */
#include "advise/advise_internal.h"
#include "rule/digest.h"
#include "rule/splits.h"

#include <stdlib.h>

/* --- buckets --------------------------------------------------------------------------------------- */

/* The first component that is not a literal, if it can be enumerated: it scatters the keys. */
static const kw_component *
find_bucket(const kw_layout *layout, size_t *ret_offset)
{
    *ret_offset = 0;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->buckets)
            return component;
        if (component->inputs_count > 0 || component->width == 0)
            return NULL;
        *ret_offset += component->width;
    }
    return NULL;
}

/* The piece of a key that begins at the offset. */
static kw_bytes
cut_piece(const kw_component *component, kw_bytes key, size_t offset)
{
    kw_bytes rest = kw_bytes_skip(key, MIN(offset, key.size));
    size_t size = component->width           ? component->width
                  : component->kind->measure ? component->kind->measure(component, rest)
                                             : rest.size;
    return kw_bytes_of(rest.data, MIN(size, rest.size));
}

static guint
hash_piece(gconstpointer key)
{
    return (guint)kw_xxh64(*(const kw_bytes *)key);
}

static gboolean
equal_pieces(gconstpointer a, gconstpointer b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b) == 0;
}

/* Sets place_of to the number of each key's bucket. A piece that enumerate did not list (there should be
 * none) counts as the first bucket. */
static void
place_in_buckets(const kw_component *component, size_t offset, const kw_keyed *keyed,
                 const kw_bucket *buckets, size_t count, uint32_t *place_of)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(hash_piece, equal_pieces);
    for (size_t index = 0; index < count; index++)
        g_hash_table_insert(numbers, (gpointer)&buckets[index].bytes, GSIZE_TO_POINTER(index));
    for (size_t index = 0; index < keyed->count; index++) {
        kw_bytes piece = cut_piece(component, keyed->keys[index], offset);
        place_of[index] = (uint32_t)GPOINTER_TO_SIZE(g_hash_table_lookup(numbers, &piece));
    }
}

static void
advise_buckets(const kw_windows *windows, const kw_keyed *keyed, kw_arena *arena, kw_advised_path *path)
{
    static const kw_value_span nothing = {.field = -1};
    const kw_bucket *buckets;
    size_t offset;
    const kw_component *component = find_bucket(keyed->path->layout, &offset);
    if (!component)
        return;
    size_t count = component->kind->enumerate(component, &nothing, arena, &buckets);
    if (count < 2)
        return;
    uint32_t *place_of = KW_ARENA_ARRAY(arena, uint32_t, keyed->count);
    place_in_buckets(component, offset, keyed, buckets, count, place_of);
    path->bucket = component->text;
    kw_spread_make(windows, keyed, place_of, count, false, arena, &path->buckets);
}

/* --- regions --------------------------------------------------------------------------------------- */

typedef struct cuts {
    kw_bytes *keys;
    size_t count;
    const char *by;
    bool later_half; /* measured with the later half of the sample */
} cuts;

static int
compare_keys(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

/* Uses the policy's split keys, or else its algorithm. False if it has neither, more than the maximum number
 * of regions, or an invalid key. A file of split keys is not opened. */
static bool
cut_by_policy(const kw_path *path, kw_arena *arena, cuts *ret_cuts)
{
    const kw_model_splits *splits = &path->model->splits;
    kw_error ignored;
    if (splits->keys_count > 0 && splits->keys_count < KW_ADVISE_REGIONS_MAX) {
        ret_cuts->keys = KW_ARENA_ARRAY(arena, kw_bytes, splits->keys_count);
        ret_cuts->count = splits->keys_count;
        ret_cuts->by = "by the policy's split keys";
        bool good = true;
        for (size_t index = 0; good && index < splits->keys_count; index++)
            good = kw_bytes_from_binary_text(splits->keys[index], arena, &ret_cuts->keys[index], &ignored);
        qsort(ret_cuts->keys, ret_cuts->count, sizeof *ret_cuts->keys, compare_keys);
        return good;
    }
    if (!*splits->algorithm || g_str_equal(splits->algorithm, "rule") || splits->regions < 2 ||
        splits->regions > KW_ADVISE_REGIONS_MAX)
        return false;
    ret_cuts->by = splits->algorithm;
    return kw_splits_by_algorithm(splits->algorithm, (uint32_t)splits->regions, arena, &ret_cuts->keys,
                                  &ret_cuts->count, &ignored);
}

static uint32_t
regions_of_policy(const kw_path *path)
{
    int64_t regions = path->model->splits.regions;
    return regions >= 2 && regions <= KW_ADVISE_REGIONS_MAX ? (uint32_t)regions : KW_ADVISE_REGIONS_DEFAULT;
}

/* Splits at equal shares of the keys of the earlier half of the sample, as a table that contains them would
 * be split. The later half then shows whether following writes spread over these regions. */
static void
cut_by_sample(const kw_windows *windows, const kw_keyed *keyed, uint32_t regions, kw_arena *arena,
              cuts *ret_cuts)
{
    kw_bytes *older = KW_ARENA_ARRAY(arena, kw_bytes, keyed->count);
    size_t count = 0;
    for (size_t index = 0; index < keyed->count; index++) {
        if (!windows->later_half[keyed->record_of[index]])
            older[count++] = keyed->keys[index];
    }
    qsort(older, count, sizeof *older, compare_keys);
    *ret_cuts = (cuts){.keys = KW_ARENA_ARRAY(arena, kw_bytes, regions),
                       .by = "by the older half of the sample",
                       .later_half = true};
    for (uint32_t part = 1; part < regions && count > 0; part++) {
        kw_bytes cut = older[count * part / regions];
        kw_bytes before = ret_cuts->count ? ret_cuts->keys[ret_cuts->count - 1] : older[0];
        if (kw_bytes_compare(before, cut) < 0)
            ret_cuts->keys[ret_cuts->count++] = cut;
    }
}

static cuts
cut(const kw_windows *windows, const kw_keyed *keyed, uint32_t regions, kw_arena *arena)
{
    cuts cut_keys = {.by = "one region"};
    kw_error ignored;
    if (regions == 1 || (regions == 0 && cut_by_policy(keyed->path, arena, &cut_keys)))
        return cut_keys;
    if (regions == 0)
        regions = regions_of_policy(keyed->path);
    cut_keys.by = "by the rule";
    if (!kw_layout_splits(keyed->path->layout, regions, arena, &cut_keys.keys, &cut_keys.count, &ignored))
        cut_by_sample(windows, keyed, regions, arena, &cut_keys);
    return cut_keys;
}

static uint32_t
region_of(const cuts *cut_keys, kw_bytes key)
{
    size_t low = 0, high = cut_keys->count; /* low ends as the number of split keys up to the key */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (kw_bytes_compare(cut_keys->keys[middle], key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static const uint32_t *
make_heat(const kw_windows *windows, const kw_keyed *keyed, const uint32_t *place_of, size_t places,
          kw_arena *arena)
{
    uint32_t *heat = KW_ARENA_ARRAY(arena, uint32_t, windows->columns_count * places);
    for (size_t index = 0; index < keyed->count; index++) {
        uint32_t window = windows->of_record[keyed->record_of[index]];
        heat[windows->column_of[window] * places + place_of[index]]++;
    }
    return heat;
}

void
kw_advise_places(const kw_windows *windows, const kw_keyed *keyed, uint32_t regions, kw_arena *arena,
                 kw_advised_path *path)
{
    advise_buckets(windows, keyed, arena, path);
    cuts cut_keys = cut(windows, keyed, regions, arena);
    size_t places = cut_keys.count + 1;
    uint32_t *place_of = KW_ARENA_ARRAY(arena, uint32_t, keyed->count);
    kw_bytes *starts = KW_ARENA_ARRAY(arena, kw_bytes, places);
    for (size_t index = 0; index < cut_keys.count; index++)
        starts[index + 1] = cut_keys.keys[index];
    for (size_t index = 0; index < keyed->count; index++)
        place_of[index] = region_of(&cut_keys, keyed->keys[index]);
    kw_spread_make(windows, keyed, place_of, places, cut_keys.later_half, arena, &path->regions);
    path->region_starts = starts;
    path->cut = cut_keys.by;
    path->heat = make_heat(windows, keyed, place_of, places, arena);
}

/* --- order ----------------------------------------------------------------------------------------- */

void
kw_advise_order(const kw_layout *layout, kw_advised_path *path)
{
    path->order_field = -1;
    path->order_ranges = 1;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->buckets) {
            if (__builtin_mul_overflow(path->order_ranges, component->buckets, &path->order_ranges))
                path->order_ranges = UINT64_MAX;
        } else if (component->field >= 0 && component->direction != 0) {
            path->order_field = component->field;
            path->order_descending = component->direction < 0;
            return;
        } else if (component->inputs_count > 0) {
            path->lost = component->inputs; /* no order is kept, and merging cannot restore one */
            path->lost_count = component->inputs_count;
            return;
        }
    }
}

/* Split points of a path's store table: from the rule itself, or from sample records.
 *
 * The first components of a rule are treated, as long as their pieces are known (buckets, digests, literals),
 * as the digits of one mixed-radix number; regions are cut at equal distances of that number.
 */
#include "rule/compile.h"

#include <stdlib.h>

/* More regions than any table should start with. */
#define REGIONS_MAX 65536

/* This many pieces per region make the cuts even enough. */
#define PIECES_PER_REGION 256

static bool
check_regions(uint32_t regions, kw_error *ret_error)
{
    return (regions >= 2 && regions <= REGIONS_MAX) ||
           kw_error_set(ret_error, KW_INVALID, "a table can be split into 2 to %d regions, not %u",
                        REGIONS_MAX, regions);
}

/* How many components from the front form the number, and how many numbers there are. */
static size_t
choose_digits(const kw_layout *layout, uint32_t regions, kw_arena *arena, uint64_t *ret_total)
{
    uint64_t total = 1;
    size_t used = 0;
    while (used < layout->count && layout->components[used]->cuts) {
        const kw_component *component = layout->components[used];
        bool even = total >= regions && total % regions == 0;
        if (even || total >= (uint64_t)regions * PIECES_PER_REGION)
            break;
        if (__builtin_mul_overflow(total, component->cuts, &total))
            break; /* not reached: cuts are at most 2^32 and total is small */
        used++;
        /* Only the beginning of a long digest is counted, so later components do not matter. */
        if (component->kind->piece(component, 0, arena).size < component->width)
            break;
    }
    *ret_total = total;
    return used;
}

/* The key at which number `position` begins, without trailing zeros. */
static kw_bytes
key_at(const kw_layout *layout, size_t used, uint64_t position, kw_arena *arena)
{
    uint64_t digits[KW_RULE_COMPONENTS_MAX];
    for (size_t index = used; index > 0; index--) {
        digits[index - 1] = position % layout->components[index - 1]->cuts;
        position /= layout->components[index - 1]->cuts;
    }
    while (used > 0 && digits[used - 1] == 0)
        used--;
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    for (size_t index = 0; index < used; index++) {
        const kw_component *component = layout->components[index];
        kw_buffer_append(&key, component->kind->piece(component, digits[index], arena));
    }
    return kw_arena_copy(arena, kw_buffer_bytes(&key));
}

bool
kw_layout_splits(const kw_layout *layout, uint32_t regions, kw_arena *arena, kw_bytes **ret_keys,
                 size_t *ret_count, kw_error *ret_error)
{
    if (!check_regions(regions, ret_error))
        return false;
    uint64_t total;
    size_t used = choose_digits(layout, regions, arena, &total);
    if (total < 2)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s, path %s: its keys start with %s, whose values are not in the rule; "
                            "use split keys or a sample of records",
                            layout->table->name, layout->model->name,
                            layout->components[MIN(used, layout->count - 1)]->text);
    uint64_t parts = MIN(regions, total);
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, parts - 1);
    for (uint64_t part = 1; part < parts; part++)
        keys[part - 1] = key_at(layout, used, total / parts * part + total % parts * part / parts, arena);
    *ret_keys = keys;
    *ret_count = parts - 1;
    return true;
}

static int
compare_keys(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static bool
encode_sample(const kw_layout *layout, const kw_record *records, size_t count, kw_arena *arena,
              kw_bytes *keys, size_t *ret_count, kw_error *ret_error)
{
    g_auto(kw_buffer) key = KW_BUFFER_EMPTY;
    bool good = true;
    *ret_count = 0;
    for (size_t index = 0; good && index < count; index++) {
        if (!records[index].values)
            continue;
        key.size = 0;
        uint32_t choice = (uint32_t)(index % layout->choice.buckets);
        good = kw_layout_encode_chosen(layout, &records[index], choice, &key, ret_error) ||
               kw_error_prefix(ret_error, "sample record %zu", index + 1);
        keys[(*ret_count)++] = kw_arena_copy(arena, kw_buffer_bytes(&key));
    }
    return good;
}

bool
kw_layout_splits_of_sample(const kw_layout *layout, const kw_record *records, size_t count, uint32_t regions,
                           kw_arena *arena, kw_bytes **ret_keys, size_t *ret_count, kw_error *ret_error)
{
    if (!check_regions(regions, ret_error))
        return false;
    if (count == 0)
        return kw_error_set(ret_error, KW_INVALID, "table %s: a sample needs at least one record",
                            layout->table->name);
    kw_bytes *keys = KW_ARENA_ARRAY(arena, kw_bytes, count);
    if (!encode_sample(layout, records, count, arena, keys, &count, ret_error))
        return false;
    qsort(keys, count, sizeof *keys, compare_keys);
    kw_bytes *cuts = KW_ARENA_ARRAY(arena, kw_bytes, regions - 1);
    size_t cuts_count = 0;
    for (uint64_t part = 1; count > 0 && part < regions; part++) {
        kw_bytes cut = keys[count * part / regions];
        kw_bytes before = cuts_count ? cuts[cuts_count - 1]
                                     : keys[0]; /* no region before the first key, and no duplicates */
        if (kw_bytes_compare(before, cut) < 0)
            cuts[cuts_count++] = cut;
    }
    *ret_keys = cuts;
    *ret_count = cuts_count;
    return true;
}

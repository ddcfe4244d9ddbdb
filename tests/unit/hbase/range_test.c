/* The bounds of range scans, for random keys, ranges and positions: the rows that Thrift2 would return for
 * the computed bounds are those of a sort and a filter. */
#include "store/hbase/thrift2/range.h"

#include "support/seeded.h"

#include <glib.h>
#include <stdlib.h>

#define KEYS 60

typedef struct key_set {
    kw_arena *arena;
    kw_bytes keys[KEYS];
    size_t count;
} key_set;

static kw_bytes
random_key(GRand *random, kw_arena *arena, size_t least)
{
    static const uint8_t letters[] = {0x00, 0x01, 'a', 'b', 0xfe, 0xff};
    uint8_t key[14];
    size_t size = (size_t)g_rand_int_range(random, (gint32)least, sizeof key);
    if (g_rand_int_range(random, 0, 3))
        size = MIN(size, 3);
    size = MAX(size, least);
    for (size_t i = 0; i < size; i++)
        key[i] = letters[g_rand_int_range(random, 0, sizeof letters)];
    return kw_arena_copy(arena, kw_bytes_of(key, size));
}

static int
by_key(const void *a, const void *b)
{
    return kw_bytes_compare(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static void
make_keys(key_set *model, GRand *random)
{
    model->arena = kw_arena_new();
    for (size_t i = 0; i < KEYS; i++)
        model->keys[i] = random_key(random, model->arena, 1);
    qsort(model->keys, KEYS, sizeof model->keys[0], by_key);
    model->count = 0;
    for (size_t i = 0; i < KEYS; i++)
        if (i == 0 || !kw_bytes_equal(model->keys[i], model->keys[model->count - 1]))
            model->keys[model->count++] = model->keys[i];
}

/* Thrift2's TScan: start inclusive, stop exclusive, in the scan's direction. */
static bool
scan_has(const kw_hb_TScan *scan, kw_bytes key)
{
    int start = scan->has_startRow ? kw_bytes_compare(key, scan->startRow) : 0;
    int stop = scan->has_stopRow ? kw_bytes_compare(key, scan->stopRow) : 0;
    if (scan->has_reversed && scan->reversed)
        return (!scan->has_startRow || start <= 0) && (!scan->has_stopRow || stop > 0);
    return (!scan->has_startRow || start >= 0) && (!scan->has_stopRow || stop < 0);
}

static bool
is_in_range(const kw_range_scan_spec *spec, kw_bytes key)
{
    return kw_bytes_compare(key, spec->start) >= 0 &&
           (spec->stop.size == 0 || kw_bytes_compare(key, spec->stop) < 0);
}

/* Reads at most `max` rows after `last`. Returns their number; the keys are in scan order. */
static size_t
read_some(const key_set *model, const kw_range_scan_spec *spec, const kw_buffer *last, size_t max,
          kw_bytes *ret_keys)
{
    kw_hb_TScan scan;
    size_t found = 0;
    if (!kw_hbase_range_to_scan(model->arena, spec, last, &scan))
        return 0;
    g_assert_false(scan.has_startRow && scan.has_stopRow && kw_bytes_equal(scan.startRow, scan.stopRow));
    g_assert_true(!scan.has_startRow || scan.startRow.size <= KW_STORE_ROW_KEY_MAX);
    for (size_t i = 0; i < model->count && found < max; i++) {
        kw_bytes key = model->keys[spec->reversed ? model->count - 1 - i : i];
        if (!scan_has(&scan, key))
            continue;
        switch (kw_hbase_range_locate(spec, last, key)) {
        case KW_HBASE_BEFORE_RANGE:
            break;
        case KW_HBASE_IN_RANGE:
            ret_keys[found++] = key;
            break;
        case KW_HBASE_AFTER_RANGE:
            return found;
        }
    }
    return found;
}

static void
check_range(const key_set *model, GRand *random, const kw_range_scan_spec *spec)
{
    kw_buffer last = KW_BUFFER_EMPTY;
    bool started = false;
    size_t next = 0;
    kw_bytes got[KEYS];
    for (;;) {
        size_t count =
            read_some(model, spec, started ? &last : NULL, (size_t)g_rand_int_range(random, 1, 9), got);
        for (size_t i = 0; i < count; i++) {
            while (next < model->count &&
                   !is_in_range(spec, model->keys[spec->reversed ? model->count - 1 - next : next]))
                next++;
            g_assert_cmpuint(next, <, model->count);
            kw_bytes wanted = model->keys[spec->reversed ? model->count - 1 - next : next];
            g_assert_true(kw_bytes_equal(got[i], wanted));
            next++;
        }
        if (count == 0)
            break;
        started = true;
        last.size = 0;
        kw_buffer_append(&last, got[count - 1]);
    }
    for (; next < model->count; next++)
        g_assert_false(is_in_range(spec, model->keys[spec->reversed ? model->count - 1 - next : next]));
    kw_buffer_clear(&last);
}

static void
test_brute_force(void)
{
    guint32 seed = (guint32)g_test_rand_int();
    g_test_message("seed %u", seed);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    for (int round = 0; round < 300; round++) {
        key_set model;
        make_keys(&model, random);
        for (int i = 0; i < 40; i++) {
            bool own = g_rand_boolean(random); /* use existing keys as bounds */
            kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t"), .reversed = g_rand_boolean(random)};
            spec.start = own ? model.keys[g_rand_int_range(random, 0, (gint32)model.count)]
                             : random_key(random, model.arena, 0);
            spec.stop = g_rand_boolean(random) ? model.keys[g_rand_int_range(random, 0, (gint32)model.count)]
                                               : random_key(random, model.arena, 0);
            check_range(&model, random, &spec);
        }
        kw_arena_free(model.arena);
    }
}

/* A key of the maximum length: nothing can be appended to it. */
static void
test_longest_key(void)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    uint8_t *long_key = kw_arena_alloc0(arena, KW_STORE_ROW_KEY_MAX);
    memset(long_key, 'k', KW_STORE_ROW_KEY_MAX);
    kw_range_scan_spec spec = {.table = KW_BYTES_LITERAL("t"),
                               .start = kw_bytes_of(long_key, KW_STORE_ROW_KEY_MAX),
                               .reversed = true};
    kw_hb_TScan scan;
    g_assert_true(kw_hbase_range_to_scan(arena, &spec, NULL, &scan));
    g_assert_true(scan.has_stopRow);
    g_assert_cmpuint(scan.stopRow.size, <=, KW_STORE_ROW_KEY_MAX);
    g_assert_cmpint(kw_bytes_compare(scan.stopRow, spec.start), <, 0);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/hbase/range/brute-force", test_brute_force);
    g_test_add_func("/hbase/range/longest-key", test_longest_key);
    return g_test_run();
}

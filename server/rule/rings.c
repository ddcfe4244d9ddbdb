#include "rule/rings.h"

#include "rule/component.h"

#include <stdio.h>

struct kw_rings {
    GHashTable *by_nodes; /* text that names the nodes and the digest -> kw_ring_points */
};

uint64_t
kw_ring_place(const uint8_t *digest, kw_digest kind)
{
    return kind == KW_DIGEST_XXH64 ? kw_be64_load(digest) : kw_be32_load(digest);
}

/* --- points ---------------------------------------------------------------------------------------- */

/* Writes the number in decimal. Returns the number of digits. */
static size_t
print_number(uint32_t number, uint8_t *to)
{
    uint8_t digits[10];
    size_t count = 0, at = 0;
    do {
        digits[count++] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count)
        to[at++] = digits[--count];
    return at;
}

/* The later node first: sorting keeps the order of equal hashes, and the first point of them is kept. */
static void
hash_nodes(const kw_ring_nodes *nodes, kw_ring_point *points)
{
    size_t made = 0;
    for (size_t node = nodes->count; node-- > 0;) {
        uint8_t name[KW_DERIVED_PIECE_MAX + 16], digest[KW_DIGEST_MAX];
        size_t size = nodes->names[node].size;
        memcpy(name, nodes->names[node].data, size);
        for (uint32_t number = 0; number < nodes->replicas; number++) {
            size_t digits = print_number(number, name + size);
            kw_digest_compute(nodes->digest, kw_bytes_of(name, size + digits), digest);
            points[made++] = (kw_ring_point){kw_ring_place(digest, nodes->digest), (uint32_t)node};
        }
    }
}

/* Sorts by one byte of the hash, keeping the order of equal bytes. False if all bytes are equal. */
static bool
sort_by_byte(const kw_ring_point *from, size_t count, unsigned shift, kw_ring_point *to)
{
    size_t starts[257] = {0};
    for (size_t index = 0; index < count; index++)
        starts[(from[index].hash >> shift & 0xff) + 1]++;
    for (size_t byte = 0; byte < 256; byte++) {
        if (starts[byte + 1] == count)
            return false;
        starts[byte + 1] += starts[byte];
    }
    for (size_t index = 0; index < count; index++)
        to[starts[from[index].hash >> shift & 0xff]++] = from[index];
    return true;
}

/* Radix sort: comparing takes several times as long. `spare` has space for as many points. Returns the one of
 * the two arrays that has the sorted points. */
static kw_ring_point *
sort_points(kw_ring_point *points, kw_ring_point *spare, size_t count)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!sort_by_byte(points, count, shift, spare))
            continue;
        kw_ring_point *sorted = spare;
        spare = points;
        points = sorted;
    }
    return points;
}

static size_t
drop_duplicates(kw_ring_point *points, size_t count)
{
    size_t kept = 0;
    for (size_t index = 0; index < count; index++)
        if (kept == 0 || points[kept - 1].hash != points[index].hash)
            points[kept++] = points[index];
    return kept;
}

/* A point gets the hashes after the point before it. The first one also gets those after the last one. All
 * hashes of xxh64 are equally likely. */
static double
fullest_share(const kw_ring_nodes *nodes, const kw_ring_point *points, size_t count)
{
    const double whole = 0x1p64;
    double fullest = 0;
    if (nodes->digest != KW_DIGEST_XXH64)
        return 0;
    g_autofree double *shares = g_new0(double, nodes->count);
    for (size_t index = 0; index < count; index++) {
        uint64_t before = points[index ? index - 1 : count - 1].hash;
        double length = (double)points[index].hash - (double)before;
        shares[points[index].node] += length > 0 ? length : length + whole;
    }
    for (size_t node = 0; node < nodes->count; node++)
        fullest = MAX(fullest, shares[node]);
    return fullest / whole * (double)nodes->count;
}

static const kw_ring_points *
make_points(const kw_ring_nodes *nodes, kw_arena *arena)
{
    size_t count = nodes->count * nodes->replicas;
    g_assert(count > 0 && count <= KW_RING_POINTS_MAX);
    g_autofree kw_ring_point *points = g_new(kw_ring_point, count);
    g_autofree kw_ring_point *spare = g_new(kw_ring_point, count);
    hash_nodes(nodes, points);
    kw_ring_point *sorted = sort_points(points, spare, count);
    kw_ring_points *made = KW_ARENA_NEW(arena, kw_ring_points);
    made->count = drop_duplicates(sorted, count);
    made->fullest = fullest_share(nodes, sorted, made->count);
    kw_bytes copy = kw_arena_copy(arena, kw_bytes_of(sorted, made->count * sizeof *sorted));
    made->items = (const kw_ring_point *)(const void *)copy.data;
    return made;
}

/* --- sharing --------------------------------------------------------------------------------------- */

static GBytes *
key_of(const kw_ring_nodes *nodes)
{
    GByteArray *key = g_byte_array_new();
    uint32_t head[] = {(uint32_t)nodes->digest, nodes->replicas};
    g_byte_array_append(key, (const uint8_t *)head, sizeof head);
    for (size_t node = 0; node < nodes->count; node++) {
        uint32_t size = (uint32_t)nodes->names[node].size;
        g_byte_array_append(key, (const uint8_t *)&size, sizeof size);
        g_byte_array_append(key, nodes->names[node].data, size);
    }
    return g_byte_array_free_to_bytes(key);
}

kw_rings *
kw_rings_new(void)
{
    kw_rings *rings = g_new0(kw_rings, 1);
    rings->by_nodes = g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
    return rings;
}

void
kw_rings_free(kw_rings *rings)
{
    if (!rings)
        return;
    g_hash_table_destroy(rings->by_nodes);
    g_free(rings);
}

const kw_ring_points *
kw_rings_points(kw_rings *rings, const kw_ring_nodes *nodes, kw_arena *arena)
{
    if (!rings)
        return make_points(nodes, arena);
    g_autoptr(GBytes) key = key_of(nodes);
    const kw_ring_points *points = g_hash_table_lookup(rings->by_nodes, key);
    if (points)
        return points;
    points = make_points(nodes, arena);
    g_hash_table_insert(rings->by_nodes, g_bytes_ref(key), (gpointer)points);
    return points;
}

/* The points of consistent hash rings. Equal rings that are compiled together share them: a large ring has
 * 262,144 points, and a policy can have thousands of rings.
 *
 * A point is the hash of a node's name followed by the point's number in decimal. If two nodes share a point,
 * it belongs to the later one of the list.
 */
#pragma once

#include "base/arena.h"
#include "rule/digest.h"

/* Most points of one ring. */
#define KW_RING_POINTS_MAX 262144

typedef struct kw_ring_point {
    uint64_t hash;
    uint32_t node;
} kw_ring_point;

typedef struct kw_ring_points {
    const kw_ring_point *items; /* sorted by hash, without duplicates */
    size_t count;
    double fullest; /* xxh64: what the fullest node gets, as a multiple of the mean; otherwise 0 */
} kw_ring_points;

typedef struct kw_ring_nodes {
    kw_digest digest;
    const kw_bytes *names; /* at most KW_DERIVED_PIECE_MAX bytes each */
    size_t count;
    uint32_t replicas; /* count * replicas <= KW_RING_POINTS_MAX */
} kw_ring_nodes;

/* The points of all rings that were compiled in one arena. */
typedef struct kw_rings kw_rings;

kw_rings *kw_rings_new(void);
/* NULL is allowed. */
void kw_rings_free(kw_rings *rings);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_rings, kw_rings_free)

/* The points of these nodes, in the arena, which must be the same in all calls. rings NULL: not shared. */
const kw_ring_points *kw_rings_points(kw_rings *rings, const kw_ring_nodes *nodes, kw_arena *arena);

/* The position of a digest on the ring. */
uint64_t kw_ring_place(const uint8_t *digest, kw_digest kind);

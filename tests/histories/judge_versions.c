/* Judges reads of several versions of a record, whose puts write all fields. The versions are its newest puts
 * since the last removal, at most as many as the store keeps. Two puts in the same millisecond are one
 * version. */
#include "histories/judge_private.h"

/* Puts whose times are closer can have the same timestamp. */
#define SAME_TIME_NS (UINT64_C(2) * 1000 * 1000)
#define VERSIONS_MOST 16

typedef struct listing {
    const operation *read;
    const operation *puts[VERSIONS_MOST]; /* that wrote the versions, the newest first */
    int64_t timestamps[VERSIONS_MOST];
    int count;
} listing;

/* The latest moment at which the operation took effect. */
static uint64_t
end_of(const operation *of)
{
    return of->outcome == OPERATION_OK ? of->end_ns : OPERATION_NEVER;
}

static bool
is_before(const operation *one, const operation *other)
{
    return end_of(one) < other->begin_ns;
}

static bool
is_write_of(const operation *of, operation_kind kind, uint32_t record)
{
    return of->kind == kind && of->record == record && of->outcome != OPERATION_FAILED;
}

static const operation *
find_put(const operations *all, const operation *version)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (is_write_of(of, OPERATION_PUT, version->record) && of->values[0] == version->values[0] &&
            of->values[1] == version->values[1])
            return of;
    }
    return NULL;
}

/* False, and a complaint, if a version is not one of the record. */
static bool
collect(bench *at, const operation *read, listing *ret)
{
    *ret = (listing){.read = read};
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (of->kind != OPERATION_VERSION || of->scan != read->scan)
            continue;
        const operation *put = find_put(at->all, of);
        if (!put || put->begin_ns > read->end_ns || ret->count == VERSIONS_MOST) {
            judge_complain(at, of, "a version that no put has written");
            return false;
        }
        ret->timestamps[ret->count] = of->results[0];
        ret->puts[ret->count++] = put;
    }
    return true;
}

static void
judge_order(bench *at, const listing *found)
{
    for (int newer = 0; newer < found->count; newer++)
        for (int older = newer + 1; older < found->count; older++)
            if (found->puts[newer] == found->puts[older])
                judge_complain(at, found->read, "a version twice");
            else if (found->timestamps[newer] <= found->timestamps[older] ||
                     is_before(found->puts[newer], found->puts[older]))
                judge_complain(at, found->read, "versions in the wrong order");
}

/* True if a removal has certainly removed the put's version before the read. */
static bool
is_removed(const operations *all, const operation *put, const operation *read)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (is_write_of(of, OPERATION_REMOVE, put->record) && is_before(put, of) && is_before(of, read))
            return true;
    }
    return false;
}

static bool
is_listed(const listing *found, const operation *put)
{
    for (int i = 0; i < found->count; i++)
        if (found->puts[i] == put)
            return true;
    return false;
}

static bool
can_be_removed(const operations *all, const operation *put, const operation *read)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        if (is_write_of(of, OPERATION_REMOVE, put->record) && !is_before(of, put) &&
            of->begin_ns < read->end_ns)
            return true;
    }
    return false;
}

/* Another put can have replaced the version, with the same timestamp. */
static bool
can_be_replaced(const operations *all, const operation *put)
{
    for (guint i = 0; i < all->len; i++) {
        const operation *of = operation_at(all, i);
        bool after = of->begin_ns > put->end_ns + SAME_TIME_NS,
             before = end_of(of) != OPERATION_NEVER && end_of(of) + SAME_TIME_NS < put->begin_ns;
        if (of != put && is_write_of(of, OPERATION_PUT, put->record) && !after && !before)
            return true;
    }
    return false;
}

/* True if the store need not keep the version: as many newer ones as it keeps can exist. */
static bool
can_be_dropped(const listing *found, const operation *put, int kept)
{
    int newer = 0;
    for (int i = 0; i < found->count; i++)
        newer += !is_before(found->puts[i], put);
    return newer >= kept;
}

static void
judge_complete(bench *at, const listing *found, int kept)
{
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (!is_write_of(of, OPERATION_PUT, found->read->record) || !is_before(of, found->read) ||
            is_listed(found, of) || can_be_removed(at->all, of, found->read) ||
            can_be_replaced(at->all, of) || can_be_dropped(found, of, kept))
            continue;
        judge_complain(at, of, "a version is missing");
        judge_complain(at, found->read, "  in this read");
    }
}

void
judge_versions(bench *at, int kept)
{
    listing found;
    for (guint i = 0; i < at->all->len; i++) {
        const operation *of = operation_at(at->all, i);
        if (of->kind != OPERATION_VERSIONS || of->outcome != OPERATION_OK || !collect(at, of, &found))
            continue;
        judge_order(at, &found);
        for (int version = 0; version < found.count; version++)
            if (is_removed(at->all, found.puts[version], of))
                judge_complain(at, of, "a version that was removed");
        judge_complete(at, &found, kept);
    }
}

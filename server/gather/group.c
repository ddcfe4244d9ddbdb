/* A merge group: its streams and the tree over them. It returns no row before every stream's first row or end
 * is known. After that, it waits only for the stream whose head was taken last. */
#include "gather/gather_internal.h"

#include "gather/bounds.h"

#include <glib.h>

static void
init_stream(kw_group *group, uint32_t place, uint32_t index)
{
    kw_gather *gather = group->gather;
    kw_stream *stream = &group->streams[place];
    stream->gather = gather;
    stream->group = group;
    stream->index = index;
    stream->skip = gather->spec.plan->ranges[index].skip;
    stream->end = !kw_range_left(gather->spec.plan, index, &gather->spec.position, group->arena,
                                 &stream->start, &stream->stop);
    if (!stream->end) {
        group->live++;
        group->unready++;
    }
}

static void
charge(const kw_group *group, int64_t sign)
{
    kw_account_charge(group->gather->spec.account, KW_MEMORY_ROWS,
                      sign * (int64_t)(group->count * sizeof(kw_stream)));
}

void
kw_group_open(kw_gather *gather)
{
    const kw_plan *plan = gather->spec.plan;
    const kw_merge_group *ranges = &plan->groups[gather->next_group];
    g_assert(ranges->count > 0 && ranges->count < KW_TREE_NONE);
    kw_group *group = g_new0(kw_group, 1);
    group->gather = gather;
    group->number = gather->next_group++;
    group->arena = kw_arena_new_for(gather->spec.account, KW_MEMORY_ROWS);
    group->count = (uint32_t)ranges->count;
    charge(group, 1);
    group->streams = g_aligned_alloc0(group->count, sizeof(kw_stream), 64);
    for (uint32_t i = 0; i < group->count; i++)
        init_stream(group, i, (uint32_t)ranges->first + i);
    group->tree = kw_tree_new(group->count, plan->reversed);
    kw_group **end = &gather->groups;
    while (*end)
        end = &(*end)->next;
    *end = group;
    gather->groups_open++;
    for (uint32_t i = 0; i < group->count; i++)
        if (!group->streams[i].end)
            kw_stream_need(&group->streams[i]);
}

void
kw_group_free(kw_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        kw_stream_clear(&group->streams[i]);
    charge(group, -1);
    g_aligned_free(group->streams);
    kw_tree_free(group->tree);
    kw_arena_free(group->arena);
    g_free(group);
}

void
kw_group_finish(kw_gather *gather)
{
    kw_group *group = gather->groups;
    gather->groups = group->next;
    gather->groups_open--;
    gather->finished_groups++;
    gather->finished_rows += group->taken;
    kw_streams_stop_waiting(group);
    kw_group_free(group);
}

void
kw_group_arrived(kw_stream *stream, bool was_ready)
{
    kw_group *group = stream->group;
    if (stream->error) {
        if (!group->failed && !was_ready)
            group->failed = stream;
    } else if (!was_ready && kw_stream_ready(stream)) {
        if (!group->built)
            group->unready--;
    } else if (!was_ready) {
        kw_stream_need(stream); /* the filter removed all rows read */
    }
}

static kw_bytes
suffix_of(const kw_stream *stream, const kw_row *row)
{
    return row->key.size > stream->skip ? kw_bytes_skip(row->key, stream->skip) : KW_BYTES_NONE;
}

/* Computes the rank of the following row now: its key is not in the processor's cache, and the next match
 * would wait for it. */
static void
enter_head(kw_group *group, uint32_t leaf)
{
    kw_stream *stream = &group->streams[leaf];
    const kw_row *head = stream->head;
    if (!head) {
        kw_tree_close(group->tree, leaf);
        return;
    }
    kw_bytes suffix = suffix_of(stream, head);
    uint64_t rank = stream->has_next ? stream->next_rank : kw_tree_rank(group->tree, suffix);
    kw_tree_set(group->tree, leaf, suffix, rank);
    stream->has_next = head < stream->last;
    if (stream->has_next)
        stream->next_rank = kw_tree_rank(group->tree, suffix_of(stream, head + 1));
}

static void
build(kw_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        enter_head(group, i);
    kw_tree_build(group->tree);
    group->built = true;
}

/* Enters the next row of the stream read last. False if it has not arrived. */
static bool
settle(kw_group *group)
{
    uint32_t leaf = kw_tree_winner(group->tree);
    kw_stream *stream = &group->streams[leaf];
    if (!kw_stream_ready(stream)) {
        if (!stream->fetching && !stream->error) {
            kw_stream_need(stream);
            kw_streams_top_up(stream);
        }
        return false;
    }
    enter_head(group, leaf);
    kw_tree_replay(group->tree);
    group->moved = false;
    return true;
}

kw_step
kw_group_next(kw_group *group, kw_stream **ret_stream)
{
    if (!group->built) {
        *ret_stream = group->failed;
        if (group->failed)
            return KW_STEP_FAILED;
        if (group->unready)
            return KW_STEP_WAIT;
        build(group);
    }
    if (group->moved && !settle(group)) {
        *ret_stream = &group->streams[kw_tree_winner(group->tree)];
        return (*ret_stream)->error ? KW_STEP_FAILED : KW_STEP_WAIT;
    }
    uint32_t leaf = kw_tree_winner(group->tree);
    if (leaf == KW_TREE_NONE)
        return KW_STEP_END;
    *ret_stream = &group->streams[leaf];
    return KW_STEP_ROW;
}

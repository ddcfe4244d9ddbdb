/* See forecast.h. The forecast merges only buffered rows, so it lacks the rows of streams that have run out
 * of them. It expects each stream to supply the same share of the next rows as of the rows so far. So one
 * buffered row counts as all / (all - missing) rows of the page. `all` is the sum of the weights of all
 * streams that can supply more rows, and `missing` that of the streams among them that have run out. The
 * weight of a stream is the number of rows taken from it so far, plus one. */
#include "gather/forecast.h"

#include <glib.h>

typedef struct reader {
    const kw_row *at, *last; /* at: NULL at the end */
    const kw_rows *ahead;
} reader;

typedef struct forecast {
    const kw_group *group;
    kw_tree *tree;
    reader *readers;
    double all, missing; /* weights of all streams, and of those that have run out; see above */
    double passed;       /* rows of the page before the current one */
} forecast;

static double
weight(const kw_stream *stream)
{
    return (double)stream->taken + 1;
}

static void
enter(forecast *of, uint32_t i)
{
    const kw_row *row = of->readers[i].at;
    if (!row) {
        kw_tree_close(of->tree, i);
        return;
    }
    uint32_t skip = of->group->streams[i].skip;
    kw_bytes suffix = row->key.size > skip ? kw_bytes_skip(row->key, skip) : KW_BYTES_NONE;
    kw_tree_set(of->tree, i, suffix, kw_tree_rank(of->tree, suffix));
}

static void
step(reader *from)
{
    if (from->at != from->last) {
        from->at++;
    } else if (from->ahead) {
        *from = (reader){.at = from->ahead->rows, .last = from->ahead->rows + from->ahead->count - 1};
    } else {
        from->at = NULL;
    }
}

static void
begin(forecast *of)
{
    for (uint32_t i = 0; i < of->group->count; i++) {
        const kw_stream *stream = &of->group->streams[i];
        of->readers[i] = (reader){.at = stream->head, .last = stream->last, .ahead = stream->ahead};
        if (stream->head || !stream->end)
            of->all += weight(stream);
        if (!stream->head && !stream->end)
            of->missing += weight(stream);
        enter(of, i);
    }
    kw_tree_build(of->tree);
}

static void
run_out(forecast *of, uint32_t i, uint64_t wanted, uint64_t *ret_left)
{
    const kw_stream *stream = &of->group->streams[i];
    if (stream->end) {
        of->all -= weight(stream);
        return;
    }
    *ret_left = MAX((uint64_t)((double)wanted - of->passed), 1);
    of->missing += weight(stream);
}

void
kw_forecast(const kw_group *group, uint64_t wanted, uint64_t *ret_left)
{
    g_assert(wanted <= KW_FORECAST_ROWS);
    forecast of = {.group = group, .tree = kw_tree_new(group->count, group->gather->spec.plan->reversed)};
    of.readers = g_new0(reader, group->count);
    memset(ret_left, 0, group->count * sizeof *ret_left);
    begin(&of);
    for (uint32_t i; (i = kw_tree_winner(of.tree)) != KW_TREE_NONE;) {
        of.passed += of.all / (of.all - of.missing);
        if (of.passed >= (double)wanted)
            break;
        step(&of.readers[i]);
        if (!of.readers[i].at)
            run_out(&of, i, wanted, &ret_left[i]);
        enter(&of, i);
        kw_tree_replay(of.tree);
    }
    g_free(of.readers);
    kw_tree_free(of.tree);
}

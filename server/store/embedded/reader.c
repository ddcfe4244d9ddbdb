#include "store/embedded/reader.h"

#include "store/embedded/engine.h"

#define STEPS_BEFORE_SEEK 8
#define ASIDE_MAX ((size_t)256 * 1024)

typedef struct place {
    size_t start;
    uint32_t key_size;
    uint32_t value_size;
} place;

void
kw_reader_init(kw_reader *reader, rocksdb_iterator_t *at, const kw_selection *selection)
{
    *reader = (kw_reader){.at = at};
    kw_version_filter_init(&reader->view, selection);
}

void
kw_reader_clear(kw_reader *reader)
{
    kw_version_filter_clear(&reader->view);
    kw_buffer_clear(&reader->prefix);
    kw_buffer_clear(&reader->target);
    kw_buffer_clear(&reader->aside);
    if (reader->places)
        g_array_free(reader->places, TRUE);
    *reader = (kw_reader){0};
}

/* Is the iterator in the present row? ret_rest is the entry's key behind the row prefix. */
static bool
in_row(const kw_reader *reader, kw_bytes *ret_rest)
{
    if (!rocksdb_iter_valid(reader->at))
        return false;
    kw_bytes key = kw_engine_key(reader->at);
    if (!kw_bytes_starts_with(key, kw_buffer_bytes(&reader->prefix)))
        return false;
    *ret_rest = kw_bytes_skip(key, reader->prefix.size);
    return true;
}

static void
seek(kw_reader *reader, const kw_buffer *to)
{
    rocksdb_iter_seek(reader->at, (const char *)to->data, to->size);
}

static void
seek_target(kw_reader *reader)
{
    reader->target.size = 0;
    kw_buffer_append(&reader->target, kw_buffer_bytes(&reader->prefix));
    kw_version_filter_target(&reader->view, &reader->target);
    seek(reader, &reader->target);
}

/* What an entry costs: the step, and its bytes. */
static bool
may_go_on(kw_reader *reader, size_t entry_bytes)
{
    return kw_effort_spend(reader->effort, 64 + entry_bytes);
}

/* Behind the row's last entry. */
static void
leave_row(kw_reader *reader)
{
    kw_bytes rest;
    for (int steps = 0; steps < STEPS_BEFORE_SEEK; steps++) {
        rocksdb_iter_next(reader->at);
        if (!in_row(reader, &rest))
            return;
    }
    reader->target.size = 0;
    kw_buffer_append(&reader->target, kw_buffer_bytes(&reader->prefix));
    kw_key_row_after(reader->target.data, reader->target.size);
    seek(reader, &reader->target);
}

static void
feed_row(kw_reader *reader, bool leave)
{
    kw_bytes rest;
    int skipped = 0;
    while (in_row(reader, &rest)) {
        kw_bytes value = kw_engine_value(reader->at);
        if (!may_go_on(reader, rest.size + value.size))
            return;
        switch (kw_version_filter_take(&reader->view, rest, value)) {
        case KW_VERSION_ROW_DONE:
            if (leave)
                leave_row(reader);
            return;
        case KW_VERSION_SKIP:
            if (++skipped < STEPS_BEFORE_SEEK) {
                rocksdb_iter_next(reader->at);
            } else {
                seek_target(reader);
                skipped = 0;
            }
            break;
        case KW_VERSION_NEXT:
            skipped = 0;
            rocksdb_iter_next(reader->at);
            break;
        }
    }
}

static bool
end_row(kw_reader *reader, kw_row *ret_row)
{
    kw_version_filter *view = &reader->view;
    if (!kw_version_filter_end_row(view, ret_row))
        return false;
    kw_bytes escaped = kw_key_row_escaped(kw_buffer_bytes(&reader->prefix));
    size_t size = kw_key_unescaped_size(escaped);
    uint8_t *key = kw_arena_alloc(view->rows->arena, size);
    kw_key_unescape(key, escaped);
    ret_row->key = kw_bytes_of(key, size);
    view->bytes += size;
    return true;
}

static void
begin_present_row(kw_reader *reader)
{
    kw_bytes key = kw_engine_key(reader->at);
    size_t size = kw_key_row_size(key);
    g_assert(size > 0);
    reader->prefix.size = 0;
    kw_buffer_append(&reader->prefix, kw_bytes_of(key.data, size));
    kw_version_filter_begin_row(&reader->view);
}

bool
kw_reader_get(kw_reader *reader, kw_bytes row, kw_row *ret_row)
{
    const kw_selection *selection = reader->view.selection;
    reader->prefix.size = reader->target.size = 0;
    kw_key_row(&reader->prefix, selection->table->id, row);
    kw_buffer_append(&reader->target, kw_buffer_bytes(&reader->prefix));
    kw_version_filter_begin_row(&reader->view);
    kw_version_filter_first_target(&reader->view, &reader->target);
    seek(reader, &reader->target);
    feed_row(reader, false);
    return end_row(reader, ret_row);
}

bool
kw_reader_forward(kw_reader *reader, kw_row *ret_row)
{
    begin_present_row(reader);
    feed_row(reader, true);
    return end_row(reader, ret_row);
}

/* --- backward ------------------------------------------------------------------------------------- */

/* False when the row is too large to be laid aside. */
static bool
lay_aside(kw_reader *reader)
{
    kw_bytes rest;
    if (!reader->places)
        reader->places = g_array_new(FALSE, FALSE, sizeof(place));
    g_array_set_size(reader->places, 0);
    reader->aside.size = 0;
    while (in_row(reader, &rest)) {
        kw_bytes value = kw_engine_value(reader->at);
        if (!may_go_on(reader, rest.size + value.size))
            return true; /* nobody looks at it any more */
        if (reader->aside.size + rest.size + value.size > ASIDE_MAX)
            return false;
        place here = {reader->aside.size, (uint32_t)rest.size, (uint32_t)value.size};
        g_array_append_val(reader->places, here);
        kw_buffer_append(&reader->aside, rest);
        kw_buffer_append(&reader->aside, value);
        rocksdb_iter_prev(reader->at);
    }
    return true;
}

static void
feed_aside(kw_reader *reader)
{
    for (guint i = reader->places->len; i > 0; i--) {
        const place *here = &g_array_index(reader->places, place, i - 1);
        const uint8_t *key = reader->aside.data + here->start;
        kw_verdict verdict = kw_version_filter_take(&reader->view, kw_bytes_of(key, here->key_size),
                                                    kw_bytes_of(key + here->key_size, here->value_size));
        if (verdict == KW_VERSION_ROW_DONE)
            return;
    }
}

bool
kw_reader_backward(kw_reader *reader, kw_row *ret_row)
{
    begin_present_row(reader);
    if (lay_aside(reader)) {
        feed_aside(reader);
        return end_row(reader, ret_row);
    }
    seek(reader, &reader->prefix);
    feed_row(reader, false);
    bool seen = end_row(reader, ret_row);
    rocksdb_iter_seek_for_prev(reader->at, (const char *)reader->prefix.data, reader->prefix.size);
    return seen;
}

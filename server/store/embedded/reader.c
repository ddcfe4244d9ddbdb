#include "store/embedded/reader.h"

#include "store/embedded/engine.h"

#define STEPS_BEFORE_SEEK 8
#define SAVED_ROW_MAX ((size_t)256 * 1024)

typedef struct saved_entry {
    size_t start;
    uint32_t key_size;
    uint32_t value_size;
} saved_entry;

void
kw_reader_init(kw_reader *reader, rocksdb_iterator_t *at, const kw_selection *selection)
{
    *reader = (kw_reader){.iterator = at};
    kw_version_filter_init(&reader->version_filter, selection);
}

void
kw_reader_clear(kw_reader *reader)
{
    kw_version_filter_clear(&reader->version_filter);
    kw_buffer_clear(&reader->prefix);
    kw_buffer_clear(&reader->target);
    kw_buffer_clear(&reader->saved);
    if (reader->saved_entries)
        g_array_free(reader->saved_entries, TRUE);
    *reader = (kw_reader){0};
}

/* True if the iterator is in the current row; then ret_rest is the entry's key after the row prefix. */
static bool
in_row(const kw_reader *reader, kw_bytes *ret_rest)
{
    if (!rocksdb_iter_valid(reader->iterator))
        return false;
    kw_bytes key = kw_engine_key(reader->iterator);
    if (!kw_bytes_starts_with(key, kw_buffer_bytes(&reader->prefix)))
        return false;
    *ret_rest = kw_bytes_skip(key, reader->prefix.size);
    return true;
}

static void
seek(kw_reader *reader, const kw_buffer *to)
{
    rocksdb_iter_seek(reader->iterator, (const char *)to->data, to->size);
}

static void
seek_target(kw_reader *reader)
{
    reader->target.size = 0;
    kw_buffer_append(&reader->target, kw_buffer_bytes(&reader->prefix));
    kw_version_filter_skip_target(&reader->version_filter, &reader->target);
    seek(reader, &reader->target);
}

/* Accounts for the cost of an entry: the step and its bytes. False once the effort is over. */
static bool
spend_effort(kw_reader *reader, size_t entry_bytes)
{
    return kw_effort_spend(reader->effort, 64 + entry_bytes);
}

/* Moves to the first entry after the current row. */
static void
skip_rest_of_row(kw_reader *reader)
{
    kw_bytes rest;
    for (int steps = 0; steps < STEPS_BEFORE_SEEK; steps++) {
        rocksdb_iter_next(reader->iterator);
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
        kw_bytes value = kw_engine_value(reader->iterator);
        if (!spend_effort(reader, rest.size + value.size))
            return;
        switch (kw_version_filter_feed(&reader->version_filter, rest, value)) {
        case KW_VERSION_ROW_DONE:
            if (leave)
                skip_rest_of_row(reader);
            return;
        case KW_VERSION_SKIP:
            if (++skipped < STEPS_BEFORE_SEEK) {
                rocksdb_iter_next(reader->iterator);
            } else {
                seek_target(reader);
                skipped = 0;
            }
            break;
        case KW_VERSION_NEXT:
            skipped = 0;
            rocksdb_iter_next(reader->iterator);
            break;
        }
    }
}

kw_bytes
kw_reader_row_key(const kw_reader *reader, kw_arena *arena)
{
    kw_bytes escaped = kw_key_row_escaped(kw_buffer_bytes(&reader->prefix));
    size_t size = kw_key_unescaped_size(escaped);
    uint8_t *key = kw_arena_alloc(arena, size);
    kw_key_unescape(key, escaped);
    return kw_bytes_of(key, size);
}

static bool
end_row(kw_reader *reader, kw_row *ret_row)
{
    kw_version_filter *version_filter = &reader->version_filter;
    if (!kw_version_filter_end_row(version_filter, ret_row))
        return false;
    ret_row->key = kw_reader_row_key(reader, version_filter->rows->arena);
    version_filter->bytes += ret_row->key.size;
    return true;
}

static void
begin_current_row(kw_reader *reader)
{
    g_assert(rocksdb_iter_valid(reader->iterator));
    kw_bytes key = kw_engine_key(reader->iterator);
    size_t size = kw_key_row_size(key);
    g_assert(size > 0); /* the iterator is not in the list of tables */
    reader->prefix.size = 0;
    kw_buffer_append(&reader->prefix, kw_bytes_of(key.data, size));
    kw_version_filter_begin_row(&reader->version_filter);
}

static void
begin_row(kw_reader *reader, kw_bytes row)
{
    const kw_selection *selection = reader->version_filter.selection;
    reader->prefix.size = reader->target.size = 0;
    kw_key_row(&reader->prefix, selection->table->id, row);
    kw_buffer_append(&reader->target, kw_buffer_bytes(&reader->prefix));
    kw_version_filter_begin_row(&reader->version_filter);
}

bool
kw_reader_get(kw_reader *reader, kw_bytes row, kw_row *ret_row)
{
    begin_row(reader, row);
    kw_version_filter_first_target(&reader->version_filter, &reader->target);
    seek(reader, &reader->target);
    feed_row(reader, false);
    return end_row(reader, ret_row);
}

/* Passes the newest delete marker of the column's family, which counts for all columns of the family.
 * reader->target is only the row prefix when this function is called, and again when it returns. */
static void
feed_family_marker(kw_reader *reader, kw_bytes column)
{
    kw_bytes rest;
    uint8_t tag = column.data[0] & 0xfe;
    kw_buffer_append_byte(&reader->target, tag);
    seek(reader, &reader->target);
    if (in_row(reader, &rest) && rest.data[0] == tag)
        kw_version_filter_feed(&reader->version_filter, rest, kw_engine_value(reader->iterator));
    reader->target.size--;
}

static void
seek_for_pass(kw_reader *reader, kw_bytes from)
{
    if (from.size) {
        feed_family_marker(reader, from);
        kw_buffer_append(&reader->target, from);
    } else {
        kw_version_filter_first_target(&reader->version_filter, &reader->target);
    }
    seek(reader, &reader->target);
}

void
kw_reader_pass(kw_reader *reader, kw_bytes row, kw_bytes from)
{
    kw_bytes rest;
    begin_row(reader, row);
    bool is_next = reader->left_row && from.size == 0 && in_row(reader, &rest);
    if (!is_next)
        seek_for_pass(reader, from);
    feed_row(reader, false);
    reader->left_row = rocksdb_iter_valid(reader->iterator) && !in_row(reader, &rest);
}

bool
kw_reader_forward(kw_reader *reader, kw_row *ret_row)
{
    begin_current_row(reader);
    feed_row(reader, true);
    return end_row(reader, ret_row);
}

/* --- backward ------------------------------------------------------------------------------------- */

/* Saves the entries of the current row, last first, and moves to the previous row. False if the row is too
 * large to be saved. */
static bool
save_row(kw_reader *reader)
{
    kw_bytes rest;
    if (!reader->saved_entries)
        reader->saved_entries = g_array_new(FALSE, FALSE, sizeof(saved_entry));
    g_array_set_size(reader->saved_entries, 0);
    reader->saved.size = 0;
    while (in_row(reader, &rest)) {
        kw_bytes value = kw_engine_value(reader->iterator);
        if (!spend_effort(reader, rest.size + value.size))
            return true; /* the caller ignores the row */
        if (reader->saved.size + rest.size + value.size > SAVED_ROW_MAX)
            return false;
        saved_entry here = {reader->saved.size, (uint32_t)rest.size, (uint32_t)value.size};
        g_array_append_val(reader->saved_entries, here);
        kw_buffer_append(&reader->saved, rest);
        kw_buffer_append(&reader->saved, value);
        rocksdb_iter_prev(reader->iterator);
    }
    return true;
}

static void
feed_saved_row(kw_reader *reader)
{
    for (guint i = reader->saved_entries->len; i > 0; i--) {
        const saved_entry *here = &g_array_index(reader->saved_entries, saved_entry, i - 1);
        const uint8_t *key = reader->saved.data + here->start;
        kw_version_verdict verdict =
            kw_version_filter_feed(&reader->version_filter, kw_bytes_of(key, here->key_size),
                                   kw_bytes_of(key + here->key_size, here->value_size));
        if (verdict == KW_VERSION_ROW_DONE)
            return;
    }
}

bool
kw_reader_backward(kw_reader *reader, kw_row *ret_row)
{
    begin_current_row(reader);
    if (save_row(reader)) {
        feed_saved_row(reader);
        return end_row(reader, ret_row);
    }
    seek(reader, &reader->prefix);
    feed_row(reader, false);
    bool visible = end_row(reader, ret_row);
    rocksdb_iter_seek_for_prev(reader->iterator, (const char *)reader->prefix.data, reader->prefix.size);
    return visible;
}

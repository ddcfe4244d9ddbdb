#include "reconcile/verify.h"

#include "verb/row_keys.h"

#include <glib.h>
#include <xxhash.h>

#define VERSION 1
/* version, hash of what is verified, rows, misfits */
#define HEAD_SIZE (1 + 8 + 8 + 8)

static uint64_t
hash_bytes(kw_bytes bytes, uint64_t seed)
{
    return XXH64(bytes.data, bytes.size, XXH64(&bytes.size, sizeof bytes.size, seed));
}

static uint64_t
hash_field(const kw_field *field, uint64_t seed)
{
    const int kinds[] = {(int)field->type, (int)field->unit, (int)field->form,
                         field->entry ? (int)field->entry->type : -1,
                         field->entry ? (int)field->entry->form : -1};
    uint64_t hash = hash_bytes(kw_bytes_of_text(field->name), seed);
    hash = hash_bytes(field->family, hash_bytes(field->qualifier, hash));
    return XXH64(kinds, sizeof kinds, hash);
}

/* Hashes everything on which the verdict about a row depends. */
static uint64_t
identity_of(const kw_placement *placement)
{
    const kw_table *table = placement->path->table;
    uint64_t hash = hash_bytes(kw_bytes_of_text(table->name), 0);
    hash = hash_bytes(kw_bytes_of_text(placement->path->name), hash);
    hash = hash_bytes(placement->store_table, hash);
    hash = hash_bytes(kw_bytes_of_text(kw_layout_fingerprint(placement->layout)), hash);
    for (size_t i = 0; i < table->fields_count; i++)
        hash = hash_field(&table->fields[i], hash);
    return hash;
}

kw_bytes
kw_verify_cursor(const kw_placement *placement, const kw_verify_position *position, kw_arena *arena)
{
    g_auto(kw_buffer) text = KW_BUFFER_EMPTY;
    uint8_t *head = kw_buffer_reserve(&text, HEAD_SIZE);
    head[0] = VERSION;
    kw_be64_store(head + 1, identity_of(placement));
    kw_be64_store(head + 9, position->rows);
    kw_be64_store(head + 17, position->misfits);
    text.size = HEAD_SIZE;
    kw_row_key_append(&text, position->first);
    kw_row_key_append(&text, position->last);
    kw_row_key_append(&text, position->after);
    return kw_arena_copy(arena, kw_buffer_bytes(&text));
}

bool
kw_verify_open_cursor(const kw_placement *placement, kw_bytes cursor, kw_verify_position *ret_position,
                      kw_error *ret_error)
{
    const kw_path *path = placement->path;
    if (cursor.size < HEAD_SIZE || cursor.data[0] != VERSION)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the cursor is not from a verification",
                            path->table->name);
    if (kw_be64_load(cursor.data + 1) != identity_of(placement))
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s, path %s: the cursor belongs to another path, or the key rule or the fields have "
            "changed since it was made; start again without it",
            path->table->name, path->name);
    kw_verify_position position = {.rows = kw_be64_load(cursor.data + 9),
                                   .misfits = kw_be64_load(cursor.data + 17)};
    kw_bytes rest = kw_bytes_skip(cursor, HEAD_SIZE);
    if (!kw_row_key_take(&rest, &position.first) || !kw_row_key_take(&rest, &position.last) ||
        !kw_row_key_take(&rest, &position.after) || rest.size)
        return kw_error_set(ret_error, KW_INVALID, "table %s, path %s: the cursor is damaged",
                            path->table->name, path->name);
    *ret_position = position;
    return true;
}

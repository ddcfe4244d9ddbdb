#include "store/embedded/record.h"

#include "store/check.h"

#define FORMAT 1

static void
put_u32(kw_buffer *to, uint32_t value)
{
    kw_be32_store(kw_buffer_reserve(to, 4), value);
    to->size += 4;
}

static void
put_bytes(kw_buffer *to, kw_bytes bytes)
{
    put_u32(to, (uint32_t)bytes.size);
    kw_buffer_append(to, bytes);
}

/* The first byte distinguishes NULL (the default) from an empty text. */
static void
put_text(kw_buffer *to, const char *text)
{
    kw_buffer_append_byte(to, text ? 1 : 0);
    put_bytes(to, kw_bytes_of_text(text));
}

static void
put_family(kw_buffer *to, const kw_family_spec *family)
{
    put_text(to, family->name);
    put_text(to, family->compression);
    put_text(to, family->bloom_filter);
    put_text(to, family->block_encoding);
    put_u32(to, (uint32_t)family->ttl_seconds);
    put_u32(to, (uint32_t)family->max_versions);
    put_u32(to, (uint32_t)family->min_versions);
    put_u32(to, (uint32_t)family->block_size);
    kw_buffer_append_byte(to, (uint8_t)family->block_cache);
    kw_buffer_append_byte(to, (uint8_t)family->in_memory);
    kw_buffer_append_byte(to, (uint8_t)family->keep_deleted_cells);
    put_u32(to, (uint32_t)family->replication_scope);
}

void
kw_table_record_write(kw_buffer *to, uint32_t id, kw_bytes name, const kw_table_spec *spec)
{
    g_assert(id != 0 && spec->families_count > 0 && spec->families_count <= KW_STORE_FAMILIES_MAX);
    kw_buffer_append_byte(to, FORMAT);
    put_u32(to, id);
    put_bytes(to, name);
    put_u32(to, (uint32_t)spec->families_count);
    for (size_t i = 0; i < spec->families_count; i++)
        put_family(to, &spec->families[i]);
    put_u32(to, (uint32_t)spec->split_keys_count);
    for (size_t i = 0; i < spec->split_keys_count; i++)
        put_bytes(to, spec->split_keys[i]);
}

/* --- reading: `good` becomes false at the first malformed or missing item, and stays false --------- */

typedef struct record_reader {
    kw_bytes left;
    kw_arena *arena;
    bool good;
} record_reader;

static const uint8_t *
read_raw(record_reader *from, size_t size)
{
    if (!from->good || from->left.size < size) {
        from->good = false;
        return NULL;
    }
    const uint8_t *at = from->left.data;
    from->left = kw_bytes_skip(from->left, size);
    return at;
}

static uint32_t
read_u32(record_reader *from)
{
    const uint8_t *at = read_raw(from, 4);
    return at ? kw_be32_load(at) : 0;
}

static uint8_t
read_byte(record_reader *from)
{
    const uint8_t *at = read_raw(from, 1);
    return at ? *at : 0;
}

static kw_bytes
read_bytes(record_reader *from)
{
    size_t size = read_u32(from);
    const uint8_t *at = read_raw(from, size);
    return at ? kw_arena_copy(from->arena, kw_bytes_of(at, size)) : KW_BYTES_NONE;
}

static const char *
read_text(record_reader *from)
{
    bool is_set = read_byte(from);
    kw_bytes bytes = read_bytes(from);
    return is_set ? kw_arena_text(from->arena, bytes) : NULL;
}

static kw_stored_family
read_family(record_reader *from)
{
    kw_family_spec spec = {.name = read_text(from)};
    spec.compression = read_text(from);
    spec.bloom_filter = read_text(from);
    spec.block_encoding = read_text(from);
    spec.ttl_seconds = (int32_t)read_u32(from);
    spec.max_versions = (int32_t)read_u32(from);
    spec.min_versions = (int32_t)read_u32(from);
    spec.block_size = (int32_t)read_u32(from);
    spec.block_cache = (int8_t)read_byte(from);
    spec.in_memory = (int8_t)read_byte(from);
    spec.keep_deleted_cells = (int8_t)read_byte(from);
    spec.replication_scope = (int32_t)read_u32(from);
    from->good = from->good && spec.name;
    return (kw_stored_family){.name = kw_bytes_of_text(spec.name),
                              .spec = spec,
                              .max_versions = spec.max_versions ? spec.max_versions : 1,
                              .min_versions = spec.min_versions,
                              .ttl_ms = (int64_t)spec.ttl_seconds * 1000,
                              .keep_deleted = spec.keep_deleted_cells == 1};
}

static int
compare_families(const void *a, const void *b)
{
    return kw_bytes_compare(((const kw_stored_family *)a)->name, ((const kw_stored_family *)b)->name);
}

static void
read_families(record_reader *from, kw_stored_table *table)
{
    size_t count = read_u32(from);
    if (count == 0 || count > KW_STORE_FAMILIES_MAX) {
        from->good = false;
        return;
    }
    kw_stored_family *families = KW_ARENA_ARRAY(from->arena, kw_stored_family, count);
    for (size_t i = 0; i < count; i++)
        families[i] = read_family(from);
    if (from->good)
        qsort(families, count, sizeof *families, compare_families);
    table->families = families;
    table->families_count = count;
}

static void
read_splits(record_reader *from, kw_stored_table *table)
{
    size_t count = read_u32(from);
    if (!from->good || count > from->left.size / 4) {
        from->good = false;
        return;
    }
    kw_bytes *keys = KW_ARENA_ARRAY(from->arena, kw_bytes, count);
    for (size_t i = 0; i < count; i++)
        keys[i] = read_bytes(from);
    table->split_keys = keys;
    table->split_keys_count = count;
}

kw_stored_table *
kw_table_record_read(kw_bytes bytes)
{
    kw_arena *arena = kw_arena_new();
    record_reader from = {.left = bytes, .arena = arena, .good = true};
    kw_stored_table *table = KW_ARENA_NEW(arena, kw_stored_table);
    table->arena = arena;
    table->references = 1;
    from.good = read_byte(&from) == FORMAT;
    table->id = read_u32(&from);
    table->name = read_bytes(&from);
    read_families(&from, table);
    read_splits(&from, table);
    if (from.good && from.left.size == 0 && table->id != 0)
        return table;
    kw_arena_free(arena);
    return NULL;
}

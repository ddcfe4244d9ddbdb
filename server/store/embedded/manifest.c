#include "store/embedded/manifest.h"

#include "store/embedded/wal_reader.h"

enum {
    TAG_COMPARATOR = 1,
    TAG_LOG_NUMBER = 2,
    TAG_NEXT_FILE = 3,
    TAG_LAST_SEQUENCE = 4,
    TAG_CURSOR = 5,
    TAG_REMOVED = 6,
    TAG_ADDED_1 = 7,
    TAG_PREVIOUS_LOG = 9,
    TAG_LOG_TO_KEEP = 10,
    TAG_ADDED_2 = 100,
    TAG_ADDED_3 = 102,
    TAG_ADDED_4 = 103,
    TAG_FAMILY = 200,
    TAG_FAMILIES = 203,
    TAG_GROUP = 300
};
#define TAG_IGNORABLE (UINT64_C(1) << 13)

/* The fields after the file's number in an "added" entry. */
enum { FIELD_END = 1, FIELD_LOG_TO_KEEP = 3, FIELD_REQUIRED = 1 << 6, FIELD_PATH = 65 };

/* The changes of one record. */
typedef struct edit {
    kw_bytes rest;   /* what is not read yet */
    bool known;      /* false: the record has an unknown form */
    GArray *added;   /* kw_manifest_table */
    GArray *removed; /* gint64 */
    uint64_t log_number, log_to_keep, last_sequence, next_file;
    bool has_log_number, has_last_sequence, has_next_file, has_comparator;
} edit;

/* --- reading a record ----------------------------------------------------------------------------- */

static uint64_t
read_number(edit *from)
{
    uint64_t number = 0;
    for (unsigned shift = 0; from->known && shift < 64 && from->rest.size; shift += 7) {
        uint8_t byte = from->rest.data[0];
        from->rest = kw_bytes_skip(from->rest, 1);
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    from->known = false;
    return 0;
}

static kw_bytes
read_bytes(edit *from)
{
    uint64_t size = read_number(from);
    if (!from->known || size > from->rest.size) {
        from->known = false;
        return KW_BYTES_NONE;
    }
    kw_bytes bytes = kw_bytes_of(from->rest.data, (size_t)size);
    from->rest = kw_bytes_skip(from->rest, (size_t)size);
    return bytes;
}

static void
read_fields(edit *from)
{
    for (uint64_t field; from->known && (field = read_number(from)) != FIELD_END;) {
        kw_bytes value = read_bytes(from);
        if (field == FIELD_LOG_TO_KEEP && value.size == 8)
            for (size_t i = 8; i > 0; i--)
                from->log_to_keep = from->log_to_keep << 8 | value.data[i - 1];
        else if ((field & FIELD_REQUIRED) && field != FIELD_PATH)
            from->known = false;
    }
}

static void
read_added(edit *from, uint64_t tag)
{
    kw_manifest_table table = {0};
    read_number(from); /* the level */
    table.number = (gint64)read_number(from);
    if (tag == TAG_ADDED_3)
        read_number(from); /* the path */
    table.size = read_number(from);
    read_bytes(from); /* the smallest key */
    read_bytes(from); /* the largest key */
    if (tag != TAG_ADDED_1) {
        read_number(from); /* the lowest sequence number */
        read_number(from); /* the highest one */
    }
    if (tag == TAG_ADDED_4)
        read_fields(from);
    g_array_append_val(from->added, table);
}

static void
read_removed(edit *from)
{
    read_number(from); /* the level */
    gint64 number = (gint64)read_number(from);
    g_array_append_val(from->removed, number);
}

static void
read_entry(edit *from)
{
    uint64_t tag = read_number(from);
    switch (tag) {
    case TAG_COMPARATOR:
        read_bytes(from);
        from->has_comparator = true;
        return;
    case TAG_LOG_NUMBER:
        from->log_number = read_number(from);
        from->has_log_number = true;
        return;
    case TAG_NEXT_FILE:
        from->next_file = read_number(from);
        from->has_next_file = true;
        return;
    case TAG_LAST_SEQUENCE:
        from->last_sequence = read_number(from);
        from->has_last_sequence = true;
        return;
    case TAG_LOG_TO_KEEP:
        from->log_to_keep = read_number(from);
        return;
    case TAG_CURSOR:
        read_number(from);
        read_bytes(from);
        return;
    case TAG_REMOVED:
        read_removed(from);
        return;
    case TAG_ADDED_1:
    case TAG_ADDED_2:
    case TAG_ADDED_3:
    case TAG_ADDED_4:
        read_added(from, tag);
        return;
    case TAG_PREVIOUS_LOG:
    case TAG_FAMILY:
    case TAG_FAMILIES:
    case TAG_GROUP:
        read_number(from);
        return;
    default:
        if (tag & TAG_IGNORABLE)
            read_bytes(from);
        else
            from->known = false;
    }
}

/* --- applying it ---------------------------------------------------------------------------------- */

static const char *
change_tables(kw_manifest *manifest, const edit *change)
{
    for (guint i = 0; i < change->removed->len; i++)
        if (!g_hash_table_remove(manifest->tables, &g_array_index(change->removed, gint64, i)))
            return "it removes a file that is not in use";
    for (guint i = 0; i < change->added->len; i++) {
        const kw_manifest_table *table = &g_array_index(change->added, kw_manifest_table, i);
        if (g_hash_table_contains(manifest->tables, table))
            return "it adds a file that is already in use";
        g_hash_table_add(manifest->tables, g_memdup2(table, sizeof *table));
    }
    return NULL;
}

/* Returns why the change does not fit; NULL: it fits. */
static const char *
apply(kw_manifest *manifest, const edit *change)
{
    if (change->has_comparator && manifest->has_comparator)
        return "it begins a second time";
    if ((change->has_log_number && change->log_number < manifest->log_number) ||
        (change->has_last_sequence && change->last_sequence < manifest->last_sequence) ||
        (change->has_next_file && change->next_file < manifest->next_file))
        return "it goes back to an earlier state";
    if (change->has_log_number)
        manifest->log_number = change->log_number;
    if (change->has_last_sequence)
        manifest->last_sequence = change->last_sequence;
    if (change->has_next_file)
        manifest->next_file = change->next_file;
    manifest->log_number = MAX(manifest->log_number, change->log_to_keep);
    manifest->has_comparator |= change->has_comparator;
    manifest->has_log_number |= change->has_log_number;
    manifest->has_last_sequence |= change->has_last_sequence;
    manifest->has_next_file |= change->has_next_file;
    return change_tables(manifest, change);
}

static kw_manifest_state
damaged(kw_manifest *manifest, size_t offset, const char *why)
{
    manifest->offset = offset;
    manifest->why = why;
    return KW_MANIFEST_DAMAGED;
}

static kw_manifest_state
read_record(kw_manifest *manifest, const kw_wal_reader *reader)
{
    edit change = {.rest = reader->record,
                   .known = true,
                   .added = g_array_new(FALSE, FALSE, sizeof(kw_manifest_table)),
                   .removed = g_array_new(FALSE, FALSE, sizeof(gint64))};
    while (change.known && change.rest.size)
        read_entry(&change);
    const char *why = change.known ? apply(manifest, &change) : NULL;
    g_array_free(change.added, TRUE);
    g_array_free(change.removed, TRUE);
    if (why)
        return damaged(manifest, reader->start, why);
    return change.known ? KW_MANIFEST_WHOLE : KW_MANIFEST_UNKNOWN;
}

/* RocksDB mistakes a damaged length near the end of the manifest for its end. Then it ignores the last
 * changes, and deletes the files that they name. */
static bool
is_damaged_at_end(kw_manifest *manifest, kw_wal_reader *reader, kw_wal_step step)
{
    size_t offset = reader->start;
    const char *why = reader->why;
    if (step != KW_WAL_BROKEN && (step != KW_WAL_TRUNCATED || !kw_wal_reader_find(reader)))
        return false;
    damaged(manifest, offset, why);
    return true;
}

static bool
is_complete(const kw_manifest *manifest)
{
    return manifest->has_log_number && manifest->has_last_sequence && manifest->has_next_file;
}

static kw_manifest_state
read_records(kw_manifest *manifest, kw_wal_reader *reader)
{
    kw_wal_step step;
    kw_manifest_state state = KW_MANIFEST_WHOLE;
    while (state != KW_MANIFEST_DAMAGED && (step = kw_wal_reader_next(reader)) == KW_WAL_RECORD)
        if (state == KW_MANIFEST_WHOLE)
            state = read_record(manifest, reader);
    if (state == KW_MANIFEST_DAMAGED || is_damaged_at_end(manifest, reader, step))
        return KW_MANIFEST_DAMAGED;
    if (state == KW_MANIFEST_WHOLE && !is_complete(manifest))
        return damaged(manifest, reader->start, "it ends before its first records are complete");
    return state;
}

kw_manifest_state
kw_manifest_read(kw_bytes file, kw_manifest *ret_manifest)
{
    *ret_manifest = (kw_manifest){.tables = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
    kw_wal_reader reader;
    kw_wal_reader_init(&reader, file);
    kw_manifest_state state = read_records(ret_manifest, &reader);
    kw_wal_reader_clear(&reader);
    return state;
}

void
kw_manifest_clear(kw_manifest *manifest)
{
    if (manifest->tables)
        g_hash_table_destroy(manifest->tables);
    *manifest = (kw_manifest){0};
}

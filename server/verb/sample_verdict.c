#include "verb/sample.h"

#include "rule/alternatives.h"
#include "rule/splits.h"

#include <string.h>
#include <xxhash.h>

/* Most keys that are kept to look for other settings: of each kind. */
#define KEYS_MOST 300
/* Bytes of a row key in a message. */
#define SHOWN_MOST 40
/* A time in a row key is plausible from 1970 until this year. */
#define YEARS_UNTIL INT64_C(2200)
#define SECONDS_UNTIL ((YEARS_UNTIL - 1970) * 31556952)

typedef struct key_list {
    kw_bytes keys[KEYS_MOST];
    size_t count;
} key_list;

struct kw_sample_verdict {
    const kw_placement *placement;
    kw_arena *arena, *scratch;
    GHashTable *seen; /* hashes of row keys */
    uint64_t misfits, undecodable;
    key_list good, bad;
    kw_row_fit fit; /* of the first misfit, like the next three; FITS: there is none */
    size_t component;
    kw_bytes key;
    const char *why;
    uint64_t *improbable; /* per field: rows whose key has an implausible time in it */
};

kw_sample_verdict *
kw_sample_verdict_new(const kw_placement *placement, kw_arena *arena, kw_arena *scratch)
{
    kw_sample_verdict *self = KW_ARENA_NEW(arena, kw_sample_verdict);
    *self = (kw_sample_verdict){.placement = placement,
                                .arena = arena,
                                .scratch = scratch,
                                .seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL)};
    self->improbable = KW_ARENA_ARRAY(arena, uint64_t, placement->path->table->fields_count);
    return self;
}

void
kw_sample_verdict_clear(kw_sample_verdict *self)
{
    g_clear_pointer(&self->seen, g_hash_table_unref);
}

/* --- times ----------------------------------------------------------------------------------------- */

static const int64_t per_second[] = {
    [KW_UNIT_S] = 1, [KW_UNIT_MS] = 1000, [KW_UNIT_US] = 1000000, [KW_UNIT_NS] = 1000000000};

static bool
is_plausible(const kw_field *field, kw_value value)
{
    if (field->type != KW_FIELD_TIMESTAMP || value.kind != KW_VALUE_NUMBER)
        return true;
    return value.number >= 0 && value.number / per_second[field->unit] < SECONDS_UNTIL;
}

/* For kw_key_sample. */
static bool
accepts(void *user, const kw_record *record)
{
    const kw_sample_verdict *self = user;
    const kw_table *table = self->placement->path->table;
    kw_error ignored;
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_value value = record->values[i];
        if (value.kind != KW_VALUE_NONE &&
            (!is_plausible(&table->fields[i], value) || !kw_table_check_value(table, i, value, &ignored)))
            return false;
    }
    return true;
}

static void
note_times(kw_sample_verdict *self, const kw_record *key)
{
    const kw_table *table = self->placement->path->table;
    for (size_t i = 0; i < table->fields_count; i++)
        self->improbable[i] += !is_plausible(&table->fields[i], key->values[i]);
}

/* --- rows ------------------------------------------------------------------------------------------ */

static bool
is_new(kw_sample_verdict *self, kw_bytes key)
{
    gint64 hash = (gint64)XXH64(key.data, key.size, 0);
    if (g_hash_table_contains(self->seen, &hash))
        return false;
    gint64 *kept = g_new(gint64, 1);
    *kept = hash;
    return g_hash_table_add(self->seen, kept);
}

static void
keep(kw_sample_verdict *self, key_list *list, kw_bytes key)
{
    if (list->count < KEYS_MOST)
        list->keys[list->count++] = kw_arena_copy(self->arena, key);
}

void
kw_sample_verdict_add(kw_sample_verdict *self, const kw_row *row)
{
    kw_row_verdict found;
    if (!is_new(self, row->key))
        return;
    kw_arena_reset(self->scratch);
    kw_row_judge(self->placement, row, self->scratch, NULL, &found);
    keep(self, found.fit == KW_ROW_FOREIGN ? &self->bad : &self->good, row->key);
    if (found.fit != KW_ROW_FOREIGN)
        note_times(self, &found.key);
    if (found.fit == KW_ROW_FITS)
        return;
    self->misfits++;
    self->undecodable += found.fit == KW_ROW_UNDECODABLE;
    if (self->fit == KW_ROW_FOREIGN || self->fit == found.fit)
        return; /* a foreign row is reported instead of a value */
    self->fit = found.fit;
    self->component = found.component;
    self->key = kw_arena_copy(self->arena, row->key);
    self->why = kw_arena_text(self->arena, kw_bytes_of_text(found.why));
}

/* --- the refusal ----------------------------------------------------------------------------------- */

static const char *
find_alternative(kw_sample_verdict *self)
{
    size_t count = self->bad.count + self->good.count;
    kw_bytes *keys = KW_ARENA_ARRAY(self->arena, kw_bytes, count);
    memcpy(keys, self->bad.keys, self->bad.count * sizeof *keys);
    memcpy(keys + self->bad.count, self->good.keys, self->good.count * sizeof *keys);
    kw_key_sample sample = {.keys = keys, .count = count, .accepts = accepts, .user = self};
    return kw_rule_find_alternative(self->placement->layout, &sample, self->component, self->arena);
}

static const char *
shown_key(const kw_sample_verdict *self, kw_bytes key)
{
    kw_bytes part = kw_bytes_of(key.data, MIN(key.size, SHOWN_MOST));
    return kw_arena_printf(self->arena, "%s%s", kw_bytes_to_binary_text(part, self->arena),
                           part.size < key.size ? "..." : "");
}

#define REMEDY "change the policy, or set accept_unverified: true"

static void
refuse(kw_sample_verdict *self, kw_sample_result *result)
{
    const kw_path *path = self->placement->path;
    bool foreign = self->fit == KW_ROW_FOREIGN;
    const char *other = foreign ? find_alternative(self) : NULL;
    kw_error_set(&result->refusal, KW_REFUSED,
                 "table %s, path %s: row %s of store table %s %s: %s. %" G_GUINT64_FORMAT
                 " of the %" G_GUINT64_FORMAT " checked rows %s not fit%s%s; " REMEDY,
                 path->table->name, path->name, shown_key(self, self->key),
                 kw_layout_store_table(self->placement->layout),
                 foreign ? "does not follow the key rule" : "has a value that cannot be decoded", self->why,
                 result->misfits, result->rows, result->misfits == 1 ? "does" : "do",
                 other ? ", and all fit with " : "", other ? other : "");
}

/* Any eight bytes can be read as a time. If no row has a plausible time, and other settings make all times
 * plausible, the rule reads them wrongly. */
static void
check_times(kw_sample_verdict *self, kw_sample_result *result)
{
    const kw_path *path = self->placement->path;
    for (size_t i = 0; i < path->table->fields_count; i++) {
        if (self->improbable[i] == 0 || self->improbable[i] < result->rows)
            continue;
        const char *name = path->table->fields[i].name, *other = find_alternative(self);
        if (other)
            kw_error_set(&result->refusal, KW_REFUSED,
                         "table %s, path %s: in all %" G_GUINT64_FORMAT
                         " checked rows of store table %s, the time %s in the row key is not between "
                         "1970 and %d, but it is with %s; " REMEDY,
                         path->table->name, path->name, result->rows,
                         kw_layout_store_table(self->placement->layout), name, (int)YEARS_UNTIL, other);
        return;
    }
}

void
kw_sample_verdict_end(kw_sample_verdict *self, kw_sample_result *result)
{
    result->rows = g_hash_table_size(self->seen);
    result->misfits = self->misfits;
    result->refusal = KW_ERROR_NONE;
    if (self->misfits > 0)
        refuse(self, result);
    else
        check_times(self, result);
}

/* Rules that are allowed but likely to cause trouble. Each warning says what will happen and what would help.
 * Warnings never change a byte of a key. */
#include "rule/compile.h"
#include "rule/unique.h"
#include "schema/generated.h"

#include <glib.h>

typedef struct warner {
    const kw_table *table;
    const kw_path *path;
    const kw_layout *layout;
    kw_diagnostics *diagnostics;
    GHashTable
        *spreads; /* of the components tried so far: their text, and the types of the fields -> spread */
} warner;

/* --- buckets --------------------------------------------------------------------------------------- */

/* Components with more buckets than this are not tried. */
#define BUCKETS_TRIED 1024

/* Sequential values hashed for each bucket: with an even hash, no bucket then gets more than 1.3 times the
 * mean. */
#define VALUES_PER_BUCKET 400

/* A warning is printed if the fullest bucket has this multiple of the mean. */
#define UNEVEN 1.5

typedef struct spread {
    size_t reached;
    double fullest; /* as a multiple of the mean */
} spread;

/* Value `number` of sequential ids; for text ten digits. */
static kw_value
value_in_sequence(const kw_field *field, uint64_t number, kw_arena *arena)
{
    int64_t id = INT64_C(1000000000) + (int64_t)number;
    switch (kw_field_value_kind(field->type)) {
    case KW_VALUE_NUMBER:
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = id};
    case KW_VALUE_REAL:
        return (kw_value){.kind = KW_VALUE_REAL, .real = (double)id};
    case KW_VALUE_FLAG:
        return (kw_value){.kind = KW_VALUE_FLAG, .flag = number % 2};
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
    case KW_VALUE_MAP: /* not in keys */
    case KW_VALUE_NONE:
        break;
    }
    uint8_t *text = kw_arena_alloc(arena, 10);
    for (size_t digit = 10; digit-- > 0; id /= 10)
        text[digit] = (uint8_t)('0' + id % 10);
    return (kw_value){.kind = kw_field_value_kind(field->type), .bytes = kw_bytes_of(text, 10)};
}

typedef struct counted {
    kw_bytes piece;
    uint64_t count;
} counted;

static guint
hash_piece(gconstpointer key)
{
    const kw_bytes *piece = key;
    guint hash = 5381;
    for (size_t index = 0; index < piece->size; index++)
        hash = hash * 33 + piece->data[index];
    return hash;
}

static gboolean
equal_pieces(gconstpointer a, gconstpointer b)
{
    return kw_bytes_equal(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static void
count_piece(GHashTable *counts, kw_bytes piece, kw_arena *arena, uint64_t *fullest)
{
    counted *found = g_hash_table_lookup(counts, &piece);
    if (!found) {
        found = KW_ARENA_NEW(arena, counted);
        found->piece = kw_arena_copy(arena, piece);
        g_hash_table_insert(counts, &found->piece, found);
    }
    found->count++;
    *fullest = MAX(*fullest, found->count);
}

/* Hashes values_count sequential ids, with all other inputs constant. */
static bool
try_sequence(const kw_component *component, const kw_field *first, uint64_t values_count, spread *ret_spread)
{
    const kw_field_set *table = component->table;
    g_autoptr(kw_arena) kept = kw_arena_new();
    g_autoptr(kw_arena) arena = kw_arena_new();
    g_autoptr(GHashTable) counts = g_hash_table_new(hash_piece, equal_pieces);
    kw_value *values = KW_ARENA_ARRAY(kept, kw_value, table->fields_count);
    for (size_t field = 0; field < table->fields_count; field++)
        values[field] = value_in_sequence(&table->fields[field], 0, kept);
    uint64_t fullest = 0;
    bool good = true;
    for (uint64_t number = 0; good && number < values_count; number++) {
        uint8_t bytes[KW_DERIVED_PIECE_MAX], coded[8];
        kw_buffer piece = {.data = bytes, .capacity = sizeof bytes};
        kw_arena_reset(arena);
        kw_value value = value_in_sequence(first, number, arena);
        kw_bytes rest = KW_BYTES_NONE;
        if (component->of_rest && value.kind == KW_VALUE_NUMBER) {
            kw_be64_store(coded, (uint64_t)value.number ^ UINT64_C(1) << 63);
            rest = kw_bytes_of(coded, sizeof coded);
        } else if (component->of_rest) {
            rest = value.bytes;
        }
        values[first - table->fields] = value;
        good = component->kind->encode(component, values, rest, &piece, NULL);
        count_piece(counts, kw_buffer_bytes(&piece), kept, &fullest);
    }
    ret_spread->reached = g_hash_table_size(counts);
    ret_spread->fullest = (double)fullest * (double)component->buckets / (double)values_count;
    return good;
}

/* The field that mostly determines a bucket; NULL: there is none to try. */
static const kw_field *
deciding_field(const warner *self, size_t at)
{
    const kw_component *component = kw_layout_component(self->layout, at);
    for (size_t index = at; index < self->layout->count; index++) {
        const kw_component *next = kw_layout_component(self->layout, index);
        if (component->of_rest ? next->field >= 0 : next->inputs_count > 0) {
            const kw_field *field = &self->table->fields[next->inputs[0]];
            kw_value_kind kind = kw_field_value_kind(field->type);
            bool fits = kind == KW_VALUE_NUMBER || kind == KW_VALUE_TEXT || kind == KW_VALUE_BYTES;
            return fits && !field->model->values_count ? field : NULL;
        }
    }
    return NULL;
}

/* What determines the spread: the component, and the types of its fields. */
static char *
name_of_trial(const kw_component *component, const kw_field *first)
{
    GString *name = g_string_new(component->text);
    for (size_t index = 0; index < component->inputs_count; index++)
        g_string_append_printf(name, " %d", component->table->fields[component->inputs[index]].type);
    g_string_append_printf(name, " %d", first->type);
    return g_string_free(name, FALSE);
}

/* The spread of a component; false if it cannot be tried. Equal components of other tables are tried once. */
static bool
find_spread(const warner *self, const kw_component *component, const kw_field *field, spread *ret_spread)
{
    if (component->fullest > 0) {
        *ret_spread = (spread){component->buckets, component->fullest};
        return true;
    }
    g_autofree char *name = name_of_trial(component, field);
    const spread *known = g_hash_table_lookup(self->spreads, name);
    if (known) {
        *ret_spread = *known;
        return true;
    }
    if (!try_sequence(component, field, component->buckets * VALUES_PER_BUCKET, ret_spread))
        return false;
    g_hash_table_insert(self->spreads, g_steal_pointer(&name), g_memdup2(ret_spread, sizeof *ret_spread));
    return true;
}

static void
warn_spread(const warner *self, size_t at)
{
    const kw_component *component = kw_layout_component(self->layout, at);
    const kw_field *field = deciding_field(self, at);
    if (component->field >= 0 || !component->buckets || component->choice || !field ||
        component->buckets > BUCKETS_TRIED)
        return;
    spread found;
    if (!find_spread(self, component, field, &found) ||
        (found.reached == component->buckets && found.fullest < UNEVEN))
        return;
    g_autofree char *what = field->type == KW_FIELD_STRING
                                ? g_strdup_printf("sequential ten-digit values of %s", field->name)
                                : g_strdup_printf("sequential values of %s", field->name);
    kw_diagnostics_warn(
        self->diagnostics, component->mark,
        "a salt with the default algorithm xxh64 spreads them evenly; keep the present algorithm only for "
        "existing keys",
        "path %s, %s: %s use %zu of %llu buckets, and the fullest bucket gets %.1f times the mean",
        self->path->name, component->text, what, found.reached, (unsigned long long)component->buckets,
        found.fullest);
}

/* --- keys that grow -------------------------------------------------------------------------------- */

/* Why each new record's value is greater than the existing ones; NULL: it need not be. */
static const char *
why_growing(const kw_field *field)
{
    if (field->type == KW_FIELD_TIMESTAMP)
        return "a time";
    const kw_model_generate *generate = &field->model->generate;
    if (!generate->enabled)
        return NULL;
    if (generate->kind == KW_GENERATE_SEQUENCE)
        return "sequential";
    bool by_time = generate->kind == KW_GENERATE_UUID7 || generate->kind == KW_GENERATE_OBJECTID ||
                   (generate->kind == KW_GENERATE_SNOWFLAKE && !generate->partitioned);
    return by_time ? "generated in the order of time" : NULL;
}

static void
warn_growing(const warner *self)
{
    for (size_t index = 0; index < self->layout->count; index++) {
        const kw_component *component = kw_layout_component(self->layout, index);
        if (component->field < 0 && !component->inputs_count && !component->buckets)
            continue; /* a literal */
        const char *why = component->field >= 0 ? why_growing(&self->table->fields[component->field]) : NULL;
        if (why && component->direction != 0)
            kw_diagnostics_warn(
                self->diagnostics, component->mark,
                "start the key with a salt, such as - salt: {of: [ID], buckets: 16}, or a hash",
                "path %s: keys start with %s, which is %s, so at any moment all writes go to one region",
                self->path->name, self->table->fields[component->field].name, why);
        return;
    }
}

/* --- order and identity ---------------------------------------------------------------------------- */

static void
warn_unordered(const warner *self, const kw_component *component)
{
    const kw_model_setting *reverse = NULL;
    for (size_t index = 0; index < self->path->model->components_count; index++) {
        const kw_model_component *model = &self->path->model->components[index];
        if (model->mark.line == component->mark.line && model->mark.column == component->mark.column)
            reverse = kw_model_setting_find(model, "reverse");
    }
    const kw_field *field = component->field >= 0 ? &self->table->fields[component->field] : NULL;
    if (!field || component->direction != 0 || component->buckets || component->clock >= 0 ||
        (reverse && reverse->flag))
        return;
    kw_diagnostics_warn(
        self->diagnostics, component->mark,
        field->type == KW_FIELD_BYTES
            ? "encoding: fixed keeps the order, and so does raw at the end of the key"
            : "encoding: terminated (by \\x00) keeps the order",
        "path %s: with this encoding, keys are not in the order of %s; a range of it is checked row by row",
        self->path->name, field->name);
}

static void
warn_coarse(const warner *self)
{
    for (size_t field = 0; field < self->table->fields_count; field++) {
        if (!kw_layout_holds_coarsely(self->layout, field))
            continue;
        kw_diagnostics_warn(self->diagnostics, self->path->model->mark,
                            "if they must be different records, use a finer unit in the key",
                            "path %s: records that differ only in the part of %s that is finer than the unit "
                            "of the key are the same record",
                            self->path->name, self->table->fields[field].name);
    }
}

/* YAML resolves "\xFF" in double quotes to the character U+00FF, which is two bytes. */
static void
warn_resolved(const warner *self)
{
    for (size_t index = 0; index < self->path->model->components_count; index++) {
        const kw_model_component *component = &self->path->model->components[index];
        const kw_model_setting *text =
            strcmp(component->name, "literal") == 0 ? kw_model_setting_find(component, "text") : NULL;
        for (const char *at = text ? text->text : ""; *at; at = g_utf8_next_char(at)) {
            gunichar character = g_utf8_get_char(at);
            if (character < 0x80 || character > 0xff)
                continue;
            kw_diagnostics_warn(
                self->diagnostics, text->mark,
                "for a byte, write \\xNN in single quotes; in double quotes, YAML itself replaces it",
                "path %s: the literal has the character U+%04X, which has the two bytes \\x%02X\\x%02X",
                self->path->name, character, 0xc0 | character >> 6, 0x80 | (character & 0x3f));
            break;
        }
    }
}

/* --- times ----------------------------------------------------------------------------------------- */

/* The years from which and up to which a rule is expected to hold times. */
#define YEAR_FROM 2025
#define YEAR_TO 2100

static bool
holds_time(const kw_component *component, const kw_field *field, kw_value *values, int64_t seconds)
{
    static const int64_t per_second[] = {
        [KW_UNIT_S] = 1, [KW_UNIT_MS] = 1000, [KW_UNIT_US] = 1000000, [KW_UNIT_NS] = 1000000000};
    kw_buffer piece = KW_BUFFER_EMPTY;
    kw_error error;
    values[component->inputs[0]] =
        (kw_value){.kind = KW_VALUE_NUMBER, .number = seconds * per_second[field->unit]};
    bool held = component->kind->encode(component, values, KW_BYTES_NONE, &piece, &error);
    kw_buffer_clear(&piece);
    return held;
}

static int64_t
seconds_of_year(int year)
{
    g_autoptr(GDateTime) start = g_date_time_new_utc(year, 1, 1, 0, 0, 0);
    return g_date_time_to_unix(start);
}

/* Warns about a component that cannot hold all times up to YEAR_TO, and names the last day that it holds. */
static void
warn_last_day(const warner *self, const kw_component *component)
{
    const kw_field *field = component->inputs_count == 1 ? &self->table->fields[component->inputs[0]] : NULL;
    if (!field || field->type != KW_FIELD_TIMESTAMP || component->of_rest || component->choice)
        return;
    g_autofree kw_value *values = g_new0(kw_value, self->table->fields_count);
    int64_t held = 0, missed = seconds_of_year(YEAR_TO);
    if (holds_time(component, field, values, missed))
        return;
    if (!holds_time(component, field, values, held))
        held = seconds_of_year(YEAR_FROM);
    bool never = !holds_time(component, field, values, held);
    while (!never && missed - held > 1) {
        int64_t middle = held + (missed - held) / 2;
        *(holds_time(component, field, values, middle) ? &held : &missed) = middle;
    }
    g_autoptr(GDateTime) last = g_date_time_new_from_unix_utc(held);
    g_autofree char *day = g_date_time_format(last, never ? "%Y" : "%Y-%m-%d");
    kw_diagnostics_warn(self->diagnostics, component->mark, "use more bytes or digits, or a coarser unit",
                        "path %s: %s holds no time %s %s: such puts fail", self->path->name, component->text,
                        never ? "of" : "after", day);
}

static bool
has_part(const kw_model_setting *parts, const char *name)
{
    for (size_t index = 0; index < parts->texts_count; index++)
        if (strcmp(parts->texts[index], name) == 0)
            return true;
    return false;
}

/* Programs that format times confuse mm, the minute, with MM, the month. */
static void
warn_minutes(const warner *self)
{
    for (size_t index = 0; index < self->path->model->components_count; index++) {
        const kw_model_component *component = &self->path->model->components[index];
        const kw_model_setting *parts =
            strcmp(component->name, "calendar") == 0 ? kw_model_setting_find(component, "parts") : NULL;
        if (parts && has_part(parts, "mm") && !has_part(parts, "HH") && !has_part(parts, "MM") &&
            (has_part(parts, "dd") || has_part(parts, "yyyy") || has_part(parts, "yy")))
            kw_diagnostics_warn(self->diagnostics, parts->mark, "use MM for the month",
                                "path %s: mm is the minute of the hour, but the calendar has no hour",
                                self->path->name);
    }
}

/* Warns about a sequence that can exceed what the key holds: puts then fail, but not with LIMIT. */
static void
warn_outgrown(const warner *self, const kw_component *component)
{
    for (size_t input = 0; input < component->inputs_count; input++) {
        kw_error error = KW_ERROR_NONE;
        if (kw_generated_outgrows(component, component->inputs[input], &error))
            kw_diagnostics_warn(
                self->diagnostics, component->mark,
                "end the sequence (to) at the last number that fits; after it, puts fail with LIMIT",
                "path %s: a sequence without an end grows beyond %s: %s", self->path->name, component->text,
                error.text);
    }
}

static void
warn_wrapping(const warner *self)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (size_t index = 0; index < self->table->generated_count; index++) {
        size_t number = self->table->generated[index];
        const kw_model_generate *how = &self->table->fields[number].model->generate;
        if (kw_unique_any(self->layout, false, arena) ||
            kw_unique_of(self->layout, number, false, arena) != KW_UNIQUE_A_WHILE)
            continue;
        kw_diagnostics_warn(self->diagnostics, how->mark,
                            "use a range that lasts longer than the unit of time in the key",
                            "path %s: the numbers of field %s start again after %" G_GINT64_FORMAT
                            " (at_end: wrap); if this happens within the unit of time in the key, new "
                            "records replace old ones",
                            self->path->name, self->table->fields[number].name, how->to);
    }
}

static void
warn_choice(const warner *self)
{
    kw_choice choice = kw_layout_choice(self->layout);
    if (!choice.kind || self->table->locators)
        return;
    kw_diagnostics_warn(self->diagnostics, self->path->model->mark,
                        "add an association: paths: {by_id: {association: true, key: [...]}}",
                        "path %s: each put chooses a bucket, so %s", self->path->name,
                        self->path == self->table->paths ? "each lookup reads a row in every bucket"
                                                         : "each removal goes to every bucket");
}

static void
warn_path(const warner *self)
{
    warn_growing(self);
    warn_choice(self);
    warn_resolved(self);
    warn_minutes(self);
    if (self->path == self->table->paths) {
        warn_coarse(self);
        warn_wrapping(self);
    }
    for (size_t index = 0; index < self->layout->count; index++) {
        warn_spread(self, index);
        warn_unordered(self, kw_layout_component(self->layout, index));
        warn_outgrown(self, kw_layout_component(self->layout, index));
        warn_last_day(self, kw_layout_component(self->layout, index));
    }
}

/* --- tables ---------------------------------------------------------------------------------------- */

static void
warn_same_rule(const kw_table *table, kw_diagnostics *diagnostics)
{
    for (size_t index = 1; index < table->queried_paths_count; index++) {
        for (size_t before = 0; before < index; before++) {
            const kw_path *path = &table->paths[index], *first = &table->paths[before];
            if (strcmp(kw_layout_fingerprint(path->layout), kw_layout_fingerprint(first->layout)) == 0)
                kw_diagnostics_warn(diagnostics, path->model->mark, "remove one of them",
                                    "path %s has the same key rule as path %s, so it serves no other queries",
                                    path->name, first->name);
        }
    }
}

static bool
uses_family(const kw_table *table, const char *name)
{
    bool used = kw_bytes_equal(table->default_family, kw_bytes_of_text(name)) || /* control cells */
                kw_bytes_equal(table->marker_family, kw_bytes_of_text(name));
    for (size_t field = 0; field < table->fields_count && !used; field++)
        used = table->fields[field].stored &&
               kw_bytes_equal(table->fields[field].family, kw_bytes_of_text(name));
    return used;
}

static void
warn_families(const kw_table *table, kw_diagnostics *diagnostics)
{
    for (size_t index = 0; index < table->model->families_count; index++) {
        const kw_model_family *family = &table->model->families[index];
        if (!uses_family(table, family->name))
            kw_diagnostics_warn(diagnostics, family->mark,
                                "remove the family, or give a field a column in it",
                                "table %s: no field is stored in family %s", table->name, family->name);
    }
}

void
kw_policy_warn(const kw_policy *policy, kw_diagnostics *diagnostics)
{
    g_autoptr(GHashTable) spreads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (size_t number = 0; number < kw_policy_table_count(policy); number++) {
        const kw_table *table = kw_policy_table(policy, number);
        warn_families(table, diagnostics);
        warn_same_rule(table, diagnostics);
        for (size_t index = 0; index < table->paths_count; index++) {
            const kw_path *path = &table->paths[index];
            warn_path(&(warner){table, path, path->layout, diagnostics, spreads});
        }
    }
}

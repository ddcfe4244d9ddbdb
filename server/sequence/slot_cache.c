/* The slots of one loop, by the names of their counters. If there are many, a new slot causes idle slots of
 * periods to be dropped. */
#include "sequence/sequence_internal.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 300
#define SLOTS_MANY 256 /* from this number on, idle slots are dropped */
#define SLOT_IDLE_NS (UINT64_C(120) * 1000000000)

typedef struct zone {
    struct zone *next;
    const kw_zone *zone;
} zone;

struct kw_slot_cache {
    kw_generator *generator;
    const kw_model_sequences *settings;
    GHashTable *slots; /* &name -> kw_slot */
    kw_slot *first;
    kw_arena *arena; /* of the zones */
    zone *zones;
};

static guint
hash_name(gconstpointer name)
{
    return (guint)kw_bytes_hash(*(const kw_bytes *)name);
}

static gboolean
equal_names(gconstpointer a, gconstpointer b)
{
    return kw_bytes_equal(*(const kw_bytes *)a, *(const kw_bytes *)b);
}

static gboolean
is_unused(gpointer key, gpointer value, gpointer user)
{
    const kw_slot *slot = value;
    (void)key;
    return slot->keeping != KW_KEEP_EVER && kw_slot_idle(slot) &&
           *(const uint64_t *)user - slot->last_used_ns > SLOT_IDLE_NS;
}

static bool
same_range(const kw_number_range *a, const kw_number_range *b)
{
    return a->from == b->from && a->length == b->length && a->wrap == b->wrap;
}

/* Names of counters: TABLE/FIELD, or TABLE/FIELD/PERIOD/INDEX; `series` is the size of TABLE/FIELD. */
typedef struct counter_name {
    char text[NAME_MAX_BYTES];
    size_t series;
    size_t size;
} counter_name;

static void
add_period(counter_name *name, kw_period per, int64_t index)
{
    char *end = name->text + name->series;
    int size = per == KW_PERIOD_EVER ? 0
                                     : snprintf(end, NAME_MAX_BYTES - name->series, "/%s/%" G_GINT64_FORMAT,
                                                kw_period_name(per), (gint64)index);
    g_assert(size >= 0 && name->series + (size_t)size < NAME_MAX_BYTES);
    name->size = name->series + (size_t)size;
}

static kw_bytes
bytes_of(const counter_name *name)
{
    return kw_bytes_of(name->text, name->size);
}

/* "table TABLE, field FIELD", and for a period ", minute 2026-11-21 12:34" */
static char *
label_of(const counter_name *name, const kw_slot_period *of)
{
    char period[KW_PERIOD_TEXT_MAX];
    g_autofree char *series = g_strndup(name->text, name->series);
    char *field = strchr(series, '/');
    *field++ = '\0';
    if (of->per == KW_PERIOD_EVER)
        return g_strdup_printf("table %s, field %s", series, field);
    kw_period_print(of->per, &of->at, period, sizeof period);
    return g_strdup_printf("table %s, field %s, %s %s", series, field, kw_period_name(of->per), period);
}

/* True if numbers of the preceding period were requested. */
static bool
follows(kw_slot_cache *self, const counter_name *name, const kw_slot_period *period)
{
    counter_name before = *name;
    if (period->per == KW_PERIOD_EVER)
        return false;
    add_period(&before, period->per, period->at.index - 1);
    kw_bytes key = bytes_of(&before);
    const kw_slot *slot = g_hash_table_lookup(self->slots, &key);
    return slot && slot->period.used;
}

static kw_slot *
add_slot(kw_slot_cache *self, const counter_name *name, const kw_number_range *range,
         const kw_slot_period *period)
{
    uint64_t now_ns = kw_clock_mono_ns();
    if (g_hash_table_size(self->slots) >= SLOTS_MANY)
        g_hash_table_foreach_remove(self->slots, is_unused, &now_ns);
    kw_slot *slot = kw_slot_new(self->generator, kw_bytes_of(g_memdup2(name->text, name->size), name->size),
                                label_of(name, period), range, period);
    slot->period.follows = follows(self, name, period);
    slot->last_used_ns = now_ns;
    slot->series = name->series;
    g_hash_table_insert(self->slots, &slot->name, slot);
    slot->next = self->first;
    slot->at = &self->first;
    if (slot->next)
        slot->next->at = &slot->next;
    self->first = slot;
    return slot;
}

/* Returns the slot, created if missing. */
static kw_slot *
slot_of(kw_slot_cache *self, counter_name *name, const kw_number_range *range, const kw_slot_period *period)
{
    add_period(name, period->per, period->at.index);
    kw_bytes key = bytes_of(name);
    kw_slot *slot = g_hash_table_lookup(self->slots, &key);
    return slot ? slot : add_slot(self, name, range, period);
}

static kw_slot *
slot_at(kw_slot_cache *self, const kw_table *table, const kw_field *field, const kw_slot_period *period)
{
    counter_name name;
    kw_number_range range = kw_number_range_of(&field->model->generate);
    int size = snprintf(name.text, sizeof name.text, "%s/%s", table->name, field->name);
    g_assert(size > 0 && (size_t)size < sizeof name.text);
    name.series = (size_t)size;
    kw_slot *slot = slot_of(self, &name, &range, period);
    if (!same_range(&slot->range,
                    &range)) /* a reload changed the range; the slot holds numbers of the old one */
        slot->block = slot->ahead = (kw_block){0, 0}, slot->used_up = false;
    slot->range = range;
    slot->period.at = period->at;
    slot->last_used_ns = kw_clock_mono_ns();
    return slot;
}

kw_slot *
kw_slot_cache_after(kw_slot_cache *self, const kw_slot *slot)
{
    counter_name name;
    kw_slot_period next = {.per = slot->period.per, .zone = slot->period.zone};
    int64_t end_ms = slot->period.at.end_ms - slot->period.at.shift_ms;
    if (!kw_period_find(next.per, next.zone, KW_UNIT_MS, end_ms, &next.at))
        return NULL;
    name.series = slot->series;
    memcpy(name.text, slot->name.data, name.series);
    return slot_of(self, &name, &slot->range, &next);
}

static const kw_zone *
zone_of(kw_slot_cache *self, const char *name)
{
    if (!*name || strcmp(name, "UTC") == 0)
        return NULL;
    for (zone *known = self->zones; known; known = known->next)
        if (strcmp(known->zone->given, name) == 0)
            return known->zone;
    zone *fresh = KW_ARENA_NEW(self->arena, zone);
    *fresh = (zone){self->zones, kw_zone_make(name, NULL, self->arena)};
    self->zones = fresh;
    return fresh->zone;
}

/* False if the period is too far away: its counter can have expired, and numbers could be assigned twice. */
static bool
check_keeping(kw_slot_cache *self, const kw_table *table, const kw_field *field, const kw_period_at *at,
              kw_error *ret_error)
{
    int64_t keep_ms = self->settings->keep_ms;
    int64_t now_ms = kw_clock_wall_ms() + at->shift_ms;
    bool late = now_ms - keep_ms >= at->end_ms, early = now_ms + keep_ms < at->start_ms;
    if (!late && !early)
        return true;
    char period[KW_PERIOD_TEXT_MAX];
    kw_period_print(field->model->generate.per, at, period, sizeof period);
    return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: the %s %s %s than sequences.keep allows",
                        table->name, field->name, kw_period_name(field->model->generate.per), period,
                        late ? "ended longer ago" : "begins later");
}

kw_slot *
kw_slot_cache_find(kw_slot_cache *self, const kw_table *table, const kw_field *field, const kw_value *values,
                   kw_error *ret_error)
{
    const kw_model_generate *how = &field->model->generate;
    kw_slot_period period = {.per = how->per};
    if (how->per == KW_PERIOD_EVER)
        return slot_at(self, table, field, &period);
    int number = kw_table_find_field(table, kw_bytes_of_text(how->of));
    g_assert(number >= 0);
    kw_value time = values[number];
    if (time.kind != KW_VALUE_NUMBER) {
        kw_error_set(ret_error, KW_INVALID,
                     "table %s, field %s: its numbers restart per %s of %s, which is missing", table->name,
                     field->name, kw_period_name(how->per), how->of);
        return NULL;
    }
    period.zone = zone_of(self, how->zone);
    if (!kw_period_find(how->per, period.zone, table->fields[number].unit, time.number, &period.at)) {
        kw_error_set(ret_error, KW_INVALID, "table %s, field %s: %s is not within the years 1 to 9999",
                     table->name, field->name, how->of);
        return NULL;
    }
    if (!check_keeping(self, table, field, &period.at, ret_error))
        return NULL;
    return slot_at(self, table, field, &period);
}

static void
free_slot(gpointer given)
{
    kw_slot *slot = given;
    *slot->at = slot->next;
    if (slot->next)
        slot->next->at = slot->at;
    kw_slot_free(slot);
}

kw_slot_cache *
kw_slot_cache_new(kw_generator *generator, const kw_model_sequences *settings)
{
    kw_slot_cache *self = g_new0(kw_slot_cache, 1);
    *self = (kw_slot_cache){.generator = generator, .settings = settings, .arena = kw_arena_new()};
    self->slots = g_hash_table_new_full(hash_name, equal_names, NULL, free_slot);
    return self;
}

kw_slot *
kw_slot_cache_first(const kw_slot_cache *self)
{
    return self->first;
}

void
kw_slot_cache_free(kw_slot_cache *self)
{
    g_hash_table_unref(self->slots);
    kw_arena_free(self->arena);
    g_free(self);
}

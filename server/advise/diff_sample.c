/* Generates random records that the old and the new table accept, and compares their keys under the old and
 * the new rule. */
#include "advise/diff_internal.h"

#include <glib.h>
#include <stdio.h>

/* Number of random records: a share is accurate to about half a percent. */
#define RECORDS 20000
/* Approximate costs of one record, and of finding the form of a field, in units of an effort. */
#define RECORD_COST 1000
#define FORM_COST 50000

/* Shapes of random values; every encoding accepts some of them. */
#define LENGTHS 64
enum {
    FORM_PLAIN,
    FORM_SHORT,
    FORM_UUID,
    FORM_DIGITS,
    FORM_RAW = FORM_DIGITS + LENGTHS,
    FORMS = FORM_RAW + LENGTHS
};

/* splitmix64 (Steele, Lea, Flood 2014): generates the same records every time. */
static uint64_t
roll(uint64_t *dice)
{
    uint64_t mixed = (*dice += UINT64_C(0x9e3779b97f4a7c15));
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static kw_value
text_value(const kw_field *field, int form, uint64_t *dice, kw_arena *arena)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *text = kw_arena_alloc(arena, LENGTHS + 8);
    size_t size = form == FORM_PLAIN   ? 12
                  : form == FORM_SHORT ? 1
                  : form == FORM_UUID  ? 36
                  : form >= FORM_RAW   ? (size_t)(form - FORM_RAW) + 1
                                       : (size_t)(form - FORM_DIGITS) + 1;
    bool digits = form >= FORM_DIGITS && form < FORM_RAW;
    for (size_t at = 0; at < size; at++) {
        uint64_t random = roll(dice);
        text[at] = digits || form == FORM_UUID ? (char)('0' + random % 10) : letters[random % 36];
        if (form == FORM_UUID && (at == 8 || at == 13 || at == 18 || at == 23))
            text[at] = '-';
    }
    return (kw_value){.kind = kw_field_value_kind(field->type), .bytes = kw_bytes_of(text, size)};
}

static kw_value
number_value(const kw_field *field, int form, uint64_t *dice)
{
    static const int64_t per_second[] = {1, 1000, 1000000, 1000000000};
    int64_t number = (int64_t)(roll(dice) % 1000000000);
    if (form == FORM_SHORT)
        number %= 100;
    else if (field->type == KW_FIELD_TIMESTAMP)
        number = (1700000000 + number % 94608000) * per_second[field->unit] +
                 (int64_t)(roll(dice) % (uint64_t)per_second[field->unit]);
    else
        number += 1000000000;
    return (kw_value){.kind = KW_VALUE_NUMBER, .number = number};
}

static kw_value
declared_value(const kw_field *field, uint64_t *dice)
{
    const char *text = field->model->values[roll(dice) % field->model->values_count];
    if (field->type == KW_FIELD_INT)
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = g_ascii_strtoll(text, NULL, 10)};
    return (kw_value){.kind = kw_field_value_kind(field->type), .bytes = kw_bytes_of_text(text)};
}

static kw_value
random_value(const kw_field *field, int form, uint64_t *dice, kw_arena *arena)
{
    if (field->model->values_count > 0)
        return declared_value(field, dice);
    switch (kw_field_value_kind(field->type)) {
    case KW_VALUE_FLAG:
        return (kw_value){.kind = KW_VALUE_FLAG, .flag = roll(dice) % 2};
    case KW_VALUE_NUMBER:
        return number_value(field, form, dice);
    case KW_VALUE_REAL:
        return (kw_value){.kind = KW_VALUE_REAL, .real = (double)(roll(dice) % 10000)};
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        return text_value(field, form, dice, arena);
    case KW_VALUE_MAP: /* not in keys */
    case KW_VALUE_NONE:
        break;
    }
    g_assert_not_reached();
}

/* True if the table accepts the value, and so does every component that reads only this field. */
static bool
fits(const kw_table *table, size_t field, kw_value value, kw_arena *arena)
{
    bool good = kw_table_check_value(table, field, value, NULL);
    kw_value *values = KW_ARENA_ARRAY(arena, kw_value, table->fields_count);
    values[field] = value;
    for (size_t path = 0; good && path < table->paths_count; path++) {
        const kw_layout *layout = table->paths[path].layout;
        for (size_t index = 0; good && index < kw_layout_component_count(layout); index++) {
            const kw_component *component = kw_layout_component(layout, index);
            g_auto(kw_buffer) piece = KW_BUFFER_EMPTY;
            if (component->inputs_count == 1 && component->inputs[0] == field)
                good = component->kind->encode(component, values, KW_BYTES_NONE, &piece, NULL);
        }
    }
    return good;
}

/* The first form whose values fit both tables (see `fits`); -1: there is none. `other` is the field's number
 * in the other table, SIZE_MAX if it has no such field. */
static int
form_of(const kw_table *table, size_t field, const kw_table *other_table, size_t other)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    uint64_t dice = 1;
    if (table->fields[field].type == KW_FIELD_MAP) /* keys and ranges do not depend on it */
        return -1;
    for (int form = 0; form < FORMS; form++) {
        bool good = true;
        for (int trial = 0; trial < 3 && good; trial++) {
            kw_value value = random_value(&table->fields[field], form, &dice, arena);
            good = fits(table, field, value, arena) &&
                   (other == SIZE_MAX || fits(other_table, other, value, arena));
        }
        if (good)
            return form;
    }
    return -1;
}

void
kw_diff_records_make(const kw_table *old, const kw_table *fresh, const kw_diff_sample *sample,
                     kw_arena *arena, kw_diff_records *ret_records)
{
    kw_diff_records records = {.old = old, .fresh = fresh, .effort = sample->effort, .count = RECORDS};
    if (sample->table == old) {
        records.sample = sample->records;
        records.count = sample->count;
    }
    records.forms = KW_ARENA_ARRAY(arena, int, old->fields_count);
    records.new_forms = KW_ARENA_ARRAY(arena, int, fresh->fields_count);
    records.old_of = KW_ARENA_ARRAY(arena, size_t, fresh->fields_count);
    for (size_t field = 0; field < fresh->fields_count && kw_effort_spend(sample->effort, FORM_COST);
         field++) {
        int found = kw_table_find_field(old, kw_bytes_of_text(fresh->fields[field].name));
        bool same = found >= 0 && old->fields[found].type == fresh->fields[field].type;
        records.old_of[field] = same ? (size_t)found : SIZE_MAX;
        if (!same)
            records.new_forms[field] = form_of(fresh, field, NULL, SIZE_MAX);
    }
    for (size_t field = 0; field < old->fields_count && kw_effort_spend(sample->effort, FORM_COST); field++) {
        size_t other = 0;
        while (other < fresh->fields_count && records.old_of[other] != field)
            other++;
        records.forms[field] = form_of(old, field, fresh, other < fresh->fields_count ? other : SIZE_MAX);
    }
    *ret_records = records;
}

void
kw_diff_record(const kw_diff_records *records, size_t number, kw_arena *arena, kw_record *ret_old,
               kw_record *ret_fresh)
{
    const kw_table *old = records->old, *fresh = records->fresh;
    uint64_t dice = number << 32;
    kw_record before = kw_record_new(old, arena), after = kw_record_new(fresh, arena);
    for (size_t field = 0; field < old->fields_count; field++) {
        if (records->sample)
            before.values[field] = records->sample[number].values[field];
        else if (records->forms[field] >= 0)
            before.values[field] = random_value(&old->fields[field], records->forms[field], &dice, arena);
    }
    for (size_t field = 0; field < fresh->fields_count; field++) {
        size_t same = records->old_of[field];
        if (same != SIZE_MAX)
            after.values[field] = before.values[same];
        else if (records->new_forms[field] >= 0)
            after.values[field] =
                random_value(&fresh->fields[field], records->new_forms[field], &dice, arena);
    }
    *ret_old = before;
    *ret_fresh = after;
}

/* --- moves ----------------------------------------------------------------------------------------- */

/* Lists the components that determine where a key is stored: computed ones, but neither literals nor buckets
 * that a put chooses. */
static size_t
list_spreading(const kw_layout *layout, size_t *to)
{
    size_t count = 0;
    for (size_t index = 0; index < kw_layout_component_count(layout); index++) {
        const kw_component *component = kw_layout_component(layout, index);
        if (component->field < 0 && !component->choice && (component->inputs_count > 0 || component->of_rest))
            to[count++] = index;
    }
    return count;
}

typedef struct moves {
    size_t pairs;
    size_t old_at[KW_RULE_COMPONENTS_MAX], fresh_at[KW_RULE_COMPONENTS_MAX];
    size_t moved[KW_RULE_COMPONENTS_MAX]; /* by pair */
    size_t keys;                          /* records whose key changes */
    size_t counted;
} moves;

static void
count_moves(const kw_diff_records *records, const kw_layout *old, const kw_layout *fresh, moves *to)
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    for (size_t number = 0; number < records->count && kw_effort_spend(records->effort, RECORD_COST);
         number++) {
        kw_record before, after;
        kw_key_piece *old_pieces, *fresh_pieces;
        size_t old_count, fresh_count;
        kw_arena_reset(arena);
        kw_diff_record(records, number, arena, &before, &after);
        if (!kw_layout_pieces(old, &before, arena, &old_pieces, &old_count, NULL) ||
            !kw_layout_pieces(fresh, &after, arena, &fresh_pieces, &fresh_count, NULL))
            continue;
        to->counted++;
        bool same = old_count == fresh_count;
        for (size_t at = 0; same && at < old_count; at++)
            same = kw_bytes_equal(old_pieces[at].bytes, fresh_pieces[at].bytes);
        to->keys += !same;
        for (size_t pair = 0; pair < to->pairs; pair++)
            to->moved[pair] +=
                !kw_bytes_equal(old_pieces[to->old_at[pair]].bytes, fresh_pieces[to->fresh_at[pair]].bytes);
    }
}

void
kw_diff_moves(const kw_diff_records *records, const kw_layout *old, const kw_layout *fresh, kw_buffer *out)
{
    moves found = {.pairs = 0};
    size_t old_count = list_spreading(old, found.old_at), fresh_count = list_spreading(fresh, found.fresh_at);
    found.pairs = MIN(old_count, fresh_count);
    count_moves(records, old, fresh, &found);
    const char *which = records->sample ? "given" : "random";
    if (found.counted == 0) {
        kw_buffer_printf(out,
                         "    no record has keys under both rules; pass a sample of records that have\n");
        return;
    }
    double all = (double)found.counted;
    for (size_t pair = 0; pair < found.pairs; pair++) {
        const char *before = kw_layout_component_text(old, found.old_at[pair]),
                   *after = kw_layout_component_text(fresh, found.fresh_at[pair]);
        if (strcmp(before, after) != 0)
            kw_buffer_printf(out, "    %s: %.1f %% of %zu %s records move\n",
                             kw_layout_component(fresh, found.fresh_at[pair])->kind->schema->name,
                             100 * (double)found.moved[pair] / all, found.counted, which);
    }
    kw_buffer_printf(out, "    %.1f %% of %zu %s records get another row key\n",
                     100 * (double)found.keys / all, found.counted, which);
}

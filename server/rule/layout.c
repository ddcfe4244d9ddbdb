/* Converts records to row keys and back. compile.c creates layouts.
 *
 *   encode   front to back; pieces computed over the rest of the key last, from the back
 *   decode   split (from the front to the open-ended component, the others from the back), decode the
 *            fields, then compare every other piece with its encoding from the decoded fields (also the piece
 *            of a calendar or bits, if other components store the same fields exactly)
 */
#include "rule/compile.h"

static bool
encode_piece(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
             kw_error *ret_error)
{
    return component->kind->encode(component, values, rest, out, ret_error);
}

/* Fills the pieces whose places were reserved, the last one first. */
static bool
encode_rest_pieces(const kw_layout *layout, const kw_value *values, const size_t *places, kw_buffer *out,
                   kw_error *ret_error)
{
    for (size_t index = layout->count; index > 0; index--) {
        const kw_component *component = layout->components[index - 1];
        if (!component->of_rest)
            continue;
        uint8_t bytes[KW_DERIVED_PIECE_MAX];
        kw_buffer piece = {.data = bytes, .capacity = sizeof bytes};
        uint8_t *place = out->data + places[index - 1];
        kw_bytes rest =
            kw_bytes_of(place + component->width, out->size - places[index - 1] - component->width);
        if (!encode_piece(component, values, rest, &piece, ret_error))
            return false;
        g_assert(piece.size == component->width);
        memcpy(place, bytes, piece.size);
    }
    return true;
}

static bool
encode_all(const kw_layout *layout, const kw_value *values, uint32_t choice, size_t *places, kw_buffer *out,
           kw_error *ret_error)
{
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        places[index] = out->size;
        if (component->of_rest) {
            memset(kw_buffer_reserve(out, component->width), 0, component->width);
            out->size += component->width;
        } else if (component->choice) {
            component->kind->choose(component, choice, out);
        } else if (!encode_piece(component, values, KW_BYTES_NONE, out, ret_error)) {
            return false;
        }
    }
    return !layout->has_rest || encode_rest_pieces(layout, values, places, out, ret_error);
}

/* HBase accepts neither an empty row key nor one beyond its limit. Names the field whose piece is the
 * longest. */
static bool
refuse_size(const kw_layout *layout, const size_t *places, size_t before, size_t end, kw_error *ret_error)
{
    const char *table = layout->table->name, *path = layout->model->name;
    const kw_component *longest = NULL;
    size_t most = 0;
    for (size_t index = 0; index < layout->count; index++) {
        size_t size = (index + 1 < layout->count ? places[index + 1] : end) - places[index];
        if (layout->components[index]->field < 0 || (longest && size <= most))
            continue;
        longest = layout->components[index];
        most = size;
    }
    g_assert(longest); /* a rule without a field is rejected */
    const char *field = layout->table->fields[longest->field].name;
    if (end == before)
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s, field %s: is empty, so the row key of path %s would be empty, which stores reject",
            table, field, path);
    return kw_error_set(ret_error, KW_INVALID,
                        "table %s, field %s: has %zu bytes in the row key of path %s, which would have %zu "
                        "bytes; the maximum is %d",
                        table, field, most, path, end - before, KW_ROW_KEY_MAX);
}

/* places: where each piece begins in out; `out` is unchanged on failure. */
static bool
encode_checked(const kw_layout *layout, const kw_value *values, uint32_t choice, size_t *places,
               kw_buffer *out, kw_error *ret_error)
{
    size_t before = out->size;
    g_assert(choice < layout->choice.buckets);
    bool done = encode_all(layout, values, choice, places, out, ret_error);
    size_t size = out->size - before;
    if (done && (size == 0 || size > KW_ROW_KEY_MAX))
        done = refuse_size(layout, places, before, out->size, ret_error);
    if (!done)
        out->size = before;
    return done;
}

bool
kw_layout_encode_values(const kw_layout *layout, const kw_value *values, uint32_t choice, kw_buffer *out,
                        kw_error *ret_error)
{
    g_assert(choice < layout->choice.buckets);
    size_t places[KW_RULE_COMPONENTS_MAX];
    return encode_checked(layout, values, choice, places, out, ret_error);
}

bool
kw_layout_encode(const kw_layout *layout, const kw_record *record, kw_buffer *out, kw_error *ret_error)
{
    return kw_layout_encode_values(layout, record->values, 0, out, ret_error);
}

bool
kw_layout_encode_chosen(const kw_layout *layout, const kw_record *record, uint32_t choice, kw_buffer *out,
                        kw_error *ret_error)
{
    return kw_layout_encode_values(layout, record->values, choice, out, ret_error);
}

kw_choice
kw_layout_choice(const kw_layout *layout)
{
    return layout->choice;
}

static bool
not_ours(const kw_layout *layout, const char *why, kw_error *ret_error)
{
    return kw_error_set(ret_error, KW_CORRUPT,
                        "table %s: a row key in store table %s does not follow the rule of path %s: %s",
                        layout->table->name, layout->model->store_table, layout->model->name, why);
}

size_t
kw_layout_measure(const kw_layout *layout, size_t index, kw_bytes rest)
{
    const kw_component *component = layout->components[index];
    if (index == layout->open)
        return rest.size < layout->tail_width ? SIZE_MAX : rest.size - layout->tail_width;
    return component->width ? component->width : component->kind->measure(component, rest);
}

bool
kw_layout_cut(const kw_layout *layout, kw_bytes key, kw_bytes *pieces, kw_error *ret_error)
{
    if (key.size == 0 || key.size > KW_ROW_KEY_MAX)
        return not_ours(layout, "it is empty or too long for any row key", ret_error);
    for (size_t index = 0; index < layout->count; index++) {
        size_t size = kw_layout_measure(layout, index, key);
        if (size > key.size)
            return not_ours(layout, "it is too short", ret_error);
        pieces[index] = kw_bytes_of(key.data, size);
        key = kw_bytes_skip(key, size);
    }
    return key.size == 0 || not_ours(layout, "it is too long", ret_error);
}

/* True if the piece has the bytes that its component encodes from the decoded fields. A chosen bucket can be
 * any of the buckets. */
static bool
check_derived(const kw_layout *layout, size_t index, const kw_value *values, kw_bytes piece, kw_bytes key,
              kw_error *ret_error)
{
    const kw_component *component = layout->components[index];
    uint8_t bytes[KW_DERIVED_PIECE_MAX];
    kw_buffer expected = {.data = bytes, .capacity = sizeof bytes};
    if (component->choice)
        return component->kind->chosen(component, piece) != UINT32_MAX ||
               not_ours(layout, component->text, ret_error);
    const uint8_t *end = piece.data + piece.size;
    kw_bytes rest = kw_bytes_of(end, (size_t)(key.data + key.size - end));
    if (!encode_piece(component, values, rest, &expected, ret_error))
        return layout->stored_elsewhere[index] ? not_ours(layout, component->text, ret_error) : false;
    return kw_bytes_equal(piece, kw_buffer_bytes(&expected)) || not_ours(layout, component->text, ret_error);
}

bool
kw_layout_decode(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                 kw_error *ret_error)
{
    kw_bytes pieces[KW_RULE_COMPONENTS_MAX];
    if (!kw_layout_cut(layout, key, pieces, ret_error))
        return false;
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        if (component->field >= 0 &&
            !component->kind->decode(component, pieces[index], arena, record->values, ret_error))
            return false;
    }
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        if ((component->field < 0 || layout->stored_elsewhere[index]) &&
            !check_derived(layout, index, record->values, pieces[index], key, ret_error))
            return false;
    }
    return true;
}

static const char *
piece_text(const kw_component *component, kw_arena *arena)
{
    if (!component->choice)
        return component->text;
    return kw_arena_printf(arena, "%s, chosen at each put: one of %" G_GUINT64_FORMAT, component->text,
                           component->buckets);
}

bool
kw_layout_pieces(const kw_layout *layout, const kw_record *record, kw_arena *arena, kw_key_piece **ret_pieces,
                 size_t *ret_count, kw_error *ret_error)
{
    return kw_layout_pieces_chosen(layout, record, 0, arena, ret_pieces, ret_count, ret_error);
}

bool
kw_layout_pieces_chosen(const kw_layout *layout, const kw_record *record, uint32_t choice, kw_arena *arena,
                        kw_key_piece **ret_pieces, size_t *ret_count, kw_error *ret_error)
{
    g_assert(choice < layout->choice.buckets);
    size_t places[KW_RULE_COMPONENTS_MAX];
    g_auto(kw_buffer) out = KW_BUFFER_EMPTY;
    bool done = encode_checked(layout, record->values, choice, places, &out, ret_error);
    if (done) {
        kw_bytes key = kw_arena_copy(arena, kw_buffer_bytes(&out));
        kw_key_piece *pieces = KW_ARENA_ARRAY(arena, kw_key_piece, layout->count);
        for (size_t index = 0; index < layout->count; index++) {
            size_t end = index + 1 < layout->count ? places[index + 1] : key.size;
            pieces[index].component = piece_text(layout->components[index], arena);
            pieces[index].bytes = kw_bytes_of(key.data + places[index], end - places[index]);
        }
        *ret_pieces = pieces;
        *ret_count = layout->count;
    }
    return done;
}

bool
kw_layout_holds_field(const kw_layout *layout, size_t field)
{
    g_assert(field < layout->table->fields_count);
    return kw_layout_holds(layout, field);
}

bool
kw_layout_holds_coarsely(const kw_layout *layout, size_t field)
{
    g_assert(field < layout->table->fields_count);
    return layout->units[field] > 1;
}

/* Several components together can store more than one alone, for example a calendar of months and one of
 * hours. */
bool
kw_layout_alike(const kw_layout *layout, size_t field, kw_value a, kw_value b)
{
    if (!kw_layout_holds_coarsely(layout, field))
        return kw_value_equal(a, b);
    for (size_t index = 0; index < layout->count; index++) {
        const kw_component *component = layout->components[index];
        int64_t left, right;
        if (component->field != (int)field)
            continue;
        if (!component->kind->code(component, a, &left) || !component->kind->code(component, b, &right) ||
            left != right)
            return false;
    }
    return true;
}

bool
kw_layout_code(const kw_layout *layout, size_t field, kw_value value, int64_t *ret_code)
{
    g_assert(kw_layout_holds_coarsely(layout, field));
    size_t index = 0;
    while (layout->components[index]->field != (int)field)
        index++;
    return layout->components[index]->kind->code(layout->components[index], value, ret_code);
}

const char *
kw_layout_fingerprint(const kw_layout *layout)
{
    return layout->fingerprint;
}

const char *
kw_layout_description(const kw_layout *layout)
{
    return layout->description;
}

size_t
kw_layout_bucket_component(const kw_layout *layout)
{
    size_t index = 0;
    while (index < layout->count &&
           (layout->components[index]->buckets < 2 || layout->components[index]->field >= 0))
        index++;
    return index;
}

uint64_t
kw_layout_buckets(const kw_layout *layout)
{
    return layout->buckets;
}

uint32_t
kw_layout_number(const kw_layout *layout)
{
    return (uint32_t)layout->model->layout;
}

const char *
kw_layout_store_table(const kw_layout *layout)
{
    return layout->model->store_table;
}

const kw_field_set *
kw_layout_fields(const kw_layout *layout)
{
    return layout->table;
}

size_t
kw_layout_component_count(const kw_layout *layout)
{
    return layout->count;
}

const kw_component *
kw_layout_component(const kw_layout *layout, size_t index)
{
    g_assert(index < layout->count);
    return layout->components[index];
}

const char *
kw_layout_component_text(const kw_layout *layout, size_t index)
{
    return kw_layout_component(layout, index)->text;
}

const struct kw_zone *
kw_layout_component_zone(const kw_layout *layout, size_t index)
{
    return kw_layout_component(layout, index)->offsets;
}

/* Divides a key into the pieces of a rule, and finds the component that does not fit.
 *
 *   cut      as far as the bytes allow
 *   fields   decode the pieces that hold fields, and compare the pieces that are always the same
 *   derived  if all pieces are there: compare the pieces that the other parts of the key determine
 *
 * kw_layout_decode accepts exactly the keys in which this finds nothing wrong.
 */
#include "rule/compile.h"
#include "rule/splits.h"

typedef struct dissection {
    const kw_layout *layout;
    kw_bytes key;
    kw_arena *arena;
    kw_record *record;
    kw_bytes pieces[KW_RULE_COMPONENTS_MAX];
    size_t count; /* pieces that were cut */
    size_t wrong;
    const char *why;
} dissection;

static bool
refuse(dissection *self, size_t index, const char *why)
{
    self->wrong = index;
    self->why = why;
    return false;
}

/* Why the piece of component `index` cannot be cut off the rest of the key. */
static const char *
missing_bytes(const dissection *self, size_t index, kw_bytes rest)
{
    const kw_layout *layout = self->layout;
    uint32_t width = index == layout->open ? layout->tail_width : layout->components[index]->width;
    if (index == layout->open)
        return kw_arena_printf(self->arena, "the components after it need %u bytes, but only %zu are left",
                               width, rest.size);
    if (width)
        return kw_arena_printf(self->arena, "needs %u bytes, but only %zu are left", width, rest.size);
    return kw_arena_printf(self->arena, "does not end within the %zu bytes that are left", rest.size);
}

static bool
cut(dissection *self)
{
    kw_bytes rest = self->key;
    for (self->count = 0; self->count < self->layout->count; self->count++) {
        size_t size = kw_layout_measure(self->layout, self->count, rest);
        if (size > rest.size)
            return refuse(self, self->count, missing_bytes(self, self->count, rest));
        self->pieces[self->count] = kw_bytes_of(rest.data, size);
        rest = kw_bytes_skip(rest, size);
    }
    return rest.size == 0 || refuse(self, self->count,
                                    kw_arena_printf(self->arena, "has bytes after the last component: %s",
                                                    kw_bytes_to_binary_text(rest, self->arena)));
}

static bool
is_derived(const kw_layout *layout, size_t index)
{
    return layout->components[index]->field < 0 || layout->stored_elsewhere[index];
}

static bool
is_constant(const kw_component *component)
{
    return component->inputs_count == 0 && !component->of_rest;
}

/* Compares a piece with its encoding. The encoding is computed from the decoded fields or, for a component
 * that depends on the rest of the key, from the bytes after the piece. A piece that was chosen only has to be
 * one of the buckets. */
static bool
check_derived(dissection *self, size_t index)
{
    const kw_component *component = self->layout->components[index];
    kw_bytes piece = self->pieces[index];
    uint8_t bytes[KW_DERIVED_PIECE_MAX];
    kw_buffer expected = {.data = bytes, .capacity = sizeof bytes};
    const uint8_t *end = piece.data + piece.size;
    kw_bytes rest = kw_bytes_of(end, (size_t)(self->key.data + self->key.size - end));
    kw_error error;
    if (component->choice)
        return component->kind->chosen(component, piece) != UINT32_MAX ||
               refuse(self, index, "is not one of its buckets");
    if (!component->kind->encode(component, self->record->values, rest, &expected, &error))
        return refuse(self, index, kw_arena_printf(self->arena, "%s", error.text));
    if (kw_bytes_equal(piece, kw_buffer_bytes(&expected)))
        return true;
    const char *because = is_constant(component) ? "" : " for the other parts of this key";
    return refuse(self, index,
                  kw_arena_printf(self->arena, "is %s, but must be %s%s",
                                  kw_bytes_to_binary_text(piece, self->arena),
                                  kw_bytes_to_binary_text(kw_buffer_bytes(&expected), self->arena), because));
}

/* Decodes a field, or compares a piece that does not depend on fields. */
static bool
check_alone(dissection *self, size_t index)
{
    const kw_component *component = self->layout->components[index];
    kw_error error;
    if (component->field >= 0)
        return component->kind->decode(component, self->pieces[index], self->arena, self->record->values,
                                       &error) ||
               refuse(self, index, kw_arena_printf(self->arena, "%s", error.text));
    return !is_constant(component) || check_derived(self, index);
}

static bool
dissect(dissection *self)
{
    if (self->key.size == 0 || self->key.size > KW_ROW_KEY_MAX)
        return refuse(self, 0,
                      kw_arena_printf(self->arena, "a row key has 1 to %d bytes, but this one has %zu",
                                      KW_ROW_KEY_MAX, self->key.size));
    dissection whole = *self;
    bool complete = cut(&whole);
    self->count = whole.count;
    memcpy(self->pieces, whole.pieces, whole.count * sizeof *whole.pieces);
    for (size_t index = 0; index < self->count; index++)
        if (!check_alone(self, index))
            return false;
    if (!complete)
        return refuse(self, whole.wrong, whole.why);
    for (size_t index = 0; index < self->count; index++)
        if (is_derived(self->layout, index) && !check_derived(self, index))
            return false;
    return true;
}

/* --- keys of other programs ----------------------------------------------------------------------- */

/* True if the component encodes the decoded fields as this piece. Components without a field were compared
 * already. */
static bool
recodes_piece(const kw_layout *layout, size_t index, const kw_value *values, kw_bytes piece, kw_buffer *out,
              kw_error *ret_error)
{
    const kw_component *component = layout->components[index];
    out->size = 0;
    if (component->field < 0)
        return true;
    ret_error->text[0] = '\0';
    return component->kind->encode(component, values, KW_BYTES_NONE, out, ret_error) &&
           kw_bytes_equal(piece, kw_buffer_bytes(out));
}

static bool
recode(dissection *self)
{
    g_auto(kw_buffer) again = KW_BUFFER_EMPTY;
    kw_error error = KW_ERROR_NONE;
    size_t index = 0;
    while (index < self->count &&
           recodes_piece(self->layout, index, self->record->values, self->pieces[index], &again, &error))
        index++;
    bool good = index == self->count;
    if (!good && error.text[0])
        refuse(self, index, kw_arena_printf(self->arena, "%s", error.text));
    else if (!good)
        refuse(self, index,
               kw_arena_printf(self->arena, "is %s, but a put of the same value writes %s",
                               kw_bytes_to_binary_text(self->pieces[index], self->arena),
                               kw_bytes_to_binary_text(kw_buffer_bytes(&again), self->arena)));
    return good;
}

/* --- results -------------------------------------------------------------------------------------- */

static void
report(const dissection *self, bool fits, kw_dissected_key *ret_key)
{
    kw_key_piece *pieces = KW_ARENA_ARRAY(self->arena, kw_key_piece, self->count);
    for (size_t index = 0; index < self->count; index++)
        pieces[index] = (kw_key_piece){self->layout->components[index]->text, self->pieces[index]};
    *ret_key = (kw_dissected_key){
        .pieces = pieces, .pieces_count = self->count, .wrong = self->wrong, .why = fits ? NULL : self->why};
}

void
kw_layout_dissect(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                  kw_dissected_key *ret_key)
{
    dissection self = {.layout = layout, .key = key, .arena = arena, .record = record};
    bool fits = dissect(&self);
    report(&self, fits, ret_key);
}

void
kw_layout_judge(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                kw_dissected_key *ret_key)
{
    dissection self = {.layout = layout, .key = key, .arena = arena, .record = record};
    bool fits = dissect(&self) && recode(&self);
    report(&self, fits, ret_key);
}

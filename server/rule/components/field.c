/* field: the value of a field, in one of the encodings of encoding.h. */
#include "rule/civil.h"
#include "rule/components/kinds.h"
#include "rule/encoding.h"
#include "rule/splits.h"

#include <stdio.h>

typedef struct field_piece {
    kw_component base;
    kw_form form;
} field_piece;

static const struct {
    const char *name;
    int64_t per_second;
} units[] = {
    [KW_UNIT_S] = {"s", 1},
    [KW_UNIT_MS] = {"ms", 1000},
    [KW_UNIT_US] = {"us", 1000000},
    [KW_UNIT_NS] = {"ns", 1000000000},
};

static const char *const type_names[] = {
    [KW_FIELD_BOOL] = "bool",     [KW_FIELD_INT] = "int",     [KW_FIELD_DOUBLE] = "double",
    [KW_FIELD_STRING] = "string", [KW_FIELD_BYTES] = "bytes", [KW_FIELD_TIMESTAMP] = "timestamp",
    [KW_FIELD_MAP] = "map",
};

static const char *
default_encoding(const kw_site *site, kw_field_type type)
{
    switch (type) {
    case KW_FIELD_STRING:
        return site->last ? "raw" : "terminated";
    case KW_FIELD_BYTES:
        return site->last ? "raw" : "fixed";
    case KW_FIELD_INT:
    case KW_FIELD_TIMESTAMP:
        return "int";
    case KW_FIELD_BOOL:
        return "bool";
    case KW_FIELD_DOUBLE:
        return "double";
    case KW_FIELD_MAP:
        break; /* not in keys */
    }
    g_assert_not_reached();
}

static bool
read_order(const kw_site *site, field_piece *self)
{
    const char *order = kw_site_text(site, "order", NULL);
    bool descending = order && strcmp(order, "desc") == 0;
    if (order && !descending && self->form.encoding->always_descending)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "order"),
                                  "use encoding int or decimal for ascending order",
                                  "field: %s is always descending", self->form.encoding->name);
    self->form.descending = descending || self->form.encoding->always_descending;
    return true;
}

/* Reads unit: a unit coarser than the field's, which drops finer digits. */
static bool
read_unit(const kw_site *site, field_piece *self, const kw_field *field)
{
    self->form.divisor = 1;
    const char *name = kw_site_text(site, "unit", NULL);
    if (!name)
        return true;
    kw_mark mark = kw_site_mark(site, "unit");
    if (field->type != KW_FIELD_TIMESTAMP || !self->form.encoding->accepts_unit)
        return kw_diagnostics_add(site->diagnostics, mark, NULL, "field: unit applies only to timestamps");
    kw_time_unit unit = KW_UNIT_S;
    while (strcmp(units[unit].name, name) != 0)
        unit++;
    if (units[unit].per_second > units[field->unit].per_second)
        return kw_diagnostics_add(site->diagnostics, mark, NULL,
                                  "field: the unit of the key (%s) is finer than that of field %s (%s)", name,
                                  field->name, units[field->unit].name);
    self->form.divisor = units[field->unit].per_second / units[unit].per_second;
    return true;
}

static bool
read_terminator(const kw_site *site, field_piece *self)
{
    const char *text = kw_site_text(site, "terminator", NULL);
    if (!text)
        return true;
    kw_mark mark = kw_site_mark(site, "terminator");
    if (!self->form.encoding->accepts_terminator)
        return kw_diagnostics_add(site->diagnostics, mark, "use encoding: terminated",
                                  "field: encoding %s has no terminator", self->form.encoding->name);
    kw_bytes bytes;
    kw_error error = KW_ERROR_NONE;
    if (!kw_bytes_from_binary_text(text, site->arena, &bytes, &error) || bytes.size != 1)
        return kw_diagnostics_add(
            site->diagnostics, mark,
            "use for example '\\x00' or '|' (in double quotes, YAML itself replaces \\x00)",
            "field: the terminator must be one byte");
    self->form.terminator = bytes.data[0];
    return true;
}

static const char *
width_hint(kw_field_type type)
{
    if (type == KW_FIELD_DOUBLE)
        return "encoding float has 4 bytes, double has 8";
    return type == KW_FIELD_BOOL ? NULL : "use encoding: fixed";
}

static bool
read_width(const kw_site *site, field_piece *self)
{
    const kw_encoding *encoding = self->form.encoding;
    int64_t width = kw_site_number(site, "width", 0);
    bool numeric = kw_field_value_kind(self->form.type) == KW_VALUE_NUMBER ||
                   (self->form.type == KW_FIELD_DOUBLE && encoding->accepts_real_width);
    if (encoding->needs_width && width == 0)
        return kw_diagnostics_add(site->diagnostics, site->model->mark,
                                  "add the size in bytes, for example {name: ..., width: 16}",
                                  "field: encoding %s needs a width", encoding->name);
    if (width != 0 && !encoding->needs_width && !numeric)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "width"), width_hint(self->form.type),
                                  "field: encoding %s has no width", encoding->name);
    self->form.width = (uint32_t)width;
    return true;
}

static bool
read_encoding(const kw_site *site, field_piece *self, const kw_field *field)
{
    const char *name = kw_site_text(site, "encoding", default_encoding(site, field->type));
    self->form.encoding = kw_encoding_find(name);
    g_assert(self->form.encoding); /* the reader checked the choice */
    self->form.type = field->type;
    if (!(self->form.encoding->types & KW_TYPE_BIT(field->type)))
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "encoding"), NULL,
                                  "field: encoding %s does not support field %s of type %s", name,
                                  field->name, type_names[field->type]);
    self->form.reversed = kw_site_flag(site, "reverse", false);
    if (self->form.reversed && !self->form.encoding->reversible)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "reverse"),
                                  "use encoding: digits for strings, decimal for numbers",
                                  "field: only digits of a fixed length can be reversed");
    return true;
}

static const char *
text_of(const kw_site *site, const field_piece *self, const kw_field *field)
{
    const kw_form *form = &self->form;
    const char *text = kw_arena_printf(site->arena, "field(%s as %s", field->name, form->encoding->name);
    if (form->encoding->accepts_terminator)
        text = kw_arena_printf(site->arena, "%s by \\x%02X", text, form->terminator);
    if (form->width)
        text = kw_arena_printf(site->arena, "%s, width %u", text, form->width);
    if (form->divisor > 1)
        text = kw_arena_printf(site->arena, "%s, unit %s", text, kw_site_text(site, "unit", ""));
    return kw_arena_printf(site->arena, "%s%s%s)", text, form->reversed ? ", reversed" : "",
                           form->descending ? ", descending" : "");
}

/* Rejects an explicit order that the encoding cannot keep. The encoding ordered has a descending form
 * for every type. */
static bool
check_order(const kw_site *site, const field_piece *self)
{
    const kw_form *form = &self->form;
    if (form->direction != 0 || !kw_site_text(site, "order", NULL) || form->encoding == &kw_encoding_ordered)
        return true;
    const char *why = form->reversed ? "reversed digits have no order"
                      : form->encoding == &kw_encoding_terminated
                          ? "only strings terminated by \\x00 keep their order"
                          : "the next component is compared with the rest of longer values";
    return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "order"),
                              "remove order, or use an encoding that keeps the order",
                              "field: keys would not be in the order of %s: %s",
                              self->base.table->fields[self->base.inputs[0]].name, why);
}

static const kw_component *
compile(const kw_site *site)
{
    int number = kw_site_field(site, "name");
    if (number < 0)
        return NULL;
    const kw_field *field = &site->table->fields[number];
    field_piece *self = (field_piece *)kw_site_component(site, sizeof(field_piece), &kw_component_field);
    if (!read_encoding(site, self, field) || !read_order(site, self) || !read_unit(site, self, field) ||
        !read_terminator(site, self) || !read_width(site, self) ||
        !self->form.encoding->prepare(site, &self->form))
        return NULL;
    size_t *inputs = KW_ARENA_NEW(site->arena, size_t);
    *inputs = (size_t)number;
    kw_component *base = &self->base;
    base->inputs = inputs;
    if (!check_order(site, self))
        return NULL;
    base->inputs_count = 1;
    base->field = number;
    base->unit = self->form.divisor;
    base->direction = self->form.direction;
    base->width = self->form.width;
    base->delimited = self->form.delimited;
    base->text = text_of(site, self, field);
    return base;
}

/* "table T, field F: value V <reason>" */
static bool
complain(const field_piece *self, kw_value value, kw_error *ret_error)
{
    if (!ret_error)
        return false;
    char shown[80], reason[KW_ERROR_TEXT_MAX];
    kw_value_print(value, shown, sizeof shown);
    g_strlcpy(reason, ret_error->text, sizeof reason);
    const kw_field_set *table = self->base.table;
    return kw_error_set(ret_error, ret_error->code, "table %s, field %s: value %s %s", table->name,
                        table->fields[self->base.field].name, shown, reason);
}

/* Converts an integer to the equal double. If two integers had the same double, one record would hide the
 * other. */
static bool
convert_integer(const field_piece *self, kw_value *value, kw_error *ret_error)
{
    double real;
    if (!kw_number_as_real(value->number, &real)) {
        kw_error_set(ret_error, KW_INVALID, "cannot be held exactly by a double");
        return complain(self, *value, ret_error);
    }
    *value = (kw_value){.kind = KW_VALUE_REAL, .real = real};
    return true;
}

static bool
encode_value(const kw_component *component, kw_value value, kw_buffer *out, kw_error *ret_error)
{
    const field_piece *self = (const field_piece *)component;
    const kw_field *field = &component->table->fields[component->field];
    if (self->form.type == KW_FIELD_DOUBLE && value.kind == KW_VALUE_NUMBER &&
        !convert_integer(self, &value, ret_error))
        return false;
    if (value.kind != kw_field_value_kind(self->form.type)) {
        if (value.kind == KW_VALUE_NONE)
            return kw_error_set(ret_error, KW_INVALID,
                                "table %s, field %s: is missing, and the row key needs it",
                                component->table->name, field->name);
        kw_error_set(ret_error, KW_INVALID, "is not of type %s", type_names[self->form.type]);
        return complain(self, value, ret_error);
    }
    return self->form.encoding->encode(&self->form, value, out, ret_error) ||
           complain(self, value, ret_error);
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    (void)rest;
    return encode_value(component, values[component->field], out, ret_error);
}

static bool
accepts(const kw_component *component, size_t field, kw_value value, kw_error *ret_error)
{
    g_auto(kw_buffer) ignored = KW_BUFFER_EMPTY;
    (void)field;
    bool good = encode_value(component, value, &ignored, ret_error);
    return good;
}

static bool
code(const kw_component *component, kw_value value, int64_t *ret_code)
{
    if (value.kind != KW_VALUE_NUMBER)
        return false;
    *ret_code = kw_floor_div(value.number, component->unit);
    return true;
}

static bool
decode(const kw_component *component, kw_bytes piece, kw_arena *arena, kw_value *values, kw_error *ret_error)
{
    const field_piece *self = (const field_piece *)component;
    kw_value value;
    if (!self->form.encoding->decode(&self->form, piece, arena, &value, ret_error))
        return complain(self, (kw_value){.kind = KW_VALUE_BYTES, .bytes = piece}, ret_error);
    if (component->unit == 1)
        values[component->field] = value;
    return true;
}

static size_t
measure(const kw_component *component, kw_bytes bytes)
{
    const field_piece *self = (const field_piece *)component;
    return self->form.encoding->measure(&self->form, bytes);
}

static bool
edge(const kw_component *component, kw_value value, bool lower, kw_arena *arena, kw_edge *ret_edge)
{
    const field_piece *self = (const field_piece *)component;
    return self->form.encoding->edge(&self->form, value, lower, arena, ret_edge);
}

static const char *const orders[] = {"asc", "desc", NULL};
static const char *const unit_names[] = {"s", "ms", "us", "ns", NULL};

static const kw_setting_schema settings[] = {
    {.name = "name", .kind = KW_SETTING_TEXT, .required = true, .about = "The field."},
    {.name = "encoding",
     .kind = KW_SETTING_CHOICE,
     .choices = kw_encoding_names,
     .fallback = "int for numbers and timestamps; double for doubles; bool for bools; raw for strings and "
                 "bytes at the end of the key, otherwise terminated for strings and fixed for bytes",
     .about = "Strings: raw, terminated, fixed (shorter strings are padded with 0x00), digits, hex (two "
              "lower-case hex digits become one byte), uuid. Bytes: raw, terminated, fixed. Numbers and "
              "timestamps: int (sign bit flipped), raw_int (Java's Bytes.toBytes), max_minus "
              "(Integer.MAX_VALUE or Long.MAX_VALUE minus the value), decimal, max_minus_decimal. Doubles: "
              "double, float. Bools: bool (0x00, 0x01), raw_bool (0x00, 0xFF). For keys of other programs: "
              "phoenix (numbers, timestamps, doubles and bools as in Phoenix's columns), ordered (all types "
              "but bool as in HBase's OrderedBytes; bytes have no order there)."},
    {.name = "width",
     .kind = KW_SETTING_INT,
     .least = 1,
     .most = 1024,
     .fallback = "8 bytes or 19 digits for numbers, 9 bytes with ordered",
     .about = "Size of the encoded value in bytes, including any header."},
    {.name = "order",
     .kind = KW_SETTING_CHOICE,
     .choices = orders,
     .fallback = "asc (desc for the max_minus encodings)",
     .about = "Descending order puts the greatest value first."},
    {.name = "unit",
     .kind = KW_SETTING_CHOICE,
     .choices = unit_names,
     .fallback = "the field's own",
     .about = "A coarser unit for a timestamp. Times that are equal in this unit then identify the same "
              "record. The field needs a column."},
    {.name = "reverse",
     .kind = KW_SETTING_BOOL,
     .fallback = "false",
     .about = "Reverse the digits (encodings digits and decimal only). This spreads sequential numbers."},
    {.name = "terminator",
     .kind = KW_SETTING_TEXT,
     .fallback = "\\x00",
     .about = "The byte that ends a terminated string. Values must not contain it. Only \\x00 keeps the "
              "order of the strings."},
};

static const kw_component_schema schema = {
    .name = "field",
    .about = "The value of a field.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_field = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .accepts = accepts,
    .code = code,
    .decode = decode,
    .measure = measure,
    .edge = edge,
};

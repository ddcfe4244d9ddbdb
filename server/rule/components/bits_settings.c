/* bits: its settings, and what is computed from them when a policy is compiled. */
#include "rule/components/bits.h"

#include "rule/components/kinds.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static const int64_t per_second[] = {
    [KW_UNIT_S] = 1, [KW_UNIT_MS] = 1000, [KW_UNIT_US] = 1000000, [KW_UNIT_NS] = 1000000000};

/* --- settings --------------------------------------------------------------------------------------- */

static bool
bad_part(const kw_site *site, kw_mark mark, const char *text, const char *why)
{
    return kw_diagnostics_add(
        site->diagnostics, mark,
        "write for example: zero 1, constant 5 3, minute 6, seconds 32, ms 41, worker 9",
        "bits: part \"%s\" %s", text, why);
}

static bool
parse_count(const char *text, uint64_t most, uint64_t *ret_count)
{
    char *end;
    errno = 0;
    if (!g_ascii_isdigit(*text))
        return false;
    *ret_count = strtoull(text, &end, 0);
    return errno == 0 && *end == '\0' && *ret_count <= most;
}

/* A name that is not a keyword: a field, or only the name of some bits of a number. */
static bool
read_named(const kw_site *site, kw_bits *self, kw_bits_part *part, kw_mark mark)
{
    part->kind = KW_BITS_OTHER;
    if (self->number >= 0)
        return true;
    part->kind = KW_BITS_FIELD;
    part->field = kw_field_set_find(site->table, kw_bytes_of_text(part->name));
    if (part->field < 0) {
        const char *near = kw_field_set_nearest(site->table, kw_bytes_of_text(part->name));
        g_autofree char *hint = near ? g_strdup_printf("did you mean %s?", near) : NULL;
        return kw_diagnostics_add(site->diagnostics, mark, hint, "table %s has no field \"%s\"",
                                  site->table->name, part->name);
    }
    for (size_t index = 0; index < self->parts_count; index++)
        if (self->parts[index].kind == KW_BITS_FIELD && self->parts[index].field == part->field)
            return bad_part(site, mark, part->name, "is listed twice");
    return site->table->fields[part->field].type == KW_FIELD_INT ||
           bad_part(site, mark, part->name, "is not an int field");
}

static bool
read_word(const kw_site *site, kw_bits *self, kw_bits_part *part, kw_mark mark)
{
    bool seconds = strcmp(part->name, "seconds") == 0, millis = strcmp(part->name, "ms") == 0;
    int here = (int)self->parts_count;
    if (strcmp(part->name, "zero") == 0 || strcmp(part->name, "constant") == 0) {
        part->kind = KW_BITS_CONSTANT;
        return part->constant <= kw_bits_mask(part->bits) ||
               bad_part(site, mark, part->name, "has too few bits for its value");
    }
    if (strcmp(part->name, "minute") == 0) {
        part->kind = KW_BITS_MINUTE;
        if (self->minute >= 0 || self->time >= 0 || part->bits < 6)
            return bad_part(site, mark, part->name,
                            self->time >= 0 ? "adds nothing after the time"
                                            : "is listed twice or has fewer than 6 bits");
        self->minute = here;
        return true;
    }
    if (!seconds && !millis)
        return read_named(site, self, part, mark);
    part->kind = KW_BITS_TIME;
    if (self->time >= 0 || part->bits > 48)
        return bad_part(site, mark, part->name, "is listed twice or has more than 48 bits");
    self->time = here;
    self->ticks_per_second = millis ? 1000 : 1;
    return true;
}

/* "NAME BITS", or "constant VALUE BITS". */
static bool
read_part(const kw_site *site, kw_bits *self, const char *text, kw_mark mark)
{
    g_auto(GStrv) words = g_strsplit_set(text, " ", -1);
    guint count = g_strv_length(words);
    bool constant = count > 0 && strcmp(words[0], "constant") == 0;
    uint64_t bits;
    kw_bits_part part = {.field = -1};
    if (count != (constant ? 3 : 2) || !parse_count(words[count - 1], 64, &bits) || bits == 0 ||
        (constant && !parse_count(words[1], UINT64_MAX, &part.constant)))
        return bad_part(site, mark, text, "is not a name and a number of bits, 1 to 64");
    if (self->parts_count == KW_BITS_PARTS_MAX)
        return bad_part(site, mark, text, "exceeds the maximum number of parts");
    part.bits = (uint32_t)bits;
    part.name = kw_arena_text(site->arena, kw_bytes_of_text(words[0]));
    self->total += part.bits;
    if (!read_word(site, self, &part, mark))
        return false;
    self->parts[self->parts_count++] = part;
    return true;
}

static bool
read_parts(const kw_site *site, kw_bits *self)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, "parts");
    bool good = found != NULL;
    for (size_t index = 0; found && index < found->texts_count; index++) {
        kw_mark mark = found->text_marks ? found->text_marks[index] : found->mark;
        good = read_part(site, self, found->texts[index], mark) && good;
    }
    if (!good)
        return false;
    if (self->total == 0 || self->total > 64 || self->total % 8 != 0)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "parts"), "add a part: zero N",
                                  "bits: the parts have %u bits in all; the sum must be 8, 16, ... or 64",
                                  self->total);
    uint32_t shift = self->total;
    for (size_t index = 0; index < self->parts_count; index++)
        self->parts[index].shift = shift -= self->parts[index].bits;
    return true;
}

/* The field of the time: `of` itself, or `time` if `of` is a number. */
static bool
read_clock(const kw_site *site, kw_bits *self, int of)
{
    int clock = self->number >= 0 ? -1 : of;
    kw_mark mark = kw_site_mark(site, self->number >= 0 ? "time" : "of");
    if (self->number >= 0 && kw_site_text(site, "time", NULL)) {
        clock = kw_site_field(site, "time");
        if (clock < 0)
            return false;
        if (site->table->fields[clock].type != KW_FIELD_TIMESTAMP)
            return kw_diagnostics_add(site->diagnostics, mark, NULL, "bits: field %s is not a timestamp",
                                      site->table->fields[clock].name);
    } else if (self->number < 0 && kw_site_text(site, "time", NULL)) {
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "time"), NULL,
                                  "bits: the time is already that of field %s", site->table->fields[of].name);
    }
    if (clock >= 0 && self->time < 0)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "parts"), "add: seconds 32 or ms 41",
                                  "bits: no part holds the time of the timestamp field");
    self->base.clock = clock;
    self->base.zone = "UTC";
    return true;
}

static bool
read_epoch(const kw_site *site, kw_bits *self)
{
    const kw_field *field = self->base.clock >= 0 ? &site->table->fields[self->base.clock] : NULL;
    int64_t epoch_ms = kw_site_number(site, "epoch", 0);
    if (self->time < 0)
        return true;
    if (self->ticks_per_second == 1 && epoch_ms % 1000 != 0)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "epoch"), NULL,
                                  "bits: the epoch of a time in seconds must be a whole second");
    if (field && per_second[field->unit] < self->ticks_per_second)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "parts"), "use seconds",
                                  "bits: field %s has no milliseconds", field->name);
    self->epoch = epoch_ms * self->ticks_per_second / 1000;
    self->first = self->epoch;
    self->last = self->epoch + (int64_t)kw_bits_mask(self->parts[self->time].bits);
    if (!field)
        return true;
    self->per_tick = per_second[field->unit] / self->ticks_per_second;
    self->last = MIN(self->last, INT64_MAX / self->per_tick - 1);
    return true;
}

static bool
read_of(const kw_site *site, kw_bits *self, int *ret_field)
{
    int of = kw_site_field(site, "of");
    self->number = self->time = self->minute = -1;
    if (of < 0)
        return false;
    const kw_field *field = &site->table->fields[of];
    if (field->type == KW_FIELD_INT)
        self->number = of;
    else if (field->type != KW_FIELD_TIMESTAMP)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "of"), NULL,
                                  "bits: field %s is neither a timestamp nor an int", field->name);
    *ret_field = of;
    return true;
}

/* --- computed settings ------------------------------------------------------------------------------- */

/* True if only constants precede the time: numbers then increase with it. */
static bool
begins_with_time(const kw_bits *self)
{
    size_t at = 0;
    while (at < self->parts_count && self->parts[at].kind == KW_BITS_CONSTANT)
        at++;
    return (int)at == self->time;
}

static void
settle_number(const kw_site *site, kw_bits *self)
{
    size_t *inputs = KW_ARENA_NEW(site->arena, size_t);
    inputs[0] = (size_t)self->number;
    self->base.inputs = inputs;
    self->base.inputs_count = 1;
    self->base.field = self->number;
    self->base.direction = 1;
}

static void
settle_fields(const kw_site *site, kw_bits *self, int of)
{
    size_t *inputs = KW_ARENA_ARRAY(site->arena, size_t, self->parts_count + 1), count = 0;
    inputs[count++] = (size_t)of;
    for (size_t index = 0; index < self->parts_count; index++) {
        if (self->parts[index].kind != KW_BITS_FIELD)
            continue;
        inputs[count++] = (size_t)self->parts[index].field;
        self->base.also_before += (int)index < self->time;
    }
    self->base.inputs = inputs;
    self->base.inputs_count = count;
    self->base.also = inputs + 1;
    self->base.also_count = count - 1;
    self->base.field = of;
    self->base.unit = self->per_tick;
    self->base.direction = begins_with_time(self) ? 1 : 0;
}

/* Sixty prefixes, if only constants precede the minute. */
static void
settle_cuts(kw_bits *self)
{
    for (size_t index = 0; index < self->parts_count; index++) {
        if ((int)index == self->minute)
            self->base.cuts = 60;
        if (self->parts[index].kind != KW_BITS_CONSTANT)
            return;
    }
}

static const char *
text_of(const kw_site *site, const kw_bits *self, int of)
{
    kw_arena *arena = site->arena;
    const char *text = kw_arena_printf(arena, "bits(%s:", site->table->fields[of].name);
    for (size_t index = 0; index < self->parts_count; index++) {
        const kw_bits_part *part = &self->parts[index];
        text = part->kind == KW_BITS_CONSTANT
                   ? kw_arena_printf(arena, "%s constant %" PRIu64 " %u", text, part->constant, part->bits)
                   : kw_arena_printf(arena, "%s %s %u", text, part->name, part->bits);
    }
    if (self->epoch)
        text = kw_arena_printf(arena, "%s since %" PRId64 " %s", text, self->epoch,
                               self->ticks_per_second == 1 ? "s" : "ms");
    if (self->number >= 0 && self->base.clock >= 0)
        text = kw_arena_printf(arena, "%s, time of %s", text, site->table->fields[self->base.clock].name);
    return kw_arena_printf(arena, "%s)", text);
}

const kw_component *
kw_bits_compile(const kw_site *site)
{
    kw_bits *self = (kw_bits *)kw_site_component(site, sizeof(kw_bits), &kw_component_bits);
    int of = -1;
    if (!read_of(site, self, &of) || !read_parts(site, self) || !read_clock(site, self, of) ||
        !read_epoch(site, self))
        return NULL;
    const kw_bits_part *head = &self->parts[0];
    if (self->number >= 0 && self->total == 64 &&
        (head->kind != KW_BITS_CONSTANT || head->constant >> (head->bits - 1))) {
        kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "parts"), "start with: zero 1",
                           "bits: an int of 64 bits has a sign, so its first bit must be zero");
        return NULL;
    }
    self->base.width = self->total / 8;
    if (self->number >= 0)
        settle_number(site, self);
    else
        settle_fields(site, self, of);
    settle_cuts(self);
    self->base.text = text_of(site, self, of);
    return &self->base;
}

/* --- schema ----------------------------------------------------------------------------------------- */

static const kw_setting_schema settings[] = {
    {.name = "of",
     .kind = KW_SETTING_TEXT,
     .required = true,
     .about = "The timestamp field whose time is in the bits, or an int field that holds the whole number."},
    {.name = "parts",
     .kind = KW_SETTING_TEXTS,
     .required = true,
     .about = "The parts, most significant first, each a name and a number of bits; together 8, 16, ... or "
              "64 bits. They are \"zero 1\", \"constant 5 3\" (the value 5 in 3 bits), \"minute 6\" (of the "
              "hour, UTC: 60 partitions), \"seconds 32\" or \"ms 41\" (the time since the epoch), and int "
              "fields by name, as in \"worker 9\". If one int field holds the whole number, any other name "
              "is only a label for its bits."},
    {.name = "epoch",
     .kind = KW_SETTING_INT,
     .least = 0,
     .most = INT64_C(4102444800000),
     .fallback = "0",
     .about = "Start of the time, in milliseconds since 1970-01-01 UTC."},
    {.name = "time",
     .kind = KW_SETTING_TEXT,
     .fallback = "none",
     .about = "If an int field holds the whole number: the timestamp field that has the same time as its "
              "bits. A range of this field then becomes ranges of the number. Such a query does not find "
              "records without the field."},
};

const kw_component_schema kw_bits_schema = {
    .name = "bits",
    .about = "Several fields of a few bits each, packed into one number of 1 to 8 bytes.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

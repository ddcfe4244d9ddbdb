/* calendar: its settings, and what is computed from them when a policy is compiled. */
#include "rule/components/calendar.h"

#include "rule/components/kinds.h"
#include "rule/splits.h"

#include <inttypes.h>

static const kw_calendar_part all_parts[] = {
    {"yyyy", 4, 1, 9999, KW_CALENDAR_YEAR, KW_CALENDAR_EVER},
    {"yy", 2, 0, 99, KW_CALENDAR_YEAR, KW_CALENDAR_EVER},
    {"MM", 2, 1, 12, KW_CALENDAR_MONTH, KW_CALENDAR_YEAR},
    {"DDD", 3, 1, 366, KW_CALENDAR_DAY, KW_CALENDAR_YEAR},
    {"dd", 2, 1, 31, KW_CALENDAR_DAY, KW_CALENDAR_MONTH},
    {"HH", 2, 0, 23, KW_CALENDAR_HOUR, KW_CALENDAR_DAY},
    {"mm", 2, 0, 59, KW_CALENDAR_MINUTE, KW_CALENDAR_HOUR},
    {"ss", 2, 0, 59, KW_CALENDAR_SECOND, KW_CALENDAR_MINUTE},
    {"SSS", 3, 0, 999, KW_CALENDAR_MILLI, KW_CALENDAR_SECOND},
};

static const int64_t per_second[] = {
    [KW_UNIT_S] = 1, [KW_UNIT_MS] = 1000, [KW_UNIT_US] = 1000000, [KW_UNIT_NS] = 1000000000};

#define ZONE_DATA_MAX 32

/* --- settings --------------------------------------------------------------------------------------- */

static bool
read_part(const kw_site *site, kw_calendar *self, const char *name, kw_mark mark)
{
    static const char *const names[] = {"yyyy", "yy", "MM", "DDD", "dd", "HH", "mm", "ss", "SSS", NULL};
    size_t found = 0;
    while (found < G_N_ELEMENTS(all_parts) && strcmp(all_parts[found].name, name) != 0)
        found++;
    if (found == G_N_ELEMENTS(all_parts)) {
        const char *near = kw_nearest_name(name, names);
        g_autofree char *hint = near ? g_strdup_printf("did you mean %s?", near) : NULL;
        return kw_diagnostics_add(site->diagnostics, mark,
                                  hint ? hint : "use yyyy, yy, MM, dd, DDD, HH, mm, ss or SSS",
                                  "calendar: unknown part \"%s\"", name);
    }
    const kw_calendar_part *part = &all_parts[found];
    bool clash = self->parts_count == KW_CALENDAR_PARTS_MAX;
    for (size_t index = 0; index < self->parts_count; index++)
        clash = clash || self->parts[index]->unit == part->unit ||
                (self->parts[index]->unit == KW_CALENDAR_MONTH && strcmp(name, "DDD") == 0) ||
                (part->unit == KW_CALENDAR_MONTH && strcmp(self->parts[index]->name, "DDD") == 0);
    if (clash)
        return kw_diagnostics_add(site->diagnostics, mark, NULL, "calendar: part %s repeats another part",
                                  name);
    self->parts[self->parts_count++] = part;
    return true;
}

static bool
read_parts(const kw_site *site, kw_calendar *self)
{
    const kw_model_setting *found = kw_model_setting_find(site->model, "parts");
    bool good = true;
    for (size_t index = 0; found && index < found->texts_count; index++) {
        kw_mark mark = found->text_marks ? found->text_marks[index] : found->mark;
        good = read_part(site, self, found->texts[index], mark) && good;
    }
    if (good && self->parts_count == 0)
        good = kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "parts"), NULL,
                                  "calendar: needs at least one part");
    return good;
}

static bool
read_field(const kw_site *site, kw_calendar *self)
{
    int number = kw_site_field(site, "of");
    if (number < 0)
        return false;
    const kw_field *field = &site->table->fields[number];
    if (field->type != KW_FIELD_TIMESTAMP)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "of"), NULL,
                                  "calendar: field %s is not a timestamp", field->name);
    self->base.field = number;
    self->base.clock = number;
    bool millis = self->cell_unit == KW_CALENDAR_MILLI;
    self->base.millis = millis;
    self->ticks_per_second = millis ? 1000 : 1;
    if (millis && field->unit == KW_UNIT_S)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "parts"), NULL,
                                  "calendar: field %s has no milliseconds", field->name);
    self->per_tick = per_second[field->unit] / self->ticks_per_second;
    return true;
}

static bool
read_zone(const kw_site *site, kw_calendar *self)
{
    const char *name = kw_site_text(site, "zone", "UTC");
    const char *data = kw_site_text(site, "zone_data", NULL);
    if (data && (!*data || strlen(data) > ZONE_DATA_MAX || strpbrk(data, " /")))
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "zone_data"),
                                  "use for example the release of the time zone database, 2026b",
                                  "calendar: zone_data must have 1 to %d bytes, without blanks and slashes",
                                  ZONE_DATA_MAX);
    self->zone = kw_zone_make(name, data, site->arena);
    self->base.zone = self->zone ? self->zone->name : NULL;
    self->base.offsets = self->zone;
    return self->zone || kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "zone"),
                                            "use for example UTC, Europe/Berlin or +08:00; names are from "
                                            "the system's time zone database (package tzdata)",
                                            "calendar: unknown time zone \"%s\"", name);
}

static bool
read_sequence(const kw_site *site, kw_calendar *self)
{
    self->sequence = -1;
    self->sequence_span = 1;
    bool given = kw_site_text(site, "sequence", NULL) != NULL;
    if (!given) {
        if (kw_site_number(site, "digits", 0) == 0)
            return true;
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "digits"), "add sequence: FIELD",
                                  "calendar: digits needs a sequence");
    }
    self->sequence = kw_site_field(site, "sequence");
    if (self->sequence < 0)
        return false;
    kw_mark mark = kw_site_mark(site, "sequence");
    if (self->form == KW_CALENDAR_TEXT)
        return kw_diagnostics_add(site->diagnostics, mark,
                                  "use as: packed, or add a component field with encoding: decimal after it",
                                  "calendar: as text, it cannot have a sequence");
    if (site->table->fields[self->sequence].type != KW_FIELD_INT)
        return kw_diagnostics_add(site->diagnostics, mark, NULL, "calendar: field %s is not an int",
                                  site->table->fields[self->sequence].name);
    self->sequence_digits = (uint32_t)kw_site_number(site, "digits", 5);
    self->sequence_span = kw_calendar_power(self->sequence_digits);
    return true;
}

/* The greatest possible number must fit. */
static bool
read_width(const kw_site *site, kw_calendar *self)
{
    uint64_t code = 0, limit = INT64_MAX;
    uint32_t digits = self->sequence_digits;
    for (size_t index = 0; index < self->parts_count; index++) {
        digits += self->parts[index]->digits;
        code = code * kw_calendar_power(self->parts[index]->digits) + self->parts[index]->most;
    }
    int64_t width = kw_site_number(site, "width", 8);
    bool packed = self->form == KW_CALENDAR_PACKED;
    if (!packed && kw_site_number(site, "width", 0))
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "width"), "use as: packed",
                                  "calendar: width applies only to as: packed");
    self->base.width = packed ? (uint32_t)width : 0;
    if (self->form == KW_CALENDAR_TEXT) {
        self->base.width = digits + (uint32_t)(self->separator.size * (self->parts_count - 1));
        return true;
    }
    if (packed && width < 8)
        limit = (UINT64_C(1) << (8 * width)) - 1;
    bool fits = digits <= 18 && code <= (limit - (self->sequence_span - 1)) / self->sequence_span;
    return fits || kw_diagnostics_add(site->diagnostics, site->model->mark, "remove parts or digits",
                                      "calendar: a number of %u digits does not fit into %d bytes", digits,
                                      packed ? (int)width : 8);
}

static bool
read_form(const kw_site *site, kw_calendar *self)
{
    const char *as = kw_site_text(site, "as", "text");
    self->form = strcmp(as, "text") == 0     ? KW_CALENDAR_TEXT
                 : strcmp(as, "packed") == 0 ? KW_CALENDAR_PACKED
                                             : KW_CALENDAR_DECIMAL;
    const char *separator = kw_site_text(site, "separator", NULL);
    if (!separator)
        return true;
    kw_error error = KW_ERROR_NONE;
    kw_mark mark = kw_site_mark(site, "separator");
    if (self->form != KW_CALENDAR_TEXT)
        return kw_diagnostics_add(site->diagnostics, mark, "use as: text",
                                  "calendar: separator applies only to as: text");
    if (!kw_bytes_from_binary_text(separator, site->arena, &self->separator, &error) ||
        self->separator.size > 4)
        return kw_diagnostics_add(site->diagnostics, mark, "use for example \"-\"",
                                  "calendar: the separator must have at most 4 bytes");
    return true;
}

/* --- computed settings ------------------------------------------------------------------------------- */

static void
sort_parts(const kw_calendar *self, const kw_calendar_part **to)
{
    memcpy(to, self->parts, self->parts_count * sizeof(*to));
    for (size_t index = 1; index < self->parts_count; index++) {
        for (size_t at = index; at > 0 && to[at - 1]->unit > to[at]->unit; at--) {
            const kw_calendar_part *swap = to[at];
            to[at] = to[at - 1];
            to[at - 1] = swap;
        }
    }
}

/* The unit within which keys are in the order of time. If the last parts go from coarse to fine without
 * a gap, down to the finest part, it is the unit above the first of them: a day for HH mm ss. Otherwise, and
 * as decimal, it is one cell. */
static kw_calendar_unit
run_unit_of(const kw_calendar *self)
{
    size_t head = self->parts_count - 1;
    if (self->parts[head]->unit != self->cell_unit || self->form == KW_CALENDAR_DECIMAL)
        return self->cell_unit;
    while (head > 0 && self->parts[head - 1]->unit == self->parts[head]->within)
        head--;
    return self->parts[head]->within;
}

static void
settle_units(kw_calendar *self)
{
    const kw_calendar_part *sorted[KW_CALENDAR_PARTS_MAX];
    sort_parts(self, sorted);
    self->cell_unit = sorted[self->parts_count - 1]->unit;
    self->run_unit = run_unit_of(self);
    self->complete = true;
    self->base.cell_s = kw_calendar_unit_seconds[self->cell_unit];
    for (size_t index = 0; index < self->parts_count; index++) {
        kw_calendar_unit above = index ? sorted[index - 1]->unit : KW_CALENDAR_EVER;
        if (sorted[index]->within == above)
            continue;
        int64_t period = kw_calendar_unit_seconds[sorted[index]->within];
        self->base.period_s = self->complete ? period : MIN(period, self->base.period_s);
        self->complete = false;
    }
}

static int64_t
tick_of_local(const kw_calendar *self, int64_t local_seconds)
{
    size_t step = kw_zone_find(self->zone, local_seconds);
    return (local_seconds - self->zone->steps[step].offset) * self->ticks_per_second;
}

/* The years that the calendar can represent, limited by the field's range. */
static void
settle_limits(kw_calendar *self)
{
    bool short_year = false;
    for (size_t index = 0; index < self->parts_count; index++)
        short_year = short_year || strcmp(self->parts[index]->name, "yy") == 0;
    self->first_year = short_year ? 2000 : 1;
    self->last_year = short_year ? 2099 : 9999;
    self->first = tick_of_local(self, kw_days_of(self->first_year, 1, 1) * 86400);
    self->last = tick_of_local(self, kw_days_of(self->last_year + 1, 1, 1) * 86400) - 1;
    if (self->zone->end != INT64_MAX) { /* a day less: no local time is after 2199 */
        self->last = MIN(self->last, (self->zone->end - 86400) * self->ticks_per_second - 1);
        self->last_year = MIN(self->last_year, 2199);
    }
    self->first = MAX(self->first, INT64_MIN / self->per_tick + 1);
    self->last = MIN(self->last, INT64_MAX / self->per_tick - 1);
}

/* True if a clock that is set back returns to an earlier cell. */
static bool
finds_overlap(const kw_calendar *self)
{
    for (size_t step = 1; self->zone->falls && step < self->zone->count; step++) {
        int64_t at = self->zone->steps[step].from * self->ticks_per_second, last, first, ignored;
        kw_calendar_bounds(self, self->cell_unit, at - 1 + kw_calendar_offset(self, step - 1), &last,
                           &ignored);
        kw_calendar_bounds(self, self->cell_unit, at + kw_calendar_offset(self, step), &first, &ignored);
        if (first < last)
            return true;
    }
    return false;
}

/* True if the cells do not depend on the zone: whole multiples of a unit since 1970. */
static bool
is_plain(const kw_calendar *self)
{
    if (!self->complete || self->overlaps || self->cell_unit < KW_CALENDAR_DAY)
        return false;
    for (size_t step = 0; step < self->zone->count; step++) {
        if (self->zone->steps[step].offset % kw_calendar_unit_seconds[self->cell_unit] != 0)
            return false;
    }
    return true;
}

static void
settle_grain(const kw_site *site, kw_calendar *self)
{
    if (is_plain(self)) {
        int64_t ticks = self->cell_unit == KW_CALENDAR_MILLI
                            ? 1
                            : kw_calendar_unit_seconds[self->cell_unit] * self->ticks_per_second;
        self->base.unit = ticks * self->per_tick;
        return;
    }
    const kw_calendar_part *sorted[KW_CALENDAR_PARTS_MAX];
    sort_parts(self, sorted);
    const char *text = "";
    for (size_t index = 0; index < self->parts_count; index++)
        text = kw_arena_printf(site->arena, "%s%s ", text, sorted[index]->name);
    self->base.unit = INT64_MAX;
    self->base.grain = kw_arena_printf(site->arena, "%sin %s", text, self->zone->name);
}

static const char *
text_of(const kw_site *site, const kw_calendar *self)
{
    static const char *const forms[] = {"text", "packed", "decimal"};
    kw_arena *arena = site->arena;
    const char *text = kw_arena_printf(arena, "calendar(%s:", site->table->fields[self->base.field].name);
    for (size_t index = 0; index < self->parts_count; index++)
        text = kw_arena_printf(arena, "%s %s", text, self->parts[index]->name);
    text = kw_arena_printf(arena, "%s in %s", text, self->zone->name);
    if (self->zone->count > 1)
        text = kw_arena_printf(arena, "%s with offsets %016" PRIx64, text, kw_zone_hash(self->zone));
    text = kw_arena_printf(arena, "%s as %s", text, forms[self->form]);
    if (self->form == KW_CALENDAR_PACKED)
        text = kw_arena_printf(arena, "%s of %u bytes", text, self->base.width);
    if (self->separator.size > 0)
        text = kw_arena_printf(arena, "%s by %s", text, kw_bytes_to_binary_text(self->separator, arena));
    if (self->sequence >= 0)
        text = kw_arena_printf(arena, "%s, sequence %s of %u digits", text,
                               site->table->fields[self->sequence].name, self->sequence_digits);
    return kw_arena_printf(arena, "%s)", text);
}

static void
settle_inputs(const kw_site *site, kw_calendar *self)
{
    kw_component *base = &self->base;
    size_t *inputs = KW_ARENA_ARRAY(site->arena, size_t, 2);
    inputs[0] = (size_t)base->field;
    inputs[1] = (size_t)self->sequence;
    base->inputs = inputs;
    base->inputs_count = self->sequence >= 0 ? 2 : 1;
    base->also = inputs + 1;
    base->also_count = base->inputs_count - 1;
    base->delimited = base->width != 0;
    bool rises = self->complete && !self->overlaps && self->run_unit == KW_CALENDAR_EVER;
    base->direction = rises ? 1 : 0;
    base->buckets = kw_calendar_buckets(self);
    const kw_calendar_part *head = self->parts[0];
    if (head->unit != KW_CALENDAR_YEAR && self->form != KW_CALENDAR_DECIMAL)
        base->cuts = head->most - head->least + 1;
}

/* Leading zeros are omitted: if all parts can be zero, nothing marks where the sequence begins. */
static bool
check_zeros(const kw_site *site, const kw_calendar *self)
{
    bool zero = self->form == KW_CALENDAR_DECIMAL && self->sequence >= 0;
    for (size_t index = 0; index < self->parts_count; index++)
        zero = zero && self->parts[index]->least == 0;
    return !zero || kw_diagnostics_add(
                        site->diagnostics, site->model->mark, "use as: packed",
                        "calendar: as: decimal omits leading zeros, and all parts of a time can be zero");
}

const kw_component *
kw_calendar_compile(const kw_site *site)
{
    kw_calendar *self = (kw_calendar *)kw_site_component(site, sizeof(kw_calendar), &kw_component_calendar);
    if (!read_parts(site, self))
        return NULL;
    settle_units(self);
    if (!read_field(site, self) || !read_zone(site, self) || !read_form(site, self) ||
        !read_sequence(site, self) || !read_width(site, self) || !check_zeros(site, self))
        return NULL;
    self->run_unit = run_unit_of(self);
    settle_limits(self);
    self->overlaps = finds_overlap(self);
    settle_grain(site, self);
    settle_inputs(site, self);
    self->base.text = text_of(site, self);
    return &self->base;
}

/* --- schema ----------------------------------------------------------------------------------------- */

static const char *const forms[] = {"text", "packed", "decimal", NULL};

static const kw_setting_schema settings[] = {
    {.name = "of", .kind = KW_SETTING_TEXT, .required = true, .about = "A timestamp field."},
    {.name = "parts",
     .kind = KW_SETTING_TEXTS,
     .required = true,
     .about = "The parts, in the order of the key: yyyy, yy (2000 to 2099), MM, dd, DDD (day of the year), "
              "HH, mm, ss, SSS. The calendar is circular (its keys repeat) if the year, or any part between "
              "the year and the finest part, is missing, for example MM if the parts are yyyy and dd. Then "
              "every family needs a ttl, and the time until the keys repeat must be at least ttl + 2 x "
              "major_compaction, unless another component of the same field distinguishes the repetitions. "
              "The families of the "
              "store table must fulfil this, too."},
    {.name = "zone",
     .kind = KW_SETTING_TEXT,
     .fallback = "UTC",
     .about =
         "The time zone of the parts: a name from the system's time zone database, such as Europe/Berlin, or "
         "an offset, such as +08:00. When clocks are set back, two moments have the same local time. "
         "Therefore, parts finer than a day are rejected in zones that have set their clocks back in 1992 or "
         "later, unless the key distinguishes the two moments. The exact time in the key distinguishes them. "
         "So does a generated number that is unique forever. So does one with a period (per) that contains "
         "both moments, if its zone is the calendar's zone. A record with a repeated local time before 1992 "
         "is rejected unless the key distinguishes it. The catalog keeps the data of the zone with which the "
         "first keys were made, and all gateways use them, even after an update of the system's data. If the "
         "two differ, the log and /readyz name the years."},
    {.name = "zone_data",
     .kind = KW_SETTING_TEXT,
     .fallback = "none",
     .about =
         "A name for an edition of the zone's data, such as 2026b. A new name makes the gateway read the "
         "system's data again. If they differ from those of the existing keys, this is another key rule, "
         "to which a change moves the rows."},
    {.name = "as",
     .kind = KW_SETTING_CHOICE,
     .choices = forms,
     .fallback = "text",
     .about = "text: decimal digits. packed: one binary number whose decimal digits are the parts and the "
              "sequence. decimal: the same number as text without leading zeros."},
    {.name = "separator",
     .kind = KW_SETTING_TEXT,
     .fallback = "none",
     .about = "(text) Separator between the parts, such as \"-\"."},
    {.name = "width",
     .kind = KW_SETTING_INT,
     .least = 1,
     .most = 8,
     .fallback = "8",
     .about = "(packed) Size of the number in bytes."},
    {.name = "sequence",
     .kind = KW_SETTING_TEXT,
     .fallback = "none",
     .about = "(packed, decimal) An int field whose digits follow the parts."},
    {.name = "digits",
     .kind = KW_SETTING_INT,
     .least = 1,
     .most = 12,
     .fallback = "5",
     .about = "Number of digits of the sequence."},
};

const kw_component_schema kw_calendar_schema = {
    .name = "calendar",
    .about = "Parts of a timestamp in the local time of a time zone. The time is kept only to the finest "
             "part, so the field needs a column unless the key also holds its full precision. A range of the "
             "field with both ends can have any length: it is planned and read window by window.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

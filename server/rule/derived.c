/* Digests of fields and bucket numbers: see derived.h. */
#include "rule/derived.h"

#include <stdio.h>

/* Inputs up to this total length are hashed from the stack. */
#define STACK_INPUT_MAX 512

bool
kw_derived_missing(const kw_component *component, size_t field, kw_error *ret_error)
{
    g_assert(field < component->table->fields_count);
    return kw_error_set(ret_error, KW_INVALID, "table %s, field %s: is missing, and the row key needs it",
                        component->table->name, component->table->fields[field].name);
}

static bool
is_slice(kw_value value)
{
    return value.kind == KW_VALUE_TEXT || value.kind == KW_VALUE_BYTES;
}

/* Computes an upper bound of the size of the inputs. INVALID if one is absent. */
static bool
measure_inputs(const kw_component *component, const kw_value *values, size_t *ret_size, kw_error *ret_error)
{
    size_t size = 0;
    for (size_t index = 0; index < component->inputs_count; index++) {
        size_t field = component->inputs[index];
        if (values[field].kind == KW_VALUE_NONE)
            return kw_derived_missing(component, field, ret_error);
        size += is_slice(values[field]) ? values[field].bytes.size : 24;
    }
    *ret_size = size;
    return true;
}

bool
kw_derived_digest(const kw_component *component, const kw_value *values, kw_digest digest,
                  bool numbers_as_text, uint8_t *to, kw_error *ret_error)
{
    size_t size = 0;
    if (!measure_inputs(component, values, &size, ret_error))
        return false;
    if (component->inputs_count == 1 && is_slice(values[component->inputs[0]])) {
        kw_digest_compute(digest, values[component->inputs[0]].bytes, to);
        return true;
    }
    uint8_t near[STACK_INPUT_MAX];
    g_autofree uint8_t *far = size > sizeof near ? g_malloc(size) : NULL;
    kw_buffer input = {.data = far ? far : near, .capacity = far ? size : sizeof near};
    for (size_t index = 0; index < component->inputs_count; index++)
        kw_digest_input(values[component->inputs[index]], numbers_as_text, &input);
    kw_digest_compute(digest, kw_buffer_bytes(&input), to);
    return true;
}

bool
kw_derived_xxh64(const kw_component *component, const kw_value *values, uint64_t *ret_hash,
                 kw_error *ret_error)
{
    uint8_t digest[KW_DIGEST_MAX];
    if (!kw_derived_digest(component, values, KW_DIGEST_XXH64, false, digest, ret_error))
        return false;
    *ret_hash = kw_be64_load(digest);
    return true;
}

void
kw_derived_hex(const uint8_t *bytes, uint32_t digits, uint8_t *to)
{
    static const char hex[] = "0123456789abcdef";
    for (uint32_t index = 0; index < digits; index++) {
        unsigned byte = bytes[index / 2];
        to[index] = (uint8_t)hex[index % 2 ? byte & 15 : byte >> 4];
    }
}

const char *const kw_bucket_as_names[] = {"byte", "hex", "decimal", NULL};

/* Number of digits of the largest bucket number in a base. */
static uint32_t
digits_needed(uint32_t buckets, uint32_t base)
{
    uint32_t digits = 1;
    for (uint32_t largest = (buckets - 1) / base; largest > 0; largest /= base)
        digits++;
    return digits;
}

static const uint32_t bases[] = {256, 16, 10};

/* The width that the remainder needs. A minus sign is one digit; a two's complement has half of the numbers.
 */
static uint32_t
width_needed(const kw_bucket_form *form)
{
    uint32_t base = bases[form->as];
    uint32_t needed = digits_needed(form->modulus, base);
    if (form->negatives == 0)
        return needed;
    uint32_t magnitudes = (uint32_t)-form->lowest + 1;
    return MAX(needed, form->as == KW_BUCKET_DECIMAL ? 1 + digits_needed(magnitudes, base)
                                                     : digits_needed(form->modulus + magnitudes, base));
}

static void
add_negatives(kw_bucket_form *form, kw_bucket_sign sign)
{
    form->lowest = sign == KW_BUCKET_NEGATIVE       ? 1 - (int64_t)form->modulus
                   : sign == KW_BUCKET_ONE_NEGATIVE ? INT32_MIN % (int64_t)form->modulus
                                                    : 0;
    form->negatives = sign == KW_BUCKET_NEGATIVE ? form->modulus - 1 : form->lowest < 0 ? 1 : 0;
    form->buckets = form->modulus + form->negatives;
}

bool
kw_bucket_form_read(const kw_site *site, kw_bucket_sign sign, kw_bucket_form *ret_form)
{
    const char *as = kw_site_text(site, "as", kw_bucket_as_names[0]);
    kw_bucket_form form = {.modulus = (uint32_t)kw_site_number(site, "buckets", 2)};
    while (strcmp(kw_bucket_as_names[form.as], as) != 0)
        form.as++;
    add_negatives(&form, sign);
    if (form.negatives > 0 && form.as == KW_BUCKET_HEX)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "as"),
                                  "write them as byte or decimal",
                                  "%s: hex digits cannot hold remainders below 0", site->model->name);
    uint32_t needed = width_needed(&form);
    form.width = (uint32_t)kw_site_number(site, "width", needed);
    if (form.width < needed)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "width"), NULL,
                                  "%s: %u buckets as %s need a width of %u, not %u", site->model->name,
                                  form.modulus, as, needed, form.width);
    *ret_form = form;
    return true;
}

const char *
kw_bucket_form_text(const kw_site *site, const kw_bucket_form *form)
{
    return kw_arena_printf(site->arena, "%u as %s, width %u", form->modulus, kw_bucket_as_names[form->as],
                           form->width);
}

uint32_t
kw_bucket_form_of(const kw_bucket_form *form, int64_t remainder)
{
    bool first = form->as == KW_BUCKET_DECIMAL; /* a minus sign is less than a digit */
    if (remainder >= 0)
        return (uint32_t)remainder + (first ? form->negatives : 0);
    g_assert(remainder >= form->lowest && remainder < form->lowest + form->negatives);
    return (uint32_t)(first ? form->lowest + form->negatives - 1 - remainder
                            : form->modulus + (remainder - form->lowest));
}

/* The remainder of a bucket. */
static int64_t
remainder_of(const kw_bucket_form *form, uint32_t bucket)
{
    if (form->as == KW_BUCKET_DECIMAL)
        return bucket < form->negatives ? form->lowest + form->negatives - 1 - bucket
                                        : (int64_t)bucket - form->negatives;
    return bucket < form->modulus ? bucket : form->lowest + (int64_t)(bucket - form->modulus);
}

static void
write_bucket(const kw_bucket_form *form, uint32_t bucket, uint8_t *to)
{
    uint32_t base = bases[form->as];
    int64_t remainder = remainder_of(form, bucket);
    bool minus = remainder < 0 && form->as == KW_BUCKET_DECIMAL;
    uint64_t left = minus ? (uint64_t)-remainder : (uint64_t)remainder;
    for (uint32_t index = form->width; index > 0; index--, left /= base) {
        uint32_t digit = (uint32_t)(left % base);
        to[index - 1] = (uint8_t)(form->as == KW_BUCKET_BYTE ? digit : (unsigned)"0123456789abcdef"[digit]);
    }
    if (minus)
        to[0] = '-';
}

void
kw_bucket_form_append(const kw_bucket_form *form, uint32_t bucket, kw_buffer *out)
{
    g_assert(bucket < form->buckets);
    write_bucket(form, bucket, kw_buffer_reserve(out, form->width));
    out->size += form->width;
}

/* False if one of the bytes is no digit. Numbers that need more than 63 bits are no remainders. */
static bool
read_number(kw_bucket_as as, kw_bytes digits, uint64_t *ret_number)
{
    *ret_number = 0;
    for (size_t index = 0; index < digits.size; index++) {
        unsigned byte = digits.data[index];
        bool letter = byte >= 'a' && byte <= 'f';
        unsigned digit = as == KW_BUCKET_BYTE ? byte : letter ? byte - 'a' + 10u : byte - '0';
        if (digit >= bases[as])
            return false;
        *ret_number = *ret_number * bases[as] + digit;
    }
    return true;
}

uint32_t
kw_bucket_form_find(const kw_bucket_form *form, kw_bytes piece)
{
    bool minus =
        form->negatives > 0 && form->as == KW_BUCKET_DECIMAL && piece.size > 0 && piece.data[0] == '-';
    uint64_t number;
    if (piece.size != form->width || !read_number(form->as, minus ? kw_bytes_skip(piece, 1) : piece, &number))
        return UINT32_MAX;
    if (!minus && number < form->modulus)
        return kw_bucket_form_of(form, (int64_t)number);
    unsigned bits = 8 * form->width;
    int64_t remainder = minus                                     ? -(int64_t)number
                        : form->as != KW_BUCKET_BYTE || bits == 0 ? 0
                        : bits == 64                              ? (int64_t)number
                        : number >> (bits - 1)                    ? (int64_t)(number - (UINT64_C(1) << bits))
                                                                  : 0;
    if (remainder >= 0 || remainder < form->lowest || remainder >= form->lowest + form->negatives)
        return UINT32_MAX;
    return kw_bucket_form_of(form, remainder);
}

kw_bytes
kw_bucket_form_piece(const kw_bucket_form *form, uint32_t bucket, kw_arena *arena)
{
    g_assert(bucket < form->buckets);
    uint8_t *to = kw_arena_alloc(arena, form->width);
    write_bucket(form, bucket, to);
    return kw_bytes_of(to, form->width);
}

size_t
kw_bucket_form_all(const kw_bucket_form *form, kw_arena *arena, const kw_bucket **ret_buckets)
{
    kw_bucket *buckets = KW_ARENA_ARRAY(arena, kw_bucket, form->buckets);
    uint8_t *bytes = kw_arena_alloc(arena, (size_t)form->buckets * form->width);
    for (uint32_t index = 0; index < form->buckets; index++, bytes += form->width) {
        write_bucket(form, index, bytes);
        buckets[index] = (kw_bucket){.bytes = kw_bytes_of(bytes, form->width), .field = -1};
    }
    *ret_buckets = buckets;
    return form->buckets;
}

/* The buckets of the numbers least..most, without duplicates. */
static size_t
buckets_of_numbers(const kw_bucket_form *form, int64_t least, int64_t most,
                   uint32_t (*bucket_of)(const kw_bucket_form *form, int64_t value), kw_arena *arena,
                   const kw_bucket **ret_buckets)
{
    uint32_t numbers = (uint32_t)(most - least) + 1;
    kw_bucket *buckets = KW_ARENA_ARRAY(arena, kw_bucket, numbers);
    kw_bucket **of_bucket = KW_ARENA_ARRAY(arena, kw_bucket *, form->buckets);
    size_t count = 0;
    for (uint32_t index = 0; index < numbers; index++) {
        int64_t value = least + index;
        uint32_t bucket = bucket_of(form, value);
        if (!of_bucket[bucket]) {
            of_bucket[bucket] = &buckets[count++];
            *of_bucket[bucket] = (kw_bucket){.bytes = kw_bucket_form_piece(form, bucket, arena),
                                             .field = -1,
                                             .narrowed = true,
                                             .least = value};
        }
        of_bucket[bucket]->most = value;
    }
    *ret_buckets = buckets;
    return count;
}

size_t
kw_bucket_form_within(const kw_bucket_form *form, const kw_component *component, const kw_value_span *span,
                      uint32_t (*bucket_of)(const kw_bucket_form *form, int64_t value), kw_arena *arena,
                      const kw_bucket **ret_buckets)
{
    bool about_it = component->inputs_count == 1 && span->field == (int)component->inputs[0];
    int64_t least, most;
    if (!about_it || !kw_value_span_numbers(span, &least, &most))
        return kw_bucket_form_all(form, arena, ret_buckets);
    /* With more than twice as many numbers as buckets, probably every bucket occurs. */
    if ((uint64_t)most - (uint64_t)least >= 2 * (uint64_t)form->buckets)
        return kw_bucket_form_all(form, arena, ret_buckets);
    return buckets_of_numbers(form, least, most, bucket_of, arena, ret_buckets);
}

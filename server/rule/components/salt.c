/* salt: a bucket number from a hash, so that rows with similar keys are in many regions.
 *
 *   xxh64      hash of the named fields; spreads sequential values evenly. The default
 *   murmur2, murmur3, crc32, jenkins   32-bit hash of the named fields, as a non-negative number
 *   java_string  of one text, or one number as decimal text: String.hashCode(); the setting `sign` says how a
 *              negative hash becomes a bucket (compatibility: ten-digit sequential ids reach 10 of 31 buckets)
 *   java_long  of one number: (short) Long.hashCode(n), floor modulo (compatibility: spreads badly)
 *   phoenix    of the rest of the key: Phoenix's SaltingUtil
 *   hbasewd    of the rest of the key: HBaseWD's OneByteSimpleHash
 *   random, round_robin   of nothing: the writer of the record chooses the bucket and passes it
 *
 * For a query, phoenix and hbasewd are computable only if the rest of the key is bound. A chosen bucket
 * cannot be computed.
 */
#include "rule/components/kinds.h"
#include "rule/derived.h"

typedef struct salt salt;

typedef struct algorithm {
    const char *name;
    bool of_rest;
    kw_choice_kind choice;  /* the caller passes the bucket */
    bool of_number;         /* exactly one int or timestamp field */
    bool of_text_or_number; /* exactly one string, int or timestamp field */
    kw_digest digest;
    bool (*bucket)(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
                   kw_error *ret_error);
} algorithm;

typedef struct sign {
    const char *name;
    kw_bucket_sign remainders;
    int64_t (*remainder)(int32_t hash, uint32_t modulus);
} sign;

struct salt {
    kw_component base;
    const algorithm *algorithm;
    const sign *sign;
    kw_bucket_form form;
};

/* --- the signs of a remainder, as in Java --------------------------------------------------------- */

/* Math.floorMod(hash, modulus) */
static int64_t
floor_mod(int32_t hash, uint32_t modulus)
{
    int64_t remainder = (int64_t)hash % (int64_t)modulus;
    return remainder < 0 ? remainder + modulus : remainder;
}

/* Math.abs(hash) % modulus */
static int64_t
absolute(int32_t hash, uint32_t modulus)
{
    return (hash < 0 && hash != INT32_MIN ? -(int64_t)hash : (int64_t)hash) % (int64_t)modulus;
}

/* (hash & Integer.MAX_VALUE) % modulus */
static int64_t
mask(int32_t hash, uint32_t modulus)
{
    return ((int64_t)hash & INT32_MAX) % (int64_t)modulus;
}

/* hash % modulus */
static int64_t
as_is(int32_t hash, uint32_t modulus)
{
    return (int64_t)hash % (int64_t)modulus;
}

static const sign signs[] = {
    {"floor_mod", KW_BUCKET_NEVER_NEGATIVE, floor_mod},
    {"abs", KW_BUCKET_ONE_NEGATIVE, absolute},
    {"mask", KW_BUCKET_NEVER_NEGATIVE, mask},
    {"as_is", KW_BUCKET_NEGATIVE, as_is},
};

static const char *const sign_names[] = {"floor_mod", "abs", "mask", "as_is", NULL};

/* --- algorithms ----------------------------------------------------------------------------------- */

static bool
xxh64_bucket(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
             kw_error *ret_error)
{
    (void)rest;
    uint64_t hash;
    if (!kw_derived_xxh64(&self->base, values, &hash, ret_error))
        return false;
    *ret_bucket = (uint32_t)(hash % self->form.modulus);
    return true;
}

static bool
digest_bucket(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
              kw_error *ret_error)
{
    (void)rest;
    uint8_t digest[KW_DIGEST_MAX];
    if (!kw_derived_digest(&self->base, values, self->algorithm->digest, false, digest, ret_error))
        return false;
    *ret_bucket = kw_be32_load(digest) % self->form.modulus;
    return true;
}

static uint32_t
java_long_bucket_of(const kw_bucket_form *form, int64_t value)
{
    uint32_t hash = (uint32_t)((uint64_t)value ^ (uint64_t)value >> 32);
    int32_t remainder = (int16_t)(uint16_t)hash % (int32_t)form->modulus;
    return (uint32_t)(remainder < 0 ? remainder + (int32_t)form->modulus : remainder);
}

static bool
java_long_bucket(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
                 kw_error *ret_error)
{
    (void)rest;
    kw_value value = values[self->base.inputs[0]];
    if (value.kind != KW_VALUE_NUMBER)
        return kw_derived_missing(&self->base, self->base.inputs[0], ret_error);
    *ret_bucket = java_long_bucket_of(&self->form, value.number);
    return true;
}

static bool
java_string_bucket(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
                   kw_error *ret_error)
{
    (void)rest;
    uint8_t digits[24];
    kw_value value = values[self->base.inputs[0]];
    kw_buffer number = {.data = digits, .capacity = sizeof digits};
    if (value.kind == KW_VALUE_NONE)
        return kw_derived_missing(&self->base, self->base.inputs[0], ret_error);
    if (value.kind == KW_VALUE_NUMBER)
        kw_digest_input(value, true, &number);
    int32_t hash =
        kw_java_string_hash(value.kind == KW_VALUE_NUMBER ? kw_buffer_bytes(&number) : value.bytes);
    *ret_bucket = kw_bucket_form_of(&self->form, self->sign->remainder(hash, self->form.modulus));
    return true;
}

static bool
phoenix_bucket(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
               kw_error *ret_error)
{
    (void)values;
    (void)ret_error;
    int32_t remainder = kw_java_bytes_hash(rest) % (int32_t)self->form.modulus;
    *ret_bucket = (uint32_t)(remainder < 0 ? -remainder : remainder);
    return true;
}

/* HBaseWD takes the absolute value before the remainder. The hash INT32_MIN has no absolute value in 32 bits.
 * HBaseWD can compute a negative byte for it, which is not a bucket, so its readers never find the row. Here,
 * the row gets one of the buckets. */
static bool
hbasewd_bucket(const salt *self, const kw_value *values, kw_bytes rest, uint32_t *ret_bucket,
               kw_error *ret_error)
{
    (void)values;
    (void)ret_error;
    int64_t hash = kw_java_bytes_hash(rest);
    *ret_bucket = (uint32_t)((hash < 0 ? -hash : hash) % self->form.modulus);
    return true;
}

static const algorithm algorithms[] = {
    {.name = "xxh64", .bucket = xxh64_bucket},
    {.name = "murmur2", .digest = KW_DIGEST_MURMUR2, .bucket = digest_bucket},
    {.name = "murmur3", .digest = KW_DIGEST_MURMUR3, .bucket = digest_bucket},
    {.name = "crc32", .digest = KW_DIGEST_CRC32, .bucket = digest_bucket},
    {.name = "jenkins", .digest = KW_DIGEST_JENKINS, .bucket = digest_bucket},
    {.name = "java_long", .of_number = true, .bucket = java_long_bucket},
    {.name = "java_string", .of_text_or_number = true, .bucket = java_string_bucket},
    {.name = "phoenix", .of_rest = true, .bucket = phoenix_bucket},
    {.name = "hbasewd", .of_rest = true, .bucket = hbasewd_bucket},
    {.name = "random", .choice = KW_CHOICE_RANDOM},
    {.name = "round_robin", .choice = KW_CHOICE_ROUND_ROBIN},
};

static const algorithm *
find_algorithm(const char *name)
{
    for (size_t index = 0; index < G_N_ELEMENTS(algorithms); index++) {
        if (strcmp(algorithms[index].name, name) == 0)
            return &algorithms[index];
    }
    g_assert_not_reached(); /* the reader checked the choice */
}

static bool
is_number(const kw_field_set *table, size_t field)
{
    return kw_field_value_kind(table->fields[field].type) == KW_VALUE_NUMBER;
}

static bool
is_text(const kw_field_set *table, size_t field)
{
    return kw_field_value_kind(table->fields[field].type) == KW_VALUE_TEXT;
}

/* For an algorithm that does not read fields. */
static bool
refuse_inputs(const kw_site *site, const char *name, const char *instead)
{
    return !kw_model_setting_find(site->model, "of") ||
           kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "of"), "remove \"of\"", "salt: %s %s",
                              name, instead);
}

static bool
read_inputs(const kw_site *site, salt *self)
{
    kw_component *base = &self->base;
    const char *name = self->algorithm->name;
    base->of_rest = self->algorithm->of_rest;
    base->choice = self->algorithm->choice;
    if (base->choice)
        return refuse_inputs(site, name, "chooses the bucket at each put, independent of fields");
    if (base->of_rest && !refuse_inputs(site, name, "hashes the rest of the key, not fields"))
        return false;
    if (base->of_rest && site->last)
        return kw_diagnostics_add(site->diagnostics, site->model->mark, "put it first",
                                  "salt: %s hashes the rest of the key, but no component follows", name);
    if (base->of_rest)
        return true;
    if (!kw_site_fields(site, "of", &base->inputs, &base->inputs_count))
        return false;
    if (self->algorithm->of_number && (base->inputs_count != 1 || !is_number(site->table, base->inputs[0])))
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "of"), NULL,
                                  "salt: %s needs exactly one int or timestamp field", name);
    if (self->algorithm->of_text_or_number &&
        (base->inputs_count != 1 ||
         (!is_number(site->table, base->inputs[0]) && !is_text(site->table, base->inputs[0]))))
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "of"), NULL,
                                  "salt: %s needs exactly one string, int or timestamp field", name);
    return true;
}

static bool
read_sign(const kw_site *site, salt *self)
{
    const char *name = kw_site_text(site, "sign", "floor_mod");
    self->sign = signs;
    while (strcmp(self->sign->name, name) != 0)
        self->sign++;
    return self->algorithm->bucket == java_string_bucket || !kw_model_setting_find(site->model, "sign") ||
           kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "sign"), "remove \"sign\"",
                              "salt: sign is for java_string; %s has only one form", self->algorithm->name);
}

/* Phoenix and HBaseWD write one byte. */
#define BYTE_BUCKETS_MAX 256

static void
check_one_byte(const kw_site *site, salt *self)
{
    if (!self->algorithm->of_rest || self->form.buckets <= BYTE_BUCKETS_MAX)
        return;
    kw_site_hazard(
        site, &self->base, kw_site_mark(site, "buckets"),
        "use at most 256 buckets, or an algorithm that is not for tables of other programs",
        kw_arena_printf(site->arena,
                        "salt: %s writes the bucket as one byte, so it has at most %d buckets, not %u",
                        self->algorithm->name, BYTE_BUCKETS_MAX, self->form.buckets));
}

static const kw_component *
compile(const kw_site *site)
{
    salt *self = (salt *)kw_site_component(site, sizeof(salt), &kw_component_salt);
    self->algorithm = find_algorithm(kw_site_text(site, "algorithm", "xxh64"));
    if (!read_inputs(site, self) || !read_sign(site, self) ||
        !kw_bucket_form_read(site, self->sign->remainders, &self->form))
        return NULL;
    check_one_byte(site, self);
    kw_component *base = &self->base;
    base->width = self->form.width;
    base->buckets = self->form.buckets;
    base->cuts = self->form.buckets;
    base->fullest = self->algorithm->bucket == xxh64_bucket ? 1 : 0;
    const char *form = kw_bucket_form_text(site, &self->form);
    const char *sign_text =
        self->sign == signs ? "" : kw_arena_printf(site->arena, ", sign %s", self->sign->name);
    const char *of =
        base->of_rest ? "the rest of the key" : kw_site_field_names(site, base->inputs, base->inputs_count);
    base->text = base->choice
                     ? kw_arena_printf(site->arena, "salt(%s, modulo %s)", self->algorithm->name, form)
                     : kw_arena_printf(site->arena, "salt(%s of %s%s, modulo %s)", self->algorithm->name, of,
                                       sign_text, form);
    return base;
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    const salt *self = (const salt *)component;
    uint32_t bucket;
    g_assert(!component->choice);
    if (!self->algorithm->bucket(self, values, rest, &bucket, ret_error))
        return false;
    kw_bucket_form_append(&self->form, bucket, out);
    return true;
}

static void
choose(const kw_component *component, uint32_t choice, kw_buffer *out)
{
    kw_bucket_form_append(&((const salt *)component)->form, choice, out);
}

static uint32_t
chosen(const kw_component *component, kw_bytes piece)
{
    return kw_bucket_form_find(&((const salt *)component)->form, piece);
}

static size_t
enumerate(const kw_component *component, const kw_value_span *span, kw_arena *arena,
          const kw_bucket **ret_buckets)
{
    const salt *self = (const salt *)component;
    if (!self->algorithm->of_number)
        return kw_bucket_form_all(&self->form, arena, ret_buckets);
    return kw_bucket_form_within(&self->form, component, span, java_long_bucket_of, arena, ret_buckets);
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    return kw_bucket_form_piece(&((const salt *)component)->form, (uint32_t)index, arena);
}

static const char *const algorithm_names[] = {"xxh64",   "murmur2",   "murmur3",     "crc32",
                                              "jenkins", "java_long", "java_string", "phoenix",
                                              "hbasewd", "random",    "round_robin", NULL};

static const kw_setting_schema settings[] = {
    {.name = "of",
     .kind = KW_SETTING_TEXTS,
     .about = "The fields to hash. Required, but not accepted by phoenix and hbasewd, which hash the rest of "
              "the key, nor by random and round_robin, which do not depend on fields."},
    KW_BUCKET_SETTINGS,
    {.name = "algorithm",
     .kind = KW_SETTING_CHOICE,
     .choices = algorithm_names,
     .fallback = "xxh64",
     .about = "xxh64 spreads evenly. random and round_robin choose a bucket at each put, which gives the "
              "most even load, but a lookup reads one row in every bucket. If the table has an association, "
              "the bucket of a new record is computed from a hash instead, and a lookup reads two rows. For "
              "puts of a record that exists, see the table's setting `updates`. The "
              "others are for tables of other programs: murmur2, murmur3, crc32 and jenkins (the hash as a "
              "non-negative number, modulo the buckets), java_long (Long.hashCode narrowed to short), "
              "java_string (String.hashCode; of a number, its decimal text), phoenix (SALT_BUCKETS), "
              "hbasewd (OneByteSimpleHash)."},
    {.name = "sign",
     .kind = KW_SETTING_CHOICE,
     .choices = sign_names,
     .fallback = "floor_mod",
     .about =
         "Only for java_string: how the hash h, which can be negative, becomes one of n buckets in the "
         "program that wrote the rows. floor_mod is Math.floorMod(h, n), mask is (h & Integer.MAX_VALUE) % "
         "n, "
         "abs is Math.abs(h) % n, as_is is h % n. With as_is, the remainders below 0 are buckets of their "
         "own, "
         "so a read visits 2n - 1 buckets; with abs, there is one such bucket if n is not a power of two, "
         "because Math.abs(Integer.MIN_VALUE) is negative. Such a remainder is written as a two's "
         "complement, "
         "or with a minus sign as the first of the decimal digits, as by String.format(\"%03d\", h % n)."},
};

static const kw_component_schema schema = {
    .name = "salt",
    .about = "A bucket number computed from a hash. It spreads rows with adjacent keys; reads fan out over "
             "the buckets.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_salt = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .choose = choose,
    .chosen = chosen,
    .enumerate = enumerate,
    .piece = piece,
};

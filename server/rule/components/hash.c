/* hash: the beginning of a digest of named fields, so that keys spread over regions.
 *
 * Computable if all its fields are bound; otherwise it ends the usable prefix, because it has too many values
 * to list. For a few buckets that a query can visit, use salt.
 */
#include "rule/components/kinds.h"
#include "rule/derived.h"

typedef struct hash {
    kw_component base;
    kw_digest digest;
    bool hex;
    bool numbers_as_text;
    uint32_t length; /* digits or bytes */
} hash;

static bool
read_length(const kw_site *site, hash *self)
{
    self->hex = strcmp(kw_site_text(site, "as", "hex"), "hex") == 0;
    self->length = (uint32_t)kw_site_number(site, "take", 4);
    size_t most = kw_digest_size(self->digest) * (self->hex ? 2 : 1);
    if (self->length > most)
        return kw_diagnostics_add(site->diagnostics, kw_site_mark(site, "take"), NULL,
                                  "hash: %s has only %zu %s", kw_digest_name(self->digest), most,
                                  self->hex ? "hex digits" : "bytes");
    return true;
}

/* Splits by at most the first four bytes of the hash, which suffices for any number of regions. */
static uint64_t
cuts_of(const hash *self)
{
    return self->hex ? UINT64_C(1) << 4 * MIN(self->length, 8) : UINT64_C(1) << 8 * MIN(self->length, 4);
}

static const kw_component *
compile(const kw_site *site)
{
    hash *self = (hash *)kw_site_component(site, sizeof(hash), &kw_component_hash);
    const char *name = kw_site_text(site, "algorithm", "xxh64");
    bool known = kw_digest_find(name, &self->digest);
    g_assert(known); /* the reader checked the choice */
    self->numbers_as_text = strcmp(kw_site_text(site, "numbers", "long"), "text") == 0;
    if (!kw_site_fields(site, "of", &self->base.inputs, &self->base.inputs_count) || !read_length(site, self))
        return NULL;
    self->base.width = self->length;
    self->base.cuts = cuts_of(self);
    self->base.text = kw_arena_printf(site->arena, "hash(%s of %s%s, first %u as %s)", name,
                                      kw_site_field_names(site, self->base.inputs, self->base.inputs_count),
                                      self->numbers_as_text ? " with numbers as text" : "", self->length,
                                      self->hex ? "hex" : "bytes");
    return &self->base;
}

static bool
encode(const kw_component *component, const kw_value *values, kw_bytes rest, kw_buffer *out,
       kw_error *ret_error)
{
    const hash *self = (const hash *)component;
    (void)rest;
    uint8_t digest[KW_DIGEST_MAX];
    if (!kw_derived_digest(component, values, self->digest, self->numbers_as_text, digest, ret_error))
        return false;
    uint8_t *to = kw_buffer_reserve(out, self->length);
    if (self->hex)
        kw_derived_hex(digest, self->length, to);
    else
        memcpy(to, digest, self->length);
    out->size += self->length;
    return true;
}

static kw_bytes
piece(const kw_component *component, uint64_t index, kw_arena *arena)
{
    const hash *self = (const hash *)component;
    uint32_t length = MIN(self->length, self->hex ? 8 : 4);
    uint32_t unused = self->hex ? 32 - 4 * length : 32 - 8 * length;
    uint8_t head[4];
    kw_be32_store(head, (uint32_t)(index << unused));
    uint8_t *to = kw_arena_alloc(arena, length);
    if (self->hex)
        kw_derived_hex(head, length, to);
    else
        memcpy(to, head, length);
    return kw_bytes_of(to, length);
}

static const char *const algorithms[] = {"md5",   "sha1",  "murmur2", "murmur3",
                                         "xxh64", "crc32", "jenkins", NULL};
static const char *const forms[] = {"hex", "bytes", NULL};
static const char *const number_forms[] = {"long", "text", NULL};

static const kw_setting_schema settings[] = {
    {.name = "of", .kind = KW_SETTING_TEXTS, .required = true, .about = "The fields to hash, in this order."},
    {.name = "algorithm",
     .kind = KW_SETTING_CHOICE,
     .choices = algorithms,
     .fallback = "xxh64",
     .about = "The hash function. All but xxh64 are for keys of other programs: murmur2, murmur3 and jenkins "
              "as HBase computes them, crc32 as zip does."},
    {.name = "take",
     .kind = KW_SETTING_INT,
     .least = 1,
     .most = 40,
     .fallback = "4",
     .about = "Number of leading hex digits or bytes of the hash."},
    {.name = "as",
     .kind = KW_SETTING_CHOICE,
     .choices = forms,
     .fallback = "hex",
     .about = "Write the hash in lower-case hex digits or in raw bytes."},
    {.name = "numbers",
     .kind = KW_SETTING_CHOICE,
     .choices = number_forms,
     .fallback = "long",
     .about = "Hash numbers as 8 bytes big-endian or as decimal text."},
};

static const kw_component_schema schema = {
    .name = "hash",
    .about = "The leading part of a hash of fields. It spreads keys over regions.",
    .settings = settings,
    .settings_count = G_N_ELEMENTS(settings),
};

const kw_component_kind kw_component_hash = {
    .schema = &schema,
    .compile = compile,
    .encode = encode,
    .piece = piece,
};

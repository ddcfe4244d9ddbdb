/* Shared by component kinds: digests of fields (hash, salt, ring), hex digits, and the encoding of bucket
 * numbers (salt, mod).
 *
 * A bucket number is encoded as raw bytes, hex digits or decimal digits of a fixed width, so that the pieces
 * sort like the numbers.
 */
#pragma once

#include "rule/component.h"
#include "rule/digest.h"

/* Digest of the component's inputs, concatenated. INVALID if one is absent. */
bool kw_derived_digest(const kw_component *component, const kw_value *values, kw_digest digest,
                       bool numbers_as_text, uint8_t *to, kw_error *ret_error);

/* The xxh64 of the fields, hashed as by kw_derived_digest, as a number. */
bool kw_derived_xxh64(const kw_component *component, const kw_value *values, uint64_t *ret_hash,
                      kw_error *ret_error);

/* The first `digits` hex digits of bytes, in lower case. */
void kw_derived_hex(const uint8_t *bytes, uint32_t digits, uint8_t *to);

/* Sets INVALID "table T, field F: is missing ...". Returns false. */
bool kw_derived_missing(const kw_component *component, size_t field, kw_error *ret_error);

typedef enum kw_bucket_as { KW_BUCKET_BYTE, KW_BUCKET_HEX, KW_BUCKET_DECIMAL } kw_bucket_as;

/* Buckets are counted from 0 in the order of their pieces. A remainder below 0 is a bucket of its own: as
 * bytes it is a two's complement, after the other pieces; as decimal digits it has a minus sign, and is
 * before them. */
typedef struct kw_bucket_form {
    kw_bucket_as as;
    uint32_t width; /* bytes in the key */
    uint32_t modulus;
    uint32_t negatives; /* number of remainders below 0 */
    int64_t lowest;     /* the least of them; they follow one another */
    uint32_t buckets;   /* modulus + negatives */
} kw_bucket_form;

/* Which remainders below 0 occur. */
typedef enum kw_bucket_sign {
    KW_BUCKET_NEVER_NEGATIVE,
    KW_BUCKET_ONE_NEGATIVE, /* that of -2^31, which has no absolute value in 32 bits */
    KW_BUCKET_NEGATIVE
} kw_bucket_sign;

/* Reads the settings buckets, as and width; if width is not given, uses the smallest that fits. False after a
 * diagnostic. */
bool kw_bucket_form_read(const kw_site *site, kw_bucket_sign sign, kw_bucket_form *ret_form);

/* The bucket of a remainder. */
uint32_t kw_bucket_form_of(const kw_bucket_form *form, int64_t remainder);

/* For example "16 as byte, width 1". */
const char *kw_bucket_form_text(const kw_site *site, const kw_bucket_form *form);

void kw_bucket_form_append(const kw_bucket_form *form, uint32_t bucket, kw_buffer *out);

/* The bucket encoded by these bytes; UINT32_MAX: they encode no bucket. */
uint32_t kw_bucket_form_find(const kw_bucket_form *form, kw_bytes piece);

/* The piece of one bucket, in the arena. */
kw_bytes kw_bucket_form_piece(const kw_bucket_form *form, uint32_t bucket, kw_arena *arena);

/* Every bucket; none of them determines a field. */
size_t kw_bucket_form_all(const kw_bucket_form *form, kw_arena *arena, const kw_bucket **ret_buckets);

/* The distinct buckets that bucket_of(value) returns for the numbers of a span, if the span has at most twice
 * as many numbers as there are buckets. Every bucket if it has more, is empty, or is about another field. */
size_t kw_bucket_form_within(const kw_bucket_form *form, const kw_component *component,
                             const kw_value_span *span,
                             uint32_t (*bucket_of)(const kw_bucket_form *form, int64_t value),
                             kw_arena *arena, const kw_bucket **ret_buckets);

extern const char *const kw_bucket_as_names[];

/* The rows of the settings table that bucket components share. */
#define KW_BUCKET_SETTINGS                                                                                   \
    {.name = "buckets",                                                                                      \
     .kind = KW_SETTING_INT,                                                                                 \
     .required = true,                                                                                       \
     .least = 2,                                                                                             \
     .most = KW_BUCKETS_MAX,                                                                                 \
     .about = "Number of buckets. A read that does not bind the bucket's fields visits all buckets."},       \
        {.name = "as",                                                                                       \
         .kind = KW_SETTING_CHOICE,                                                                          \
         .choices = kw_bucket_as_names,                                                                      \
         .fallback = "byte",                                                                                 \
         .about = "Write the bucket number in raw bytes, hex digits or decimal digits."},                    \
    {                                                                                                        \
        .name = "width", .kind = KW_SETTING_INT, .least = 1, .most = 8,                                      \
        .fallback = "as many as the buckets need", .about = "Size of the bucket number in bytes."            \
    }

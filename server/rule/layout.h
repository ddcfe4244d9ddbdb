/* A layout: one version of a path's key rule, compiled, immutable: record -> row key -> record.
 *
 * Pure: no clock, lock, log or I/O; any thread. Component kinds are rows of one table (rule/component.h); a
 * new kind is one file and one row.
 */
#pragma once

#include "rule/field.h"
#include "rule/record.h"

typedef struct kw_layout kw_layout;

/* HBase's limit of a row key: Short.MAX_VALUE. */
#define KW_ROW_KEY_MAX 32767

/* How the writer of a record chooses a bucket that does not follow from the record. */
typedef enum kw_choice_kind { KW_CHOICE_NONE = 0, KW_CHOICE_RANDOM, KW_CHOICE_ROUND_ROBIN } kw_choice_kind;

/* The one bucket of a rule that is chosen at each put: a record can be in any of `buckets` rows. */
typedef struct kw_choice {
    kw_choice_kind kind;
    uint32_t buckets; /* 1 if there is no choice */
} kw_choice;

kw_choice kw_layout_choice(const kw_layout *layout);

/* Appends a record's row key to `out` (a reusable buffer; not cleared first). INVALID naming table, field and
 * reason if a field is absent or its value does not fit its encoding; nothing is appended then. */
bool kw_layout_encode(const kw_layout *layout, const kw_record *record, kw_buffer *out, kw_error *ret_error);

/* Like kw_layout_encode, but in bucket `choice` (less than kw_layout_choice's buckets) instead of bucket 0.
 */
bool kw_layout_encode_chosen(const kw_layout *layout, const kw_record *record, uint32_t choice,
                             kw_buffer *out, kw_error *ret_error);

/* Decodes the fields of the key to record->values (others are unchanged). CORRUPT if this layout did not
 * create the key. Byte values are slices of `key` or in the arena. */
bool kw_layout_decode(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                      kw_error *ret_error);

/* One component's part of an encoded key, for explain. */
typedef struct kw_key_piece {
    const char *component; /* for example "hash(md5 of order_id, first 4 as hex)" */
    kw_bytes bytes;
} kw_key_piece;

/* The pieces of a record's key in order. The array is in the arena. */
bool kw_layout_pieces(const kw_layout *layout, const kw_record *record, kw_arena *arena,
                      kw_key_piece **ret_pieces, size_t *ret_count, kw_error *ret_error);

/* Like kw_layout_pieces, but in bucket `choice`, as in kw_layout_encode_chosen. */
bool kw_layout_pieces_chosen(const kw_layout *layout, const kw_record *record, uint32_t choice,
                             kw_arena *arena, kw_key_piece **ret_pieces, size_t *ret_count,
                             kw_error *ret_error);

/* A key of any origin, divided by the rule. */
typedef struct kw_dissected_key {
    const kw_key_piece *pieces; /* of the first components, as far as the key could be divided */
    size_t pieces_count;
    const char *why; /* NULL: the key follows the rule */
    size_t wrong; /* the component that does not fit; the number of components: bytes follow the last one */
} kw_dissected_key;

/* Divides a key and says which component does not fit, and why. Sets the fields that could be decoded in
 * record->values. Everything else is in the arena, or slices of `key`. */
void kw_layout_dissect(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                       kw_dissected_key *ret_key);

/* The same for a key that another program can have made: also encodes the decoded fields again. A key that
 * the rule reads but would write in another way does not fit, because a put of the same record makes another
 * row.
 */
void kw_layout_judge(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                     kw_dissected_key *ret_key);

/* True if the value of this field can be decoded from a key. */
bool kw_layout_holds_field(const kw_layout *layout, size_t field);

/* True if the key stores the field only in a coarser unit. Times with the same stored value then name one
 * record. */
bool kw_layout_holds_coarsely(const kw_layout *layout, size_t field);

/* True if the key stores these two values of a field alike. For a field stored exactly: true if they are
 * equal. */
bool kw_layout_alike(const kw_layout *layout, size_t field, kw_value a, kw_value b);

/* For fields stored coarsely: a number that is equal for values that are alike, and possibly for others.
 * False: no key can contain the value. */
bool kw_layout_code(const kw_layout *layout, size_t field, kw_value value, int64_t *ret_code);

/* SHA-256 over a canonical description of everything that determines the key's bytes (but not the encoding of
 * the table's cells), as 64 hex digits. Equal rules have equal fingerprints, whatever their spelling in the
 * file. */
const char *kw_layout_fingerprint(const kw_layout *layout);

/* The canonical description itself, one component per line. */
const char *kw_layout_description(const kw_layout *layout);

/* Buckets that a query without the bucket fields must visit (1: the rule does not scatter). */
uint64_t kw_layout_buckets(const kw_layout *layout);

/* The first component that scatters rows over buckets without holding a field; the number of components:
 * there is none. */
size_t kw_layout_bucket_component(const kw_layout *layout);

uint32_t kw_layout_number(const kw_layout *layout);
const char *kw_layout_store_table(const kw_layout *layout);
/* The fields that the layout was compiled for. */
const kw_field_set *kw_layout_fields(const kw_layout *layout);

size_t kw_layout_component_count(const kw_layout *layout);
/* Text of a component for people. */
const char *kw_layout_component_text(const kw_layout *layout, size_t index);
/* The time zone of a calendar; NULL for every other component. */
const struct kw_zone *kw_layout_component_zone(const kw_layout *layout, size_t index);

/* Split points for `regions` regions, derived from the rule: at the beginnings of buckets or prefixes, as
 * evenly as the rule allows (can be fewer). Sorted keys, in the arena. INVALID if the rule does not determine
 * them. */
bool kw_layout_splits(const kw_layout *layout, uint32_t regions, kw_arena *arena, kw_bytes **ret_keys,
                      size_t *ret_count, kw_error *ret_error);

/* Split points derived from sample records, so that each region gets an equal share of the sample. Records
 * whose values are NULL are skipped. */
bool kw_layout_splits_of_sample(const kw_layout *layout, const kw_record *records, size_t records_count,
                                uint32_t regions, kw_arena *arena, kw_bytes **ret_keys, size_t *ret_count,
                                kw_error *ret_error);

/* The component schemas, for config's reader. */
const kw_component_schema *const *kw_rule_schemas(size_t *ret_count);

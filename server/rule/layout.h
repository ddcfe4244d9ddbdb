/* A layout: one version of a path's key rule, compiled, immutable: record -> row key -> record.
 *
 * Pure: no clock, lock, log or I/O; any thread. Components are rows of one table
 * (rule/component.h); adding one is one file and one table row.
 */
#pragma once

#include "rule/field.h"
#include "rule/record.h"

typedef struct kw_layout kw_layout;

/* HBase's limit of a row key: Short.MAX_VALUE. */
#define KW_ROW_KEY_MAX 32767

/* How a bucket that does not follow from the record is chosen, by whoever writes the record. */
typedef enum kw_choice_kind { KW_CHOICE_NONE = 0, KW_CHOICE_RANDOM, KW_CHOICE_IN_TURN } kw_choice_kind;

/* The one bucket of a rule that is chosen at each put: a record may be in any of so many rows. */
typedef struct kw_choice {
    kw_choice_kind kind;
    uint32_t buckets; /* 1 when there is nothing to choose */
} kw_choice;

kw_choice kw_layout_choice(const kw_layout *layout);

/* Row key of a record appended to `out` (a reusable buffer; not cleared first). INVALID naming table,
 * field and reason when a field is absent or its value does not fit its encoding; nothing is
 * appended then. */
bool kw_layout_encode(const kw_layout *layout, const kw_record *record, kw_buffer *out, kw_error *ret_error);

/* The same in bucket `choice` (below kw_layout_choice's buckets), where kw_layout_encode takes bucket 0. */
bool kw_layout_encode_chosen(const kw_layout *layout, const kw_record *record, uint32_t choice,
                             kw_buffer *out, kw_error *ret_error);

/* Fills the fields that the key holds into record->values (others untouched). CORRUPT when the key
 * was not made by this layout. Byte values are slices of `key` or the arena's. */
bool kw_layout_decode(const kw_layout *layout, kw_bytes key, kw_arena *arena, kw_record *record,
                      kw_error *ret_error);

/* One component's part of an encoded key, for explain. */
typedef struct kw_key_piece {
    const char *component; /* "hash(md5 of order_id, first 4 as hex)" */
    kw_bytes bytes;
} kw_key_piece;

/* The pieces of a record's key in order. Count and array in the arena. */
bool kw_layout_pieces(const kw_layout *layout, const kw_record *record, kw_arena *arena,
                      kw_key_piece **ret_pieces, size_t *ret_count, kw_error *ret_error);

/* The same in bucket `choice`, as kw_layout_encode_chosen. */
bool kw_layout_pieces_chosen(const kw_layout *layout, const kw_record *record, uint32_t choice,
                             kw_arena *arena, kw_key_piece **ret_pieces, size_t *ret_count,
                             kw_error *ret_error);

/* Can the value of this field be read back from a key? */
bool kw_layout_holds_field(const kw_layout *layout, size_t field);

/* Does the key hold the field, but only up to a coarser unit? Then times that it holds alike name one record.
 */
bool kw_layout_holds_coarsely(const kw_layout *layout, size_t field);

/* Does the key hold these two values of a field alike? Of a field that it holds exactly: are they equal? */
bool kw_layout_alike(const kw_layout *layout, size_t field, kw_value a, kw_value b);

/* For fields that are held coarsely: a number that values which are alike have in common, and others can
 * have, too. False: no key holds the value. */
bool kw_layout_code(const kw_layout *layout, size_t field, kw_value value, int64_t *ret_code);

/* SHA-256 over a canonical description of everything that decides the key's bytes (and of how cells of the
 * table are encoded is NOT part of it), as 64 hex digits. Equal for equal rules whatever their spelling in
 * the file. */
const char *kw_layout_fingerprint(const kw_layout *layout);

/* The canonical description itself, one component a line. */
const char *kw_layout_description(const kw_layout *layout);

/* Buckets that a question without the bucket fields must visit (1: none scattered). */
uint64_t kw_layout_buckets(const kw_layout *layout);

uint32_t kw_layout_number(const kw_layout *layout);
const char *kw_layout_path_name(const kw_layout *layout);
const char *kw_layout_store_table(const kw_layout *layout);
/* The fields that it is made over. */
const kw_field_set *kw_layout_fields(const kw_layout *layout);

size_t kw_layout_component_count(const kw_layout *layout);
/* Text of a component for people. */
const char *kw_layout_component_text(const kw_layout *layout, size_t index);

/* Split points for `regions` regions from the rule itself: cuts where the buckets or prefixes begin,
 * as evenly as the rule allows (may be fewer). Keys in order, in the arena. INVALID when the rule gives no
 * way to know. */
bool kw_layout_splits(const kw_layout *layout, uint32_t regions, kw_arena *arena, kw_bytes **ret_keys,
                      size_t *ret_count, kw_error *ret_error);

/* Split points cut from sample records so that each region gets an equal share of the sample. */
bool kw_layout_splits_of_sample(const kw_layout *layout, const kw_record *records, size_t records_count,
                                uint32_t regions, kw_arena *arena, kw_bytes **ret_keys, size_t *ret_count,
                                kw_error *ret_error);

/* The component schemas for config's reader. */
const kw_component_schema *const *kw_rule_schemas(size_t *ret_count);

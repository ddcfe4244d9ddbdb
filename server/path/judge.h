/* Judges rows that other programs can have written: whether a row's key follows the rule of a placement, byte
 * for byte, and whether its values can be decoded. Pure.
 *
 * A row that fits is read and written by Keyway as the other program does. kw_reader accepts the same rows,
 * faster, except for keys whose fields have values that the policy does not allow. */
#pragma once

#include "rule/layout.h"
#include "schema/policy.h"
#include "store/store.h"

typedef enum kw_row_fit {
    KW_ROW_FITS,
    KW_ROW_FOREIGN,    /* the key does not follow the rule */
    KW_ROW_UNDECODABLE /* the key does, but a value cannot be decoded, or contradicts the key */
} kw_row_fit;

typedef struct kw_row_verdict {
    kw_row_fit fit;
    size_t component; /* FOREIGN: the one that does not fit; the number of components: none in particular */
    size_t field;     /* UNDECODABLE: the first field with a value that cannot be decoded */
    const char *why;  /* names the component or the field; NULL: the row fits */
    kw_record key;    /* the fields of the key that could be decoded */
    const kw_key_piece *pieces; /* of the key's first components, as far as it could be divided */
    size_t pieces_count;
} kw_row_verdict;

/* Everything is in the arena, or slices of the row. undecodable: incremented for each field with a value that
 * cannot be decoded; NULL: not counted. */
void kw_row_judge(const kw_placement *placement, const kw_row *row, kw_arena *arena, uint64_t *undecodable,
                  kw_row_verdict *ret_verdict);

/* False if a field of the key is -0.0. Keyway writes 0.0 instead, so gets and conditions do not find a row
 * that another program, or an earlier version, has written with such a key. */
bool kw_row_key_has_no_negative_zero(const kw_table *table, const kw_record *key, kw_error *ret_error);

/* True if the policy allows the values of the key's fields. Otherwise no call can name the record. */
bool kw_row_key_is_allowed(const kw_placement *placement, const kw_record *key, size_t *ret_field,
                           kw_error *ret_error);

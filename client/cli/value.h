/* From words like `amount=12.50` to fields and values, by the types that the gateway tells, and back.
 * Errors are KW_CLIENT_INVALID and name table, field and text.
 */
#pragma once

#include "keyway.h"

/* A value together with the memory that it borrows. */
typedef struct kw_held_value {
    kw_value value;
    GByteArray *bytes; /* NULL unless the value is BYTES */
} kw_held_value;

void kw_held_value_clear(kw_held_value *held);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_held_value, kw_held_value_clear)

/* The field of that name; sets an error that proposes the nearest one. */
const kw_field_info *kw_field_named(const kw_table_info *table, const char *name, GError **error);

/* The text as a value of the field's type; a TEXT value borrows `text`. *ret_held starts empty. */
bool kw_value_parse(const kw_table_info *table, const kw_field_info *field, const char *text,
                    kw_held_value *ret_held, GError **error);

/* Splits FIELD=VALUE. *ret_text points into `word`. */
bool kw_word_split(const kw_table_info *table, const char *word, const kw_field_info **ret_field,
                   const char **ret_text, GError **error);

/* Sets the fields that the words FIELD=VALUE name. */
bool kw_record_parse(const kw_table_info *table, char *const *words, int count, kw_record *record,
                     GError **error);

/* The caller's. field NULL: by the value alone. raw: timestamps as numbers. */
char *kw_value_print(kw_value value, const kw_field_info *field, bool raw);

/* Converts arguments such as `amount=12.50` to fields and values, by the types from the gateway, and back.
 * Errors are KW_CLIENT_INVALID.
 */
#pragma once

#include "keyway.h"

#include <json-glib/json-glib.h>

/* A value together with the memory that it borrows. */
typedef struct kw_held_value {
    kw_value value;
    GByteArray *bytes;  /* NULL unless the value is BYTES */
    kw_record *entries; /* NULL unless it is a MAP */
} kw_held_value;

void kw_held_value_clear(kw_held_value *held);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(kw_held_value, kw_held_value_clear)

/* The field of that name; NULL with an error, which suggests a similar name. The name can end with a dot and
 * the name of a map's entry; *ret_entry then points to this entry, and otherwise becomes NULL. */
const kw_field_info *kw_field_named(const kw_table_info *table, const char *name, const char **ret_entry,
                                    GError **error);

/* Parses text as a value of the field's type, or of its entries' type if entry is not NULL; a map as a
 * JSON object. A TEXT value borrows `text`. *ret_held must be empty. */
bool kw_value_parse(const kw_table_info *table, const kw_field_info *field, const char *entry,
                    const char *text, kw_held_value *ret_held, GError **error);
/* Parses a map from a JSON object; null stands for no entry. */
bool kw_entries_parse(const kw_table_info *table, const kw_field_info *field, JsonObject *object,
                      kw_held_value *ret_held, GError **error);

/* Splits FIELD=VALUE without an entry. *ret_text points into `word`. */
bool kw_word_split(const kw_table_info *table, const char *word, const kw_field_info **ret_field,
                   const char **ret_text, GError **error);

/* Sets a field, or adds an entry to it if entry is not NULL. False and an error if it is already set. */
bool kw_record_add(kw_record *record, const kw_field_info *field, const char *entry, kw_value value,
                   GError **error);
/* The value of a field, or of an entry of it. */
kw_value kw_record_find(const kw_record *record, const char *field, const char *entry);

/* Sets the fields and entries of the arguments FIELD=VALUE and MAP.ENTRY=VALUE. */
bool kw_record_parse(const kw_table_info *table, char *const *words, int count, kw_record *record,
                     GError **error);

/* The caller frees it. field NULL: by the value alone. raw: timestamps as numbers. */
char *kw_value_print(kw_value value, const kw_field_info *field, bool raw);
/* The same as JSON: numbers and flags without quotes, maps as objects; values that JSON cannot express (NaN,
 * timestamps unless raw, bytes) as texts. */
void kw_value_append_json(GString *to, kw_value value, const kw_field_info *field, bool raw);

/* The fields as arguments: "order_id=A-1 ts=2026-11-21T10:00:00Z". The caller frees it. */
char *kw_record_print(const kw_table_info *table, const kw_record *record, bool raw);

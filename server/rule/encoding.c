/* The table of encodings. */
#include "rule/encoding.h"

static const kw_encoding *const encodings[] = {
    &kw_encoding_raw,
    &kw_encoding_terminated,
    &kw_encoding_fixed,
    &kw_encoding_digits,
    &kw_encoding_hex,
    &kw_encoding_uuid,
    &kw_encoding_int,
    &kw_encoding_raw_int,
    &kw_encoding_max_minus,
    &kw_encoding_decimal,
    &kw_encoding_max_minus_decimal,
    &kw_encoding_double,
    &kw_encoding_float,
    &kw_encoding_bool,
    &kw_encoding_raw_bool,
    &kw_encoding_phoenix,
    &kw_encoding_ordered,
};

const char *const kw_encoding_names[] = {
    "raw",     "terminated",        "fixed",  "digits", "hex",  "uuid",     "int",     "raw_int", "max_minus",
    "decimal", "max_minus_decimal", "double", "float",  "bool", "raw_bool", "phoenix", "ordered", NULL};

const kw_encoding *
kw_encoding_find(const char *name)
{
    for (size_t index = 0; index < G_N_ELEMENTS(encodings); index++) {
        if (strcmp(encodings[index]->name, name) == 0)
            return encodings[index];
    }
    return NULL;
}

/* Single values: text to number, size, duration, address, name, and back to text.
 *
 * Pure functions, except kw_parse_zone. Each kw_parse_ function with ret_refusal returns true, or false with
 * the reason and a hint for the author of the text; these texts are static. */
#pragma once

#include "config/memory.h"
#include "config/setting.h"

typedef struct kw_refusal {
    const char *why; /* follows the quoted value: "is not a size" */
    const char *hint;
} kw_refusal;

bool kw_parse_bool(const char *text, bool *ret_value, kw_refusal *ret_refusal);
bool kw_parse_int(const char *text, int64_t *ret_value, kw_refusal *ret_refusal);
/* 65536, 64KiB, 16MiB, 2GiB, 1TiB. */
bool kw_parse_size(const char *text, int64_t *ret_bytes, kw_refusal *ret_refusal);
/* 250ms, 10s, 5min, 1h, 7d, or 0. */
bool kw_parse_duration_ms(const char *text, int64_t *ret_ms, kw_refusal *ret_refusal);
/* host:port, 1.2.3.4:port, [::1]:port; without a port if default_port is not 0. Returns the host without
 * brackets, in the memory given. */
bool kw_parse_address(kw_memory *memory, const char *text, uint16_t default_port, const char **ret_host,
                      uint16_t *ret_port, kw_refusal *ret_refusal);
bool kw_parse_name(kw_name_rule rule, const char *text, kw_refusal *ret_refusal);

/* UTC, an offset such as +08:00, or a name in the system's time zone database, which is searched. Opens no
 * file outside the database's folder. */
bool kw_parse_zone(const char *text, kw_refusal *ret_refusal);

/* The bytes of a text with \xNN escapes; false for a bad escape. out: strlen(text) bytes. */
bool kw_parse_binary(const char *text, uint8_t *out, size_t *ret_size);

/* The largest unit that divides it: "16MiB", "10min". Caller frees. */
char *kw_size_text(int64_t bytes);
char *kw_duration_text(int64_t ms);

/* A regular expression (ECMA 262) for the valid names; NULL: any text. */
const char *kw_name_pattern(kw_name_rule rule);
/* Describes the rule: "column, family:qualifier". */
const char *kw_name_words(kw_name_rule rule);

#include "rule/random_rules.h"

#include "support/seed.h"

#include <stdlib.h>

enum { S0, S1, N0, T0, E0, B0, D0, F0, H0 };

static const char *const names[RANDOM_FIELDS] = {"s0", "s1", "n0", "t0", "e0", "b0", "d0", "f0", "h0"};

void
random_seed(void)
{
    kw_random_inject(test_seed());
}

unsigned
random_below(unsigned below)
{
    return (unsigned)(kw_random_u64() % below);
}

bool
random_chance(unsigned percent)
{
    return random_below(100) < percent;
}

static void
string_component(random_table *table, size_t field, GString *out)
{
    const char *order = random_chance(30) ? ", order: desc" : "";
    switch (random_below(7)) {
    case 0:
        g_string_append_printf(out, "      - field: %s\n", names[field]);
        return;
    case 1:
        g_string_append_printf(out, "      - field: {name: %s, encoding: raw}\n", names[field]);
        return;
    case 2:
        g_string_append_printf(out, "      - field: {name: %s, encoding: terminated%s}\n", names[field],
                               order);
        return;
    case 3:
        g_string_append_printf(out, "      - field: {name: %s, encoding: terminated, terminator: \"b\"%s}\n",
                               names[field], order);
        return;
    case 4:
        g_string_append_printf(out, "      - field: {name: %s, encoding: fixed, width: %u%s}\n", names[field],
                               1 + random_below(3), order);
        return;
    case 5:
        g_string_append_printf(out, "      - field: {name: %s, encoding: ordered%s}\n", names[field], order);
        return;
    default:
        if (!table->digits[field])
            table->digits[field] = 1 + (int)random_below(2);
        g_string_append_printf(out, "      - field: {name: %s, encoding: digits, width: %d%s%s}\n",
                               names[field], table->digits[field], order,
                               random_chance(30) ? ", reverse: true" : "");
    }
}

/* unit: the coarser unit that every path must use; "": none. */
static void
number_component(size_t field, const char *unit, GString *out)
{
    static const char *const forms[] = {
        "int, width: 1",
        "int, width: 2",
        "int, width: 8",
        "int, width: 8, order: desc",
        "int, width: 1, order: desc",
        "raw_int, width: 8",
        "raw_int, width: 1",
        "raw_int, width: 2, order: desc",
        "max_minus, width: 8",
        "max_minus, width: 4",
        "decimal, width: 3",
        "decimal, width: 19, order: desc",
        "decimal, width: 2, reverse: true",
        "max_minus_decimal, width: 10",
        "max_minus_decimal",
        "phoenix, width: 4, order: desc",
        "ordered",
        "ordered, width: 3, order: desc",
        "ordered, width: 2",
    };
    g_string_append_printf(out, "      - field: {name: %s, encoding: %s%s%s}\n", names[field],
                           forms[random_below(G_N_ELEMENTS(forms))], *unit ? ", unit: " : "", unit);
}

static const char *const zones[] = {
    "UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Shanghai", "+05:30"};

/* Parts of t0, sometimes with n0 as a sequence (ret_sequence): then n0 needs no component of its own. */
static void
calendar_component(bool sequence, const char *zone, GString *out)
{
    static const char *const parts[] = {"yyyy, MM, dd, HH, mm",
                                        "mm, HH, dd, MM, yyyy",
                                        "yyyy, MM",
                                        "MM, dd",
                                        "mm",
                                        "HH, mm",
                                        "dd, HH, mm",
                                        "yyyy, DDD",
                                        "HH, yyyy, MM, dd",
                                        "yyyy, MM, dd",
                                        "yyyy, MM, dd, HH",
                                        "yyyy, HH",
                                        "ss, mm, HH, dd, MM, yyyy",
                                        "yyyy, MM, dd, HH, mm, ss, SSS",
                                        "yy, DDD, HH, mm",
                                        "MM, dd, HH, mm"};
    const char *chosen = parts[random_below(G_N_ELEMENTS(parts))];
    if (sequence && !strstr(chosen, "SSS")) {
        bool decimal = random_chance(30) && strstr(chosen, "yyyy");
        g_string_append_printf(
            out, "      - calendar: {of: t0, parts: [%s], zone: %s, sequence: n0, digits: %s}\n", chosen,
            zone, decimal ? "3, as: decimal" : "3, as: packed");
        return;
    }
    g_string_append_printf(out, "      - calendar: {of: t0, parts: [%s], zone: %s%s}\n", chosen, zone,
                           random_chance(30)   ? ", as: packed"
                           : random_chance(30) ? ", separator: \"-\""
                                               : "");
}

/* Bits of t0 and n0. */
static void
bits_component(GString *out)
{
    static const char *const parts[] = {"zero 1, minute 6, seconds 32, n0 9", "seconds 40, n0 8",
                                        "minute 6, seconds 34, n0 16",        "n0 8, seconds 40",
                                        "zero 2, minute 6, ms 48, n0 8",      "constant 5 8, ms 48, n0 8",
                                        "n0 10, minute 6, seconds 32"};
    g_string_append_printf(out, "      - bits: {of: t0, parts: [%s]}\n",
                           parts[random_below(G_N_ELEMENTS(parts))]);
}

/* A double, a bool, or a string of hex digits. */
static void
other_component(size_t field, GString *out)
{
    static const char *const real_forms[] = {
        "double", "float", "phoenix", "ordered", "phoenix, width: 4", "ordered, width: 5"};
    const char *form = field == F0   ? random_chance(30)   ? "phoenix"
                                       : random_chance(50) ? "bool"
                                                           : "raw_bool"
                       : field == H0 ? random_chance(50) ? "uuid" : "hex, width: 2"
                                     : real_forms[random_below(G_N_ELEMENTS(real_forms))];
    if (field == F0 && random_chance(30))
        g_string_append(out, "      - enum: f0\n");
    else
        g_string_append_printf(out, "      - field: {name: %s, encoding: %s%s}\n", names[field], form,
                               random_chance(40) ? ", order: desc" : "");
}

static void
field_component(random_table *table, size_t field, const char *unit, GString *out)
{
    static const char *const b0_forms[] = {"raw", "fixed, width: 2", "fixed, width: 2, order: desc",
                                           "ordered", "ordered, order: desc"};
    switch (field) {
    case S0:
    case S1:
        string_component(table, field, out);
        return;
    case N0:
    case T0:
        number_component(field, field == T0 ? unit : "", out);
        return;
    case E0:
        g_string_append_printf(out, "      - enum: {field: e0, as: %s}\n",
                               random_chance(50) ? "index" : "text");
        return;
    case B0:
        g_string_append_printf(out, "      - field: {name: b0, encoding: %s}\n",
                               b0_forms[random_below(G_N_ELEMENTS(b0_forms))]);
        return;
    default:
        other_component(field, out);
    }
}

/* A hash, salt, mod, ring or literal over fields of the rule. */
static void
derived_component(const size_t *fields, size_t count, GString *out)
{
    const char *some = names[fields[random_below((unsigned)count)]];
    const char *other = names[fields[random_below((unsigned)count)]];
    static const char *const as[] = {"byte", "hex", "decimal"};
    static const char *const hashes[] = {"md5", "sha1", "xxh64", "murmur2", "murmur3", "crc32", "jenkins"};
    static const char *const java_forms[] = {"java_long",
                                             "java_string",
                                             "java_string, sign: abs",
                                             "java_string, sign: mask",
                                             "java_string, sign: as_is",
                                             "java_string, sign: as_is, as: decimal"};
    static const char *const rings[] = {"", "", ", algorithm: java_fnv", ", algorithm: java_fnv_alt"};
    switch (random_below(10)) {
    case 9:
        g_string_append_printf(out, "      - salt: {buckets: %u, algorithm: %s, as: %s}\n",
                               2 + random_below(5), random_chance(50) ? "random" : "round_robin",
                               as[random_below(3)]);
        return;
    case 0:
        g_string_append_printf(out, "      - literal: \"%s\"\n", random_chance(50) ? "|" : "\\\\xFF\\\\xFF");
        return;
    case 1:
        g_string_append_printf(out, "      - hash: {of: %s, algorithm: %s, take: %u}\n", some,
                               hashes[random_below(G_N_ELEMENTS(hashes))], 1 + random_below(4));
        return;
    case 2:
        if (some != other)
            g_string_append_printf(out, "      - hash: {of: [%s, %s], take: 1, as: bytes}\n", some, other);
        return;
    case 3:
    case 4:
        g_string_append_printf(out, "      - salt: {of: %s, buckets: %u, as: %s, algorithm: %s}\n", some,
                               2 + random_below(5), as[random_below(3)],
                               hashes[2 + random_below(G_N_ELEMENTS(hashes) - 2)]);
        return;
    case 5:
        g_string_append_printf(out, "      - salt: {buckets: %u, algorithm: %s}\n", 2 + random_below(5),
                               random_chance(50) ? "phoenix" : "hbasewd");
        return;
    case 7:
        g_string_append_printf(out, "      - ring: {of: %s, nodes: [%s], replicas: %u%s}\n", some,
                               random_chance(50) ? "n2, n1, n3" : "up, west, east", 1 + random_below(8),
                               rings[random_below(G_N_ELEMENTS(rings))]);
        return;
    case 6:
        g_string_append_printf(out, "      - mod: {of: n0, buckets: %u}\n", 2 + random_below(5));
        return;
    default:
        g_string_append_printf(out, "      - salt: {of: t0, buckets: %u, algorithm: %s}\n",
                               2 + random_below(5), java_forms[random_below(G_N_ELEMENTS(java_forms))]);
    }
}

static void
shuffle(size_t *fields, size_t count)
{
    for (size_t index = count; index > 1; index--) {
        size_t other = random_below((unsigned)index), swap = fields[index - 1];
        fields[index - 1] = fields[other];
        fields[other] = swap;
    }
}

/* t0 (and n0, if the rule has both) in a calendar or in bits, instead of or before components of their
 * own. */
static bool
timed_component(const random_table *table, const size_t *fields, size_t count, size_t field, GString *out)
{
    bool both = false;
    for (size_t index = 0; index < count; index++)
        both = both || fields[index] == N0;
    if (!table->zone || field != T0)
        return false;
    if (both && table->together && random_chance(30))
        bits_component(out);
    else
        calendar_component(both && table->together, table->zone, out);
    return !table->exact;
}

static void
rule(random_table *table, size_t *fields, size_t count, const char *unit, GString *out)
{
    shuffle(fields, count);
    for (size_t index = 0; index < count; index++) {
        while (random_chance(index ? 20 : 40))
            derived_component(fields, count, out);
        if (fields[index] == N0 && table->together)
            continue;
        if (!timed_component(table, fields, count, fields[index], out))
            field_component(table, fields[index], unit, out);
    }
    if (random_chance(10))
        derived_component(fields, count, out);
}

/* Puts t0 first in the rule, sometimes with n0. */
static void
choose_clock(random_table *table, size_t *fields, size_t *count)
{
    table->zone = zones[random_below(G_N_ELEMENTS(zones))];
    table->exact = random_chance(40);
    table->together = random_chance(50);
    *count = MAX(*count, 2);
    for (size_t wanted = 0; wanted < 2; wanted++) {
        size_t at = 0;
        while (fields[at] != (wanted ? N0 : T0))
            at++;
        fields[at] = fields[wanted];
        fields[wanted] = wanted ? N0 : T0;
    }
    if (!table->together && random_chance(50))
        fields[1] = S0;
    for (size_t at = 2; at < RANDOM_FIELDS; at++)
        if (fields[1] == S0 && fields[at] == S0)
            fields[at] = N0;
}

/* A sequence of n0, often with the periods of the calendar's zone. Returns the text of its field. */
static char *
draw_sequence(random_table *table)
{
    static const char *const periods[][2] = {{"second", "yyyy MM dd HH mm ss"},
                                             {"minute", "yyyy MM dd HH mm"},
                                             {"hour", "yyyy MM dd HH"},
                                             {"day", "yyyy MM dd"},
                                             {"month", "yyyy MM"},
                                             {"year", "yyyy"}};
    if (!table->zone || !random_chance(60))
        return g_strdup("int");
    const char *const *period = periods[random_below(G_N_ELEMENTS(periods))];
    const char *zone = random_chance(70) ? table->zone : zones[random_below(G_N_ELEMENTS(zones))];
    bool ever = random_chance(20);
    table->wraps = random_chance(20);
    table->period = ever ? g_strdup("") : g_strdup_printf("%s in %s", period[1], zone);
    g_autofree char *per =
        ever ? g_strdup("") : g_strdup_printf(", per: %s, of: t0, zone: '%s'", period[0], zone);
    return g_strdup_printf("{type: int, generate: {kind: sequence, from: 0, to: 99%s%s}}", per,
                           table->wraps ? ", at_end: wrap" : "");
}

/* The declarations of the fields, beginning with any of them. n0: the type of n0. */
static char *
declare_fields(random_table *table, const char *n0)
{
    static const char *const types[RANDOM_FIELDS] = {"string",
                                                     "string",
                                                     NULL,
                                                     "{type: timestamp, unit: ms, column: \"d:t0\"}",
                                                     "{type: string, values: [ab, ac, b]}",
                                                     "bytes",
                                                     "double",
                                                     "bool",
                                                     "string"};
    GString *text = g_string_new(NULL);
    table->first = random_below(RANDOM_FIELDS);
    for (size_t index = 0; index < RANDOM_FIELDS; index++) {
        size_t field = (index + table->first) % RANDOM_FIELDS;
        g_string_append_printf(text, "      %s: %s\n", names[field], types[field] ? types[field] : n0);
    }
    return g_string_free(text, FALSE);
}

void
random_table_make(random_table *ret_table)
{
    *ret_table = (random_table){.yaml = NULL};
    size_t fields[RANDOM_FIELDS] = {S0, S1, N0, T0, E0, B0, D0, F0, H0};
    shuffle(fields, RANDOM_FIELDS);
    size_t count = 1 + random_below(4);
    if (random_chance(30))
        choose_clock(ret_table, fields, &count);
    const char *unit = random_chance(15) ? "s" : "";
    GString *primary = g_string_new(NULL), *second = g_string_new(NULL);
    rule(ret_table, fields, count, unit, primary);
    rule(ret_table, fields, count, unit, second);
    g_autofree char *n0 = draw_sequence(ret_table);
    g_autofree char *declared = declare_fields(ret_table, n0);
    ret_table->yaml =
        g_strdup_printf("    fields:\n%s    updates: false\n%s    key:\n%s%s", declared,
                        ret_table->zone ? "    major_compaction: 1ms\n    families: {d: {ttl: 1s}}\n" : "",
                        primary->str, random_chance(60) ? "    paths:\n      second:\n        key:\n" : "");
    if (strstr(ret_table->yaml, "second:")) {
        char **lines = g_strsplit(second->str, "\n", -1);
        char *indented = g_strjoinv("\n    ", lines);
        char *whole = g_strdup_printf("%s    %s\n", ret_table->yaml, indented);
        g_strfreev(lines);
        g_free(indented);
        g_free(ret_table->yaml);
        ret_table->yaml = whole;
    }
    g_string_free(primary, TRUE);
    g_string_free(second, TRUE);
}

void
random_table_clear(random_table *table)
{
    g_free(table->yaml);
    g_free(table->period);
}

static kw_bytes
random_string(const char *const *letters, size_t letters_count, size_t length, kw_arena *arena, bool zeros)
{
    kw_buffer text = KW_BUFFER_EMPTY;
    for (size_t index = 0; index < length; index++) {
        if (zeros && random_chance(5))
            kw_buffer_append_byte(&text, 0);
        else
            kw_buffer_append_text(&text, letters[random_below((unsigned)letters_count)]);
    }
    kw_bytes copy = kw_arena_copy(arena, kw_buffer_bytes(&text));
    kw_buffer_clear(&text);
    return copy;
}

static int64_t
random_number(void)
{
    static const int64_t edges[] = {
        INT64_MIN, INT64_MIN + 1,          -129,          -128,     -1, 127, 128, 255, 256, 32767,
        INT32_MAX, INT32_MAX + INT64_C(1), INT64_MAX - 1, INT64_MAX};
    if (random_chance(10))
        return edges[random_below(G_N_ELEMENTS(edges))];
    return (int64_t)random_below(14) - (random_chance(15) ? 3 : 0);
}

int64_t
random_time(void)
{
    static const int64_t moments[] = {
        1635642000, /* the clocks of Europe/Berlin are set back, 2021-10-31 01:00 UTC */
        1616893200, /* ... and set forward */
        1617462000, /* those of Australia/Lord_Howe are set back by half an hour */
        1550368800, /* those of America/Sao_Paulo are set back at midnight, 2019 */
        1609459200, /* 2021 begins */
        1612108800, /* February */
        1582934400, /* a 29th of February */
    };
    static const int64_t strides[] = {1, 1000, 60000, 1800000, 3600000, 86400000};
    int64_t moment = moments[random_below(random_chance(60) ? 1 : G_N_ELEMENTS(moments))] * 1000;
    return moment + ((int64_t)random_below(9) - 4) * strides[random_below(G_N_ELEMENTS(strides))];
}

/* Cached, because creating one reads a file. */
static GTimeZone *
zone_named(const char *name)
{
    static GTimeZone *time_zones[G_N_ELEMENTS(zones)];
    size_t index = 0;
    while (strcmp(zones[index], name) != 0)
        index++;
    if (!time_zones[index])
        time_zones[index] = g_time_zone_new_identifier(name);
    return time_zones[index];
}

const char *
random_parts(const char *grain, int64_t ms, bool whole, kw_arena *arena)
{
    static const char *const parts[][2] = {{"yyyy", "%Y "}, {"yy", "%y "}, {"MM", "%m "},
                                           {"DDD", "%j "},  {"dd", "%d "}, {"HH", "%H "},
                                           {"mm", "%M "},   {"ss", "%S "}, {"SSS", "%f "}};
    if (!grain)
        return "";
    const char *zone = strstr(grain, " in ") + 4, *shown = "";
    g_auto(GStrv) words = g_strsplit(grain, " ", -1);
    GTimeZone *there = zone_named(zone);
    int64_t seconds = ms / 1000 - (ms % 1000 < 0);
    g_autoptr(GDateTime) second = g_date_time_new_from_unix_utc(seconds);
    g_autoptr(GDateTime) utc = g_date_time_add(second, (ms - seconds * 1000) * 1000);
    g_autoptr(GDateTime) local = g_date_time_to_timezone(utc, there);
    size_t finest = 0;
    for (size_t part = 0; part < G_N_ELEMENTS(parts); part++)
        finest = g_strv_contains((const char *const *)words, parts[part][0]) ? part : finest;
    for (size_t part = 0; part <= finest; part++) {
        if (!whole && !g_strv_contains((const char *const *)words, parts[part][0]))
            continue;
        g_autofree char *text = g_date_time_format(local, parts[part][1]);
        shown = kw_arena_printf(arena, "%s%s", shown, text);
    }
    return shown;
}

static kw_value
random_real(void)
{
    static const double edges[] = {0.0,    1e300, -1e300, 1e-300,  -1e-300, 0.1,       1e-46,
                                   -1e-46, 3e38,  3.5e38, -3.5e38, 1e39,    16777217.0};
    static const uint64_t odd[] = {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
                                   0xfff8000000000000, 0x7ff0000000000001, 0x7fffffffffffffff};
    kw_value value = {.kind = KW_VALUE_REAL, .real = (double)random_below(9) / 2 - 2};
    if (random_chance(15))
        value.real = edges[random_below(G_N_ELEMENTS(edges))];
    else if (random_chance(6))
        memcpy(&value.real, &odd[random_below(G_N_ELEMENTS(odd))], sizeof value.real);
    return value;
}

/* Mostly a UUID or four hex digits, of a few different values. */
static kw_value
random_hex(void)
{
    static const char *const texts[] = {
        "0000",
        "00ff",
        "ff00",
        "abcd",
        "abce",
        "ABCD",
        "abcg",
        "abc",
        "00ff0",
        "",
        "00000000-0000-0000-0000-000000000000",
        "00112233-4455-6677-8899-aabbccddeeff",
        "00112233-4455-6677-8899-aabbccddeefe",
        "a0112233-4455-6677-8899-aabbccddeeff",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "00112233-4455-6677-8899-AABBCCDDEEFF",
        "00112233-4455-6677-88990aabbccddeeff",
        "00112233-4455-6677-8899",
    };
    return (kw_value){.kind = KW_VALUE_TEXT,
                      .bytes = kw_bytes_of_text(texts[random_below(G_N_ELEMENTS(texts))])};
}

kw_value
random_value(const random_table *table, size_t field, kw_arena *arena)
{
    static const char *const letters[] = {"a", "b", "\x01", "c", "\xc3\xa9"};
    static const char *const digits[] = {"0", "1", "9"};
    static const char *const declared[] = {"ab", "ac", "b"};
    static const char *const bytes[] = {"a", "\xff", "\x7f", "\xfe"};
    field = (field + table->first) % RANDOM_FIELDS;
    bool numeric = table->digits[field] && random_chance(90);
    switch (field) {
    case S0:
    case S1:
        return (kw_value){
            .kind = KW_VALUE_TEXT,
            .bytes = numeric ? random_string(digits, G_N_ELEMENTS(digits), (size_t)table->digits[field],
                                             arena, false)
                             : random_string(letters, G_N_ELEMENTS(letters), random_below(4), arena, true),
        };
    case N0:
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = random_number()};
    case T0: {
        if (table->zone && random_chance(97))
            return (kw_value){.kind = KW_VALUE_NUMBER, .number = random_time()};
        int64_t number = random_number();
        bool coarse = number > 0 && number < 20 && random_chance(50);
        return (kw_value){.kind = KW_VALUE_NUMBER, .number = coarse ? number * 331 : number};
    }
    case E0:
        return (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(declared[random_below(3)])};
    case D0:
        return random_real();
    case F0:
        return (kw_value){.kind = KW_VALUE_FLAG, .flag = random_chance(50)};
    case H0:
        return random_hex();
    default:
        return (kw_value){.kind = KW_VALUE_BYTES,
                          .bytes = random_string(bytes, G_N_ELEMENTS(bytes),
                                                 random_chance(80) ? 2 : random_below(4), arena, true)};
    }
}

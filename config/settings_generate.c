/* The settings of a field's generate. A setting that belongs to one kind names it. See setting.h. */
#include "config/check.h"
#include "config/setting.h"

/* In the orders of kw_generate_kind and kw_period. */
static const char *const generate_kinds[] = {"sequence", "snowflake", "uuid4", "uuid7",
                                             "objectid", "now",       NULL};
static const char *const periods[] = {"ever", "second", "minute", "hour", "day", "month", "year", NULL};
static const char *const given[] = {"keep", "refuse", NULL};
static const char *const ends[] = {"fail", "wrap", NULL};
static const char *const snowflakes[] = {"standard", "partitioned", NULL};

#define SEQUENCE (1u << KW_GENERATE_SEQUENCE)
#define SNOWFLAKE (1u << KW_GENERATE_SNOWFLAKE)

static const kw_setting generate_settings[] = {
    {.name = "kind",
     .kind = KW_KIND_ENUM,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_generate, kind),
     .choices = generate_kinds,
     .about = "sequence: a number from a shared counter (int). snowflake: time, worker number and sequence "
              "in one int, without a shared counter. uuid4, uuid7: 36 characters (string) or 16 bytes "
              "(bytes); uuid7 values are ordered by time. objectid: 24 hex digits (string) or 12 bytes "
              "(bytes) of seconds, random bits and a counter. now: the time of the put (timestamp)."},
    {.name = "given",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_model_generate, refuse_given),
     .choices = given,
     .fallback = "keep",
     .about = "If a put has a value for the field: keep the value, or reject the put."},
    {.name = "from",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, from),
     .least = 0,
     .most = INT64_MAX - 1,
     .fallback = "1",
     .only = SEQUENCE,
     .about = "The first number. Do not lower it after numbers were generated."},
    {.name = "to",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, to),
     .least = 0,
     .most = INT64_MAX,
     .absent = INT64_MAX,
     .only = SEQUENCE,
     .about = "The last number.",
     .holds = "the greatest int"},
    {.name = "at_end",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_model_generate, wrap),
     .choices = ends,
     .fallback = "fail",
     .only = SEQUENCE,
     .about = "When all numbers are used: fail puts with LIMIT, or start again with the first number."},
    {.name = "per",
     .kind = KW_KIND_ENUM,
     .offset = offsetof(kw_model_generate, per),
     .choices = periods,
     .fallback = "ever",
     .only = SEQUENCE,
     .about = "Start again with the first number in each period (second, minute and so on) of the record's "
              "own time, which `of` names."},
    {.name = "of",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_generate, of),
     .least = 1,
     .only = SEQUENCE,
     .about = "The timestamp field with the record's time.",
     .holds = "none"},
    {.name = "zone",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_generate, zone),
     .least = 1,
     .only = SEQUENCE,
     .about = "Time zone of the periods, such as Europe/Berlin. Use the zone of the key's calendar, if it "
              "has one.",
     .holds = "UTC"},
    {.name = "form",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_model_generate, partitioned),
     .choices = snowflakes,
     .fallback = "standard",
     .only = SNOWFLAKE,
     .about = "standard: 41 bits of milliseconds, 10 bits of worker number, 12 bits of sequence. "
              "partitioned: a zero bit, 6 bits of minute of the hour (UTC), 32 bits of Unix seconds, 9 bits "
              "of worker number, 16 bits of sequence."},
    {.name = "epoch",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, epoch_ms),
     .least = 0,
     .most = INT64_C(4102444800000),
     .fallback = "1577836800000",
     .only = SNOWFLAKE,
     .about = "Start of the milliseconds in the standard form, in ms since 1970 (the default is 2020-01-01). "
              "Do not change it after ids were generated."},
    {.name = NULL},
};

const kw_section kw_generate_section = {
    .title = "generate",
    .about = "How the gateway generates the field's value if a put has none. `generate: uuid7` is short for "
             "`generate: {kind: uuid7}`.",
    .settings = generate_settings,
    .shorthand = "kind",
    .size = sizeof(kw_model_generate),
    .mark_offset = offsetof(kw_model_generate, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_model_generate, enabled),
    .check = kw_check_generate,
};

/* The rows of a field's generate: how the gateway makes values. Each says which kinds it belongs to. See
 * setting.h. */
#include "config/check.h"
#include "config/setting.h"

/* In the orders of kw_generate_kind and kw_period. */
static const char *const makings[] = {"sequence", "snowflake", "uuid4", "uuid7", "objectid", "now", NULL};
static const char *const periods[] = {"ever", "second", "minute", "hour", "day", "month", "year", NULL};
static const char *const given[] = {"keep", "refuse", NULL};
static const char *const ends[] = {"fail", "wrap", NULL};
static const char *const snowflakes[] = {"standard", "partitioned", NULL};

#define SEQUENCE (1u << KW_MAKE_SEQUENCE)
#define SNOWFLAKE (1u << KW_MAKE_SNOWFLAKE)

static const kw_setting generate_settings[] = {
    {.name = "kind",
     .kind = KW_KIND_ENUM,
     .flags = KW_SETTING_REQUIRED,
     .offset = offsetof(kw_model_generate, kind),
     .choices = makings,
     .about =
         "sequence: numbers of a counter (int). snowflake: time, worker and sequence in one int, without "
         "a counter. uuid4, uuid7: 36 characters (string) or 16 bytes (bytes), uuid7 in the order of "
         "time. objectid: 24 hex digits (string) or 12 bytes (bytes): seconds, random, counter. now: the "
         "time of the put (timestamp)."},
    {.name = "given",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_model_generate, refuse_given),
     .choices = given,
     .fallback = "keep",
     .about = "What becomes of a value that a put brings: it stays, or the put is refused."},
    {.name = "from",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, from),
     .least = 0,
     .most = INT64_MAX - 1,
     .fallback = "1",
     .only = SEQUENCE,
     .about = "The first number. It must not become lower once numbers were made."},
    {.name = "to",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, to),
     .least = 0,
     .most = INT64_MAX,
     .absent = INT64_MAX,
     .only = SEQUENCE,
     .about = "The last number.",
     .holds = "none; as far as an int goes"},
    {.name = "at_end",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_model_generate, wrap),
     .choices = ends,
     .fallback = "fail",
     .only = SEQUENCE,
     .about = "When all numbers are used: puts fail with LIMIT, or numbers begin at from again."},
    {.name = "block",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, block),
     .least = 1,
     .most = 1000000000,
     .absent = 0,
     .only = SEQUENCE,
     .about =
         "Numbers that each loop of a gateway takes from the counter at once. What it has not used is lost "
         "when it ends.",
     .holds = "1000, or a hundredth of the range where that is less"},
    {.name = "prefetch",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, prefetch),
     .least = 0,
     .most = 100,
     .fallback = "50",
     .only = SEQUENCE,
     .about =
         "The next block is taken when so many percent of a block are left, so that writers do not wait; and "
         "the first block of the next period before that begins. 0: only when a number is wanted."},
    {.name = "per",
     .kind = KW_KIND_ENUM,
     .offset = offsetof(kw_model_generate, per),
     .choices = periods,
     .fallback = "ever",
     .only = SEQUENCE,
     .about = "Numbers begin at from again with each minute (say) of the record's own time. Needs of."},
    {.name = "of",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_generate, of),
     .least = 1,
     .only = SEQUENCE,
     .about = "Timestamp field that tells the record's time.",
     .holds = "none"},
    {.name = "zone",
     .kind = KW_KIND_TEXT,
     .offset = offsetof(kw_model_generate, zone),
     .least = 1,
     .only = SEQUENCE,
     .about =
         "Time zone in which the period is told, as Europe/Berlin; the one of the key's calendar, if it has "
         "one.",
     .holds = "UTC"},
    {.name = "form",
     .kind = KW_KIND_EITHER,
     .offset = offsetof(kw_model_generate, partitioned),
     .choices = snowflakes,
     .fallback = "standard",
     .only = SNOWFLAKE,
     .about =
         "standard: 41 bits of milliseconds, 10 of worker, 12 of sequence. partitioned: a zero, 6 bits of "
         "minute of the hour (UTC), 32 of Unix seconds, 9 of worker, 16 of sequence."},
    {.name = "epoch",
     .kind = KW_KIND_INT,
     .offset = offsetof(kw_model_generate, epoch_ms),
     .least = 0,
     .most = INT64_C(4102444800000),
     .fallback = "1577836800000",
     .only = SNOWFLAKE,
     .about = "Where the milliseconds of the standard form begin, in ms since 1970 (2020-01-01). It must not "
              "change once ids were made."},
    {.name = NULL},
};

const kw_section kw_generate_section = {
    .title = "generate",
    .about = "How the gateway makes the field's value when a put has none; `generate: uuid7` is short for "
             "`generate: {kind: uuid7}`.",
    .settings = generate_settings,
    .shorthand = "kind",
    .size = sizeof(kw_model_generate),
    .mark_offset = offsetof(kw_model_generate, mark),
    .name_offset = KW_OFFSET_NONE,
    .switch_offset = offsetof(kw_model_generate, enabled),
    .check = kw_check_generate,
};

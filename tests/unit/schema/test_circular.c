/* Calendars whose pieces repeat: rejected unless the rows of one cycle have expired before the next,
 * whatever the families' other options, and whatever other clock is in the key. */
#include "rule/policies.h"
#include "support/slow_build.h"

#define MINUTES "      - calendar: {of: ts, parts: [HH, mm]}\n"
#define DAYS "      - calendar: {of: ts, parts: [MM, dd]}\n"
#define ID "      - field: id\n"

typedef struct kw_test_round {
    const char *head; /* settings of the table */
    const char *key;
    const char *message; /* NULL: the rule is accepted */
    const char *hint;
} kw_test_round;

static const kw_test_round rounds[] = {
    {"    families: {d: {ttl: 30d}}\n", DAYS ID, NULL, NULL},
    {"    families: {d: {ttl: 351d}}\n", DAYS ID, NULL, NULL},
    {"    families: {d: {ttl: 30326401s}}\n", DAYS ID,
     "repeats after 31536000s, which must be at least ttl (30326401s) of family d", "at most 30326400s"},
    {"", DAYS ID, "without a ttl, rows stay forever", "ttl of at most 30326400s"},
    {"    families: {d: {ttl: 6h}}\n", MINUTES ID, "repeats after 86400s", "add coarser parts"},
    {"    major_compaction: 1h\n    families: {d: {ttl: 22h}}\n", MINUTES ID, NULL, NULL},
    {"    major_compaction: 1h\n    families: {d: {ttl: 79201s}}\n", MINUTES ID, "at least ttl (79201s)",
     "at most 79200s"},
    {"    major_compaction: 10h\n    families: {d: {ttl: 6h}}\n", MINUTES ID, "repeats after 86400s",
     "ttl of at most 14400s"},
    {"    major_compaction: 13h\n    families: {d: {ttl: 6h}}\n", MINUTES ID, "repeats after 86400s",
     "add coarser parts, or set a shorter major_compaction"},
    /* Options that keep expired rows. */
    {"    families: {d: {ttl: 30d, min_versions: 1}}\n", DAYS ID, "its min_versions keep rows after the ttl",
     "remove min_versions"},
    {"    major_compaction: 0\n    families: {d: {ttl: 30d}}\n", DAYS ID,
     "major_compaction: 0 means that there is none", "set major_compaction"},
    {"    families: {e: {ttl: 30d}, d: {ttl: 30d}}\n", DAYS ID, NULL, NULL},
    {"    families: {e: {ttl: 30d}}\n", DAYS ID, "of family d", NULL},
    /* Components that distinguish cycles. */
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy]}\n" ID, NULL, NULL},
    {"", DAYS "      - field: {name: ts, unit: s}\n" ID, NULL, NULL},
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy, MM, dd], zone: \"+08:00\"}\n" ID, NULL, NULL},
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy], zone: Etc/UTC}\n" ID, NULL, NULL},
    {"", MINUTES "      - calendar: {of: ts, parts: [yyyy, MM, dd]}\n" ID, NULL, NULL},
    /* A year of another zone begins eight hours earlier: on New Year's Eve, two years share one year of
     * it. */
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy], zone: \"+08:00\"}\n" ID,
     "calendar(ts: MM dd in UTC as text) repeats after 31536000s", NULL},
    {"", MINUTES "      - calendar: {of: ts, parts: [yyyy, MM, dd], zone: Europe/Berlin}\n" ID,
     "calendar(ts: HH mm in UTC as text) repeats after 86400s", NULL},
    {"", DAYS "      - calendar: {of: ts, parts: [HH, mm]}\n" ID, "repeats", NULL},
};

KW_TEST(test_cycles, "/schema/circular/cycles")
{
    for (size_t index = 0; index < G_N_ELEMENTS(rounds); index++) {
        const kw_test_round *it = &rounds[index];
        g_autofree char *yaml =
            g_strdup_printf("    fields:\n      id: {type: string}\n"
                            "      ts: {type: timestamp, column: \"d:ts\"}\n      note: {type: string, "
                            "column: \"%s:n\"}\n%s    key:\n%s",
                            strstr(it->head, "e: {") ? "e" : "d", it->head, it->key);
        g_test_message("%s", yaml);
        if (!it->message) {
            g_autoptr(kw_policy) policy = test_policy(yaml);
            g_assert_nonnull(policy);
            continue;
        }
        g_autofree char *text = test_refused(yaml);
        g_assert_nonnull(strstr(text, it->message));
        if (it->hint)
            g_assert_nonnull(strstr(text, it->hint));
    }
}

/* --- by brute force ---------------------------------------------------------------------------------------
 */

/* Encodes times of two years in ascending order. Counts how often a key of an earlier cycle occurs again
 * before the last row with this key has expired. */
static size_t
count_lost(const kw_policy *policy, const char *zone_name, int64_t ttl_s)
{
    const kw_layout *layout = kw_policy_table(policy, 0)->paths[0].layout;
    g_autoptr(GTimeZone) zone = g_time_zone_new_identifier(zone_name);
    g_autoptr(GHashTable) latest = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    size_t lost = 0;
    const int64_t step = 600 * KW_TEST_STEP(3);
    for (int64_t second = 1293840000; second < 1293840000 + 2 * 366 * 86400;
         second += step) { /* 2011 and 2012 */
        kw_value values[] = {test_text("a"), test_number(second * 1000), test_text("b")};
        kw_record record = {.values = values};
        g_autoptr(GDateTime) utc = g_date_time_new_from_unix_utc(second);
        g_autoptr(GDateTime) local = g_date_time_to_timezone(utc, zone);
        kw_buffer bytes = KW_BUFFER_EMPTY;
        bool done = kw_layout_encode(layout, &record, &bytes, NULL);
        g_assert_true(done);
        g_autofree char *key = test_hex(kw_buffer_bytes(&bytes));
        int64_t before = (int64_t)GPOINTER_TO_SIZE(g_hash_table_lookup(latest, key));
        /* After a gap, the piece belongs to another cycle. */
        lost += before && second - before > step && second - before < ttl_s;
        g_hash_table_insert(latest, g_steal_pointer(&key), GSIZE_TO_POINTER((size_t)second));
        kw_buffer_clear(&bytes);
    }
    return lost;
}

KW_TEST(test_ends, "/schema/circular/ends")
{
    static const struct {
        const char *parts, *zone;
        int64_t good_s; /* the longest ttl */
    } cases[] = {
        {"MM, dd", "UTC", 364 * 86400},
        {"DDD", "Asia/Shanghai", 364 * 86400},
        {"MM, dd", "Europe/Berlin", 364 * 86400 - 2 * 3600},
        {"MM, dd", "Pacific/Apia", 364 * 86400 - 26 * 3600}, /* no 30th of December in 2011 */
        {"HH", "UTC", 82800},
        {"dd, HH", "+05:30", 28 * 86400 - 3600},
        {"HH, mm", "UTC", 86340},
    };
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        for (int late = 0; late < 2; late++) {
            int64_t ttl_s = cases[index].good_s + late;
            g_autofree char *yaml =
                g_strdup_printf("    fields:\n      id: {type: string}\n      ts: {type: timestamp, column: "
                                "\"d:ts\"}\n      note: "
                                "string\n    major_compaction: 1ms\n    families: {d: {ttl: %" G_GINT64_FORMAT
                                "s}}\n    key:\n"
                                "      - calendar: {of: ts, parts: [%s], zone: '%s'}\n" ID,
                                ttl_s, cases[index].parts, cases[index].zone);
            g_autofree char *text = test_hazards(yaml);
            g_autoptr(kw_policy) policy = test_policy_with_hazards(yaml);
            g_test_message("%s", yaml);
            g_assert_true((strstr(text, "s after its end, which is less than the ttl") != NULL) == late);
            if (!late)
                g_assert_cmpuint(count_lost(policy, cases[index].zone, ttl_s), ==, 0);
        }
    }
    g_autoptr(kw_policy) policy = test_policy_with_hazards(
        "    fields:\n      id: {type: string}\n      ts: {type: timestamp, column: \"d:ts\"}\n"
        "      note: string\n    major_compaction: 1ms\n    families: {d: {ttl: 24h}}\n"
        "    key:\n      - calendar: {of: ts, parts: [HH]}\n" ID);
    g_assert_cmpuint(kw_policy_hazards_count(policy), ==, 1);
    g_assert_cmpuint(count_lost(policy, "UTC", 86400), >, 1000);
}

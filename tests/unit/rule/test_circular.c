/* Calendars whose pieces come again: refused unless the rows of one round are gone before the next, whatever
 * else the table says of its families, and whatever other clock stands in the key. */
#include "rule/policies.h"

#define MINUTES "      - calendar: {of: ts, parts: [HH, mm]}\n"
#define DAYS "      - calendar: {of: ts, parts: [MM, dd]}\n"
#define ID "      - field: id\n"

typedef struct kw_test_round {
    const char *head; /* settings of the table */
    const char *key;
    const char *message; /* NULL: the rule is taken */
    const char *hint;
} kw_test_round;

static const kw_test_round rounds[] = {
    {"    families: {d: {ttl: 30d}}\n", DAYS ID, NULL, NULL},
    {"    families: {d: {ttl: 351d}}\n", DAYS ID, NULL, NULL},
    {"    families: {d: {ttl: 30326401s}}\n", DAYS ID,
     "comes again after 31536000s, which must be at least ttl (30326401s) of family d", "at most 30326400s"},
    {"", DAYS ID, "without a ttl rows stay for ever", "ttl of at most 30326400s"},
    {"    families: {d: {ttl: 6h}}\n", MINUTES ID, "comes again after 86400s", "add coarser parts"},
    {"    major_compaction: 1h\n    families: {d: {ttl: 22h}}\n", MINUTES ID, NULL, NULL},
    {"    major_compaction: 1h\n    families: {d: {ttl: 79201s}}\n", MINUTES ID, "at least ttl (79201s)",
     "at most 79200s"},
    /* What keeps rows that have ended. */
    {"    families: {d: {ttl: 30d, min_versions: 1}}\n", DAYS ID, "its min_versions keep rows beyond the ttl",
     "leave min_versions out"},
    {"    major_compaction: 0\n    families: {d: {ttl: 30d}}\n", DAYS ID,
     "major_compaction: 0 means that there is none", "how often"},
    {"    families: {e: {ttl: 30d}, d: {ttl: 30d}}\n", DAYS ID, NULL, NULL},
    {"    families: {e: {ttl: 30d}}\n", DAYS ID, "of family d", NULL},
    /* What tells rounds apart. */
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy]}\n" ID, NULL, NULL},
    {"", DAYS "      - field: {name: ts, unit: s}\n" ID, NULL, NULL},
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy, MM, dd], zone: \"+08:00\"}\n" ID, NULL, NULL},
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy], zone: Etc/UTC}\n" ID, NULL, NULL},
    {"", MINUTES "      - calendar: {of: ts, parts: [yyyy, MM, dd]}\n" ID, NULL, NULL},
    /* A year of another zone begins eight hours earlier: New Year's Eve of two years has one year of it. */
    {"", DAYS "      - calendar: {of: ts, parts: [yyyy], zone: \"+08:00\"}\n" ID,
     "calendar(ts: MM dd in UTC as text) comes again after 31536000s", NULL},
    {"", MINUTES "      - calendar: {of: ts, parts: [yyyy, MM, dd], zone: Europe/Berlin}\n" ID,
     "calendar(ts: HH mm in UTC as text) comes again after 86400s", NULL},
    {"", DAYS "      - calendar: {of: ts, parts: [HH, mm]}\n" ID, "comes again", NULL},
};

static void
test_rounds(void)
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

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rule/circular", test_rounds);
    return g_test_run();
}

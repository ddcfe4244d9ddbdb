/* Keys that hold a time in a coarse unit: for every verb, the identity of a record is what its keys can hold.
 * The tests put a record at one time and name it by another time in each verb. Each verb must find the record
 * if and only if the keys hold both times alike. */
#include "desk.h"

#include "rule/civil.h"
#include "verb/scan.h"

typedef struct kw_test_table {
    const char *name, *path; /* path is NULL if there is only one */
    int64_t unit;            /* of ts, in milliseconds */
    bool single;             /* put_if and increment are supported */
} kw_test_table;

static const char policy[] =
    "store: {kind: embedded}\n"
    "tables:\n"
    "  seconds:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, hits: {type: int, counter: true}, note: "
    "string}\n"
    "    key: [field: id, field: {name: ts, unit: s}]\n"
    "  minutes:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, hits: {type: int, counter: true}, note: "
    "string}\n"
    "    key: [calendar: {of: ts, parts: [mm, HH, dd, MM, yyyy], zone: Asia/Shanghai}, field: id]\n"
    "  bits:\n"
    "    fields: {id: int, ts: {type: timestamp, column: 'd:ts'}, hits: {type: int, counter: true}, note: "
    "string}\n"
    "    key: [bits: {of: ts, parts: [seconds 48, id 16]}]\n"
    "  hours:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, hits: {type: int, counter: true}, note: "
    "string}\n"
    "    key:\n"
    "      - calendar: {of: ts, parts: [yyyy, MM, dd], zone: Asia/Shanghai}\n"
    "      - field: {name: id, encoding: terminated}\n"
    "      - calendar: {of: ts, parts: [yyyy, DDD, HH], zone: Asia/Shanghai}\n"
    "  pairs:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, hits: {type: int, counter: true}, note: "
    "string}\n"
    "    key: [hash: id, field: id, field: {name: ts, unit: s}]\n"
    "    paths:\n"
    "      by_time:\n"
    "        key: [salt: {of: id, buckets: 3}, field: {name: ts, unit: s, order: desc}, field: id]\n"
    "  chosen:\n"
    "    fields: {id: string, ts: {type: timestamp, column: 'd:ts'}, hits: {type: int, counter: true}, note: "
    "string}\n"
    "    key: [salt: {algorithm: random, buckets: 4}, field: {name: ts, unit: s}, field: id]\n"
    "    paths:\n"
    "      where: {association: true, key: [field: id, field: {name: ts, unit: s}]}\n";

static const kw_test_table tables[] = {
    {"seconds", NULL, 1000, true},  {"minutes", NULL, 60000, true},    {"bits", NULL, 1000, true},
    {"hours", NULL, 3600000, true}, {"pairs", "primary", 1000, false}, {"pairs", "by_time", 1000, false},
    {"chosen", NULL, 1000, true},
};

#define BASE INT64_C(1620000000000) /* a full hour in all time zones of this test */

/* Offsets of the time of the record, and of the time that the verbs use. */
static const int64_t starts[] = {0, 1, 999, 59999};
static const int64_t steps[] = {0,     1,     -1,    500,     999,     1000,     -1000,
                                30000, 59999, 60000, 3599000, 3600000, -3600000, 86400000};

/* --- verbs ------------------------------------------------------------------------------------ */

static void
decided(void *user, bool applied, kw_record generated, const kw_error *error)
{
    desk *self = user;
    (void)generated;
    self->done = true;
    self->applied = applied;
    self->error = error ? *error : KW_ERROR_NONE;
}

static bool
put_if(desk *self, const char *table, const char *key)
{
    g_autofree char *text = g_strdup_printf("%s hits=6", key);
    kw_record record = desk_record(self, table, text);
    kw_condition_on_field condition = {
        desk_pick(self, table, "hits"), KW_COMPARE_EQUAL, {.kind = KW_VALUE_NUMBER, .number = 5}};
    self->done = false;
    kw_verb_put_if(&self->call, desk_table(self, table), &record, &condition, self->options, decided, self);
    desk_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    return self->applied;
}

static void
incremented(void *user, const kw_record *values, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    if (values)
        self->values = *values;
}

/* Returns the sum. */
static int64_t
increment(desk *self, const char *table, const char *key)
{
    kw_record record = desk_record(self, table, key);
    kw_pick pick = desk_pick(self, table, "hits");
    const int64_t amount = 10;
    self->done = false;
    kw_verb_increment(&self->call, desk_table(self, table), &record, &pick, &amount, 1, self->options,
                      incremented, self);
    desk_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    return self->values.values[desk_field(self, table, "hits")].number;
}

/* True if a scan that binds the time finds the record. */
static bool
scan_finds(desk *self, const kw_test_table *it, const char *format, int64_t ts)
{
    g_autoptr(GString) text = g_string_new(it->name);
    g_string_append_c(text, ' ');
    g_string_append_printf(text, format, ts, ts);
    if (it->path)
        g_string_append_printf(text, " path=%s", it->path);
    g_autofree char *rows = desk_scan_all(self, text->str);
    g_assert_true(g_str_has_prefix(rows, "id=7 ") || *rows == '\0' || strstr(rows, "\nid=7 ") == NULL);
    return *rows != '\0';
}

/* --- one record, one other time --------------------------------------------------------------- */

static void
put(desk *self, const kw_test_table *it, int64_t ts)
{
    g_autofree char *record = g_strdup_printf("id=7 ts=%" G_GINT64_FORMAT " hits=5 note=x", (gint64)ts);
    g_assert_cmpint(desk_put(self, it->name, record)->outcome, ==, KW_OUTCOME_OK);
}

static void
remove_record(desk *self, const kw_test_table *it, int64_t ts)
{
    g_autofree char *key = g_strdup_printf("id=7 ts=%" G_GINT64_FORMAT, (gint64)ts);
    g_assert_cmpint(desk_remove(self, it->name, key, NULL)->outcome, ==, KW_OUTCOME_OK);
}

static bool
exists(desk *self, const kw_test_table *it, int64_t ts)
{
    g_autofree char *key = g_strdup_printf("id=7 ts=%" G_GINT64_FORMAT, (gint64)ts);
    return strcmp(desk_get(self, it->name, key, NULL), "none") != 0;
}

static void
check_reads(desk *self, const kw_test_table *it, int64_t other, bool same)
{
    static const char *const scans[] = {"id=7 ts=%" G_GINT64_FORMAT " full", "ts=%" G_GINT64_FORMAT " full",
                                        "id=7|8 ts=1|%" G_GINT64_FORMAT " full",
                                        "ts=%" G_GINT64_FORMAT "|1|2|3|4 note=x full",
                                        "id=7 ts=%" G_GINT64_FORMAT " order=desc full limit=1"};
    g_assert_true(exists(self, it, other) == same);
    for (size_t index = 0; index < G_N_ELEMENTS(scans); index++)
        if (scan_finds(self, it, scans[index], other) != same)
            g_error("%s: %s does not agree with get", it->name, scans[index]);
}

static void
check_writes(desk *self, const kw_test_table *it, int64_t ts, int64_t other, bool same)
{
    g_autofree char *key = g_strdup_printf("id=7 ts=%" G_GINT64_FORMAT, (gint64)other);
    if (it->single) {
        g_assert_true(put_if(self, it->name, key) == same);
        g_assert_cmpint(increment(self, it->name, key), ==, same ? 16 : 10);
        if (!same)
            remove_record(self, it, other);
    }
    g_assert_cmpint(desk_remove(self, it->name, key, "note")->outcome, ==, KW_OUTCOME_OK);
    g_autofree char *key_of_record = g_strdup_printf("id=7 ts=%" G_GINT64_FORMAT, (gint64)ts);
    g_assert_true((strstr(desk_get(self, it->name, key_of_record, NULL), "note=x") == NULL) == same);
    remove_record(self, it, other);
    g_assert_true(exists(self, it, ts) != same);
    put(self, it, other); /* another record, or the same one again */
    put(self, it, ts);
    remove_record(self, it, ts);
    g_assert_true(exists(self, it, other) != same);
    remove_record(self, it, other);
}

static void
test_verbs(const void *data)
{
    const kw_test_table *it = data;
    desk *self = desk_new(policy);
    for (size_t start = 0; start < G_N_ELEMENTS(starts); start++)
        for (size_t step = 0; step < G_N_ELEMENTS(steps); step++) {
            int64_t ts = BASE + starts[start], other = ts + steps[step];
            bool same = kw_floor_div(ts, it->unit) == kw_floor_div(other, it->unit);
            put(self, it, ts);
            check_reads(self, it, other, same);
            check_writes(self, it, ts, other, same);
            desk_clear(self);
        }
    desk_free(self);
}

/* A range compares the record's own time, even next to a bound value. */
KW_TEST(test_ranges, "/verb/coarse/ranges")
{
    static const struct {
        const char *words;
        bool found;
    } cases[] = {
        {"ts=1620000000000..1620000000500 full", false}, {"ts=1620000000500..1620000000501 full", true},
        {"ts=1620000000501..1620000000999 full", false}, {"id=7 ts=1620000000000..1620000000501", true},
        {"id=7 ts=1620000000000..1620000000500", false},
    };
    desk *self = desk_new(policy);
    put(self, &tables[0], BASE + 500);
    for (size_t index = 0; index < G_N_ELEMENTS(cases); index++) {
        g_autofree char *text = g_strconcat("seconds ", cases[index].words, NULL);
        g_autofree char *rows = desk_scan_all(self, text);
        g_assert_true((*rows != '\0') == cases[index].found);
    }
    desk_free(self);
}

KW_TEST_START(start)
{
    for (size_t index = 0; index < G_N_ELEMENTS(tables); index++) {
        g_autofree char *name = g_strdup_printf("/verb/coarse/%s/%s", tables[index].name,
                                                tables[index].path ? tables[index].path : "all");
        g_test_add_data_func(name, &tables[index], test_verbs);
    }
}

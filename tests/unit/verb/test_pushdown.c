/* Filters that a scan pushes down to the store: the filter text for known queries; few rows are returned; no
 * row is lost. Random queries over every type of field are compared with the records. The seed is printed. */
#include "support/seeded.h"
#include "unit/verb/desk.h"

#include <limits.h>
#include <math.h>

#define RECORDS 300

static const char policy[] = "store: {kind: embedded}\n"
                             "tables:\n"
                             "  things:\n"
                             "    fields:\n"
                             "      owner: {type: string, max_bytes: 8}\n"
                             "      id: int\n"
                             "      name: string\n"
                             "      level: int\n"
                             "      small: {type: int, form: raw4}\n"
                             "      text: {type: int, form: text}\n"
                             "      real: double\n"
                             "      real4: {type: double, form: raw4}\n"
                             "      realp: {type: double, form: phoenix}\n"
                             "      flag: bool\n"
                             "    key:\n"
                             "      - field: {name: owner, encoding: terminated}\n"
                             "      - field: id\n";

static void
expect_note(desk *self, const char *query, const char *filter)
{
    kw_scan_request request = desk_request(self, query);
    const kw_plan *plan = NULL;
    kw_error error = KW_ERROR_NONE;
    const char *found = "";
    static const char head[] = "the store filters: ";
    g_assert_true(kw_verb_explain(&self->call, &request, NULL, &plan, &error));
    for (size_t i = 0; i < plan->notes_count; i++)
        if (g_str_has_prefix(plan->notes[i], head))
            found = plan->notes[i] + strlen(head);
    g_assert_cmpstr(found, ==, filter);
    desk_clear(self);
}

static void
test_texts(void)
{
    desk *self = desk_new(policy);
    expect_note(self, "things owner=a", "");
    expect_note(self, "things owner=a name=x",
                "SingleColumnValueFilter ('d', 'name', =, 'binary:x', true, true)");
    expect_note(self, "things owner=a order=desc name=x",
                "(PrefixFilter ('') AND SingleColumnValueFilter ('d', 'name', =, 'binary:x', true, true))");
    expect_note(self, "things owner=a name=it's filter=ValueFilter(=,'binary:7')",
                "(ValueFilter (=, 'binary:7') AND SingleColumnValueFilter ('d', 'name', =, 'binary:it''s', "
                "true, true))");
    expect_note(self, "things owner=a name=x filter=PageFilter(3)", "");
    expect_note(self, "things owner=a text=7", "");
    expect_note(self, "things owner=a name=b..c",
                "(SingleColumnValueFilter ('d', 'name', >=, 'binary:b', true, true) AND "
                "SingleColumnValueFilter ('d', 'name', <, 'binary:c', true, true))");
    expect_note(self, "things owner=a columns=name",
                "(FirstKeyOnlyFilter () OR QualifierFilter (=, 'binary:name'))");
    expect_note(self, "things owner=a columns=id", "FirstKeyOnlyFilter ()");
    /* A range without ends is not a condition: rows without the column are part of the answer. */
    expect_note(self, "things owner=a columns=name name=..",
                "(FirstKeyOnlyFilter () OR QualifierFilter (=, 'binary:name'))");
    desk_free(self);
}

static void
test_bad_filter(void)
{
    desk *self = desk_new(policy);
    g_assert_false(desk_scan(self, "things owner=a filter=PageFilter(x)"));
    g_assert_cmpint(self->error.code, ==, KW_INVALID);
    g_assert_nonnull(strstr(self->error.text, "table things: filter, position 12: expected a number"));
    desk_free(self);
}

/* --- random queries ------------------------------------------------------------------------------ */

typedef struct thing {
    int id, level, small, text; /* level is INT_MIN if it has no value */
    const char *name;
    double real;
    bool flag;
} thing;

static thing
random_thing(int id)
{
    static const char *const names[] = {"a", "b", "bc", "it's", "x"};
    return (thing){.id = id,
                   .level = g_test_rand_int_range(0, 4) ? g_test_rand_int_range(-5, 6) : INT_MIN,
                   .small = g_test_rand_int_range(-3, 4),
                   .text = g_test_rand_int_range(-3, 4),
                   .name = names[g_test_rand_int_range(0, 5)],
                   .real = g_test_rand_int_range(0, 9) ? g_test_rand_int_range(-3, 4) / 2.0 : -0.0,
                   .flag = g_test_rand_bit()};
}

static void
put_thing(desk *self, const thing *one)
{
    GString *text = g_string_new(NULL);
    g_string_printf(text, "owner=o id=%d name=%s small=%d text=%d real=%g real4=%g realp=%g flag=%s", one->id,
                    one->name, one->small, one->text, one->real, one->real, one->real,
                    one->flag ? "true" : "false");
    if (one->level != INT_MIN)
        g_string_append_printf(text, " level=%d", one->level);
    desk_put(self, "things", text->str);
    g_string_free(text, TRUE);
}

typedef struct random_query {
    char *text;
    int kind, from, to; /* `to` is exclusive */
    const char *name;
} random_query;

static random_query
make_random_query(void)
{
    static const char *const fields[] = {"level", "small", "text"}, *const reals[] = {"real", "real4",
                                                                                      "realp"};
    random_query self = {
        .kind = g_test_rand_int_range(0, 9), .from = g_test_rand_int_range(-6, 6), .name = "it's"};
    self.to = self.from + g_test_rand_int_range(1, 9);
    if (self.kind < 3)
        self.text = g_strdup_printf("%s=%d..%d", fields[self.kind], self.from, self.to);
    else if (self.kind == 3)
        self.text = g_strdup("name=it's|b");
    else if (self.kind == 4)
        self.text = g_strdup_printf("real=%g", self.from / 2.0);
    else if (self.kind > 5)
        self.text = g_strdup_printf("%s=%g..%g", reals[self.kind - 6], self.from / 4.0, self.to / 4.0);
    else
        self.text = g_strdup_printf("flag=%s", self.from > 0 ? "true" : "false");
    return self;
}

static bool
matches(const random_query *self, const thing *one)
{
    const int numbers[] = {one->level, one->small, one->text};
    if (self->kind < 3)
        return numbers[self->kind] != INT_MIN && numbers[self->kind] >= self->from &&
               numbers[self->kind] < self->to;
    if (self->kind == 3)
        return g_str_equal(one->name, "it's") || g_str_equal(one->name, "b");
    if (self->kind == 4)
        return one->real == self->from / 2.0; /* also -0, which other programs store */
    if (self->kind > 5)
        return one->real >= self->from / 4.0 && one->real < self->to / 4.0;
    return one->flag == (self->from > 0);
}

static void
test_no_row_is_lost(void)
{
    static const char *const options[] = {"", " columns=name", " columns=id", " order=desc",
                                          " columns=level,flag page=7"};
    desk *self = desk_new(policy);
    thing things[RECORDS];
    for (int i = 0; i < RECORDS; i++) {
        things[i] = random_thing(i);
        put_thing(self, &things[i]);
    }
    for (int i = 0; i < 200; i++) {
        random_query query = make_random_query();
        int form = g_test_rand_int_range(0, G_N_ELEMENTS(options));
        g_autofree char *text = g_strdup_printf("things owner=o %s%s", query.text, options[form]);
        guint expected = 0, at_end = 0; /* the store's filter includes the end of a range */
        for (int k = 0; k < RECORDS; k++) {
            expected += matches(&query, &things[k]);
            at_end += (query.kind == 0 && things[k].level == query.to) ||
                      (query.kind == 1 && things[k].small == query.to) ||
                      (query.kind > 5 && things[k].real == query.to / 4.0);
        }
        guint read_twice =
            strstr(options[form], "page=") ? expected + 7 : 8; /* up to one more page for each page */
        uint64_t before = self->control->rows_given;
        g_autofree char *rows = desk_scan_all(self, text);
        guint count = 0;
        for (const char *at = rows; (at = strchr(at, '\n')); at++)
            count++;
        if (count != expected)
            g_error("%s returns %u rows, not %u: %s", text, count, expected, rows);
        uint64_t returned = self->control->rows_given - before;
        if (query.kind != 2 && returned > expected + at_end + read_twice)
            g_error("%s: the store returned %u rows for %u", text, (guint)returned, expected);
        g_free(query.text);
        desk_clear(self);
    }
    desk_free(self);
}

/* --- keys ----------------------------------------------------------------------------------------- */

static const char events[] = "store: {kind: embedded}\n"
                             "tables:\n"
                             "  events:\n"
                             "    fields:\n"
                             "      owner: {type: string, max_bytes: 8}\n"
                             "      ts: {type: timestamp, unit: ms}\n"
                             "      kind: {type: int}\n"
                             "      text: {type: string, max_bytes: 8}\n"
                             "      note: string\n"
                             "    key:\n"
                             "      - field: {name: owner, encoding: terminated}\n"
                             "      - field: ts\n"
                             "      - field: {name: kind, width: 2}\n"
                             "      - hash: {of: [text], algorithm: md5, take: 2}\n"
                             "      - field: text\n";

#define KEYS "the store filters keys: after the part that the ranges cover, "

static void
expect_keys(desk *self, const char *query, const char *patterns)
{
    kw_scan_request request = desk_request(self, query);
    const kw_plan *plan = NULL;
    kw_error error = KW_ERROR_NONE;
    const char *found = "";
    g_assert_true(kw_verb_explain(&self->call, &request, NULL, &plan, &error));
    for (size_t i = 0; i < plan->notes_count; i++)
        if (g_str_has_prefix(plan->notes[i], KEYS))
            found = plan->notes[i] + strlen(KEYS);
    g_assert_cmpstr(found, ==, patterns);
    desk_clear(self);
}

static void
test_keys(void)
{
    desk *self = desk_new(events);
    expect_keys(self, "events owner=a", "");
    expect_keys(self, "events owner=a ts=5..9", "");
    expect_keys(self, "events owner=a kind=7", "(8 any) \\x80\\x07");
    expect_keys(self, "events owner=a ts=5..9 kind=7|9", "(8 any) \\x80\\x07 or (8 any) \\x80\\x09");
    expect_keys(self, "events owner=a kind=3..5", "(8 any) \\x80\\x03 or (8 any) \\x80\\x04");
    expect_keys(self, "events owner=a kind=1..900",
                "(8 any) \\x80 or (8 any) \\x81 or (8 any) \\x82 or (8 any) \\x83");
    expect_keys(self, "events owner=a text=x", "(10 any) 9dx");
    expect_keys(self, "events owner=a kind=7 text=x order=desc", "(8 any) \\x80\\x079dx");
    expect_keys(self, "events owner=a|bcd kind=7", "(8 any) \\x80\\x07");
    expect_keys(self, "events owner=a kind=7 filter=PageFilter(3)", "");
    expect_keys(self, "events owner=a note=x", "");
    desk_free(self);
}

static void
test_keys_are_filtered(void)
{
    static const char *const options[] = {"", " order=desc", " page=3", " columns=text"};
    desk *self = desk_new(events);
    for (int i = 0; i < RECORDS; i++) {
        g_autofree char *text = g_strdup_printf("owner=o ts=%d kind=%d text=t%d note=n", i, i % 30, i % 7);
        desk_put(self, "events", text);
    }
    for (int i = 0; i < 100; i++) {
        int kind = g_test_rand_int_range(0, 30), most = kind + g_test_rand_int_range(1, 5), word = i % 7;
        g_autofree char *text =
            g_strdup_printf("events owner=o kind=%d..%d text=t%d%s", kind, most, word, options[i % 4]);
        guint expected = 0, count = 0;
        for (int k = 0; k < RECORDS; k++)
            expected += k % 30 >= kind && k % 30 < most && k % 7 == word;
        uint64_t before = self->control->rows_given;
        g_autofree char *rows = desk_scan_all(self, text);
        for (const char *at = rows; (at = strchr(at, '\n')); at++)
            count++;
        if (count != expected)
            g_error("%s returns %u rows, not %u: %s", text, count, expected, rows);
        guint read_twice = strstr(text, "page=") ? expected + 3 : 0; /* up to one more page for each page */
        g_assert_cmpuint(self->control->rows_given - before, <=, expected + read_twice);
        desk_clear(self);
    }
    desk_free(self);
}

int
main(int argc, char **argv)
{
    seeded_init(&argc, &argv);
    g_test_add_func("/verb/pushdown/texts", test_texts);
    g_test_add_func("/verb/pushdown/bad filter", test_bad_filter);
    g_test_add_func("/verb/pushdown/no row is lost", test_no_row_is_lost);
    g_test_add_func("/verb/pushdown/keys", test_keys);
    g_test_add_func("/verb/pushdown/keys are filtered", test_keys_are_filtered);
    return g_test_run();
}

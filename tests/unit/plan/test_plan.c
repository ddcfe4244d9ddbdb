/* The plans of known queries, range by range. */
#include "plan/planner.h"
#include "rule/policies.h"
#include "rule/splits.h"

typedef struct kw_test_case {
    const char *query;
    const char *plan;
} kw_test_case;

static void
check_cases(const char *table_yaml, const kw_test_case *cases, size_t count)
{
    g_autoptr(kw_test_planner) planner = planner_new(table_yaml);
    size_t wrong = 0;
    for (size_t index = 0; index < count; index++) {
        const char *plan = planner_plan_text(planner, cases[index].query);
        if (strcmp(plan, cases[index].plan) != 0)
            g_printerr("%s\n is planned as\n%s\n not as\n%s\n", cases[index].query, plan, cases[index].plan);
        wrong += strcmp(plan, cases[index].plan) != 0;
    }
    g_assert_cmpuint(wrong, ==, 0);
}

#define CHECK_CASES(yaml, cases) check_cases(yaml, cases, G_N_ELEMENTS(cases))

/* Two-byte times and four buckets keep the keys short and readable. */
#define EVENTS                                                                                               \
    "    fields: {id: string, ts: timestamp, city: string}\n    key:\n"                                      \
    "      - hash: {of: id, algorithm: md5, take: 2}\n      - field: id\n"                                   \
    "      - field: {name: ts, width: 2, order: desc}\n    paths:\n      by_time:\n        key:\n"           \
    "          - salt: {of: id, buckets: 4, as: hex}\n          - field: {name: ts, width: 2}\n"             \
    "          - field: id\n"

/* md5("a") = 0c..., md5("b") = 92..., md5("c") = 4a..., xxh64("a") % 4 = 3 */
KW_TEST(test_order_events, "/plan/order_events")
{
    static const kw_test_case cases[] = {
        {"id=a", "primary: [0ca\\x00,0ca\\x01)"},
        {"id=a order=desc", "primary: [0ca\\x00,0ca\\x01)"},
        {"id=a order=asc", "primary: [0ca\\x00,0ca\\x01) backwards"},
        {"id=a order=asc path=by_time", "by_time: [3,4) residual"},
        {"id=b,a,b", "primary: [0ca\\x00,0ca\\x01) [92b\\x00,92b\\x01)"},
        /* The key holds ts 1 as 7FFE and ts 4 as 7FFB: later times precede earlier ones. */
        {"id=a ts>=1 ts<4", "primary: [0ca\\x00\\x7F\\xFC,0ca\\x00\\x7F\\xFF)"},
        {"id=a ts>1 ts<=4", "primary: [0ca\\x00\\x7F\\xFB,0ca\\x00\\x7F\\xFE)"},
        {"id=a ts>=1", "primary: [0ca\\x00,0ca\\x00\\x7F\\xFF)"},
        {"id=a ts<=1", "primary: [0ca\\x00\\x7F\\xFE,0ca\\x01)"},
        {"id=a ts>=-32768", "primary: [0ca\\x00,0ca\\x01)"},
        /* Ends that the width of the key cannot hold: no row or all rows. */
        {"id=a ts>=40000", "primary:"},
        {"id=a ts<40000", "primary: [0ca\\x00,0ca\\x01)"},
        {"id=a ts>=-99999 ts<=99999", "primary: [0ca\\x00,0ca\\x01)"},
        {"id=a ts<-99999", "primary:"},
        {"id=a ts>=5 ts<5", "primary:"},
        {"id=a ts>=7 ts<5", "primary:"},
        {"id=a ts=3", "primary: <0ca\\x00\\x7F\\xFC>"},
        {"id=a ts=3,1,2,3", "primary: <0ca\\x00\\x7F\\xFC> <0ca\\x00\\x7F\\xFD> <0ca\\x00\\x7F\\xFE>"},
        {"id=a ts=1,2,3 ts>=2 ts<3", "primary: <0ca\\x00\\x7F\\xFD>"},
        {"id=a ts=1,2 ts>2", "primary:"},
        /* Times descend as the keys ascend. */
        {"id=a ts=1,4", "primary: <0ca\\x00\\x7F\\xFB> <0ca\\x00\\x7F\\xFE>"},
        {"id=a ts=1,4 order=desc", "primary: <0ca\\x00\\x7F\\xFB> <0ca\\x00\\x7F\\xFE>"},
        {"id=a ts=1,4 order=asc", "primary: <0ca\\x00\\x7F\\xFB> <0ca\\x00\\x7F\\xFE> backwards"},
        {"id=a ts=1 order=asc", "primary: <0ca\\x00\\x7F\\xFE>"},
        {"ts>=1 ts<3",
         "by_time: [0\\x80\\x01,0\\x80\\x03) [1\\x80\\x01,1\\x80\\x03) [2\\x80\\x01,2\\x80\\x03) "
         "[3\\x80\\x01,3\\x80\\x03)"},
        {"ts>=1 ts<3 order=desc", "by_time: [0\\x80\\x01,0\\x80\\x03) [1\\x80\\x01,1\\x80\\x03) "
                                  "[2\\x80\\x01,2\\x80\\x03) [3\\x80\\x01,3\\x80\\x03) backwards"},
        {"id=a city=x", "primary: [0ca\\x00,0ca\\x01) residual"},
        {"full", "primary: [,)"},
        {"limit=5", "primary: [,)"},
        {"limit=5 order=desc", "by_time: [0,1) [1,2) [2,3) [3,4) backwards"},
        {"ts=5", "by_time: [0\\x80\\x05,0\\x80\\x06) [1\\x80\\x05,1\\x80\\x06) [2\\x80\\x05,2\\x80\\x06) "
                 "[3\\x80\\x05,3\\x80\\x06)"},
        {"ts=5 order=asc path=primary",
         "INVALID: table t: this query cannot be answered in ascending order: path primary continues with "
         "hash(md5 of id, first 2 as hex), which has no order"},
        {"city=x",
         "INVALID: table t: this query would read the whole table; bind id (path primary), or bind ts or "
         "give it a range (path by_time), or allow full_scan; city does not help: it is in no key"},
        {"city=x limit=5",
         "INVALID: table t: this query would read the whole table; bind id (path primary), or bind ts or "
         "give it a range (path by_time), or allow full_scan; city does not help: it is in no key"},
        {"id>=a",
         "INVALID: table t: this query would read the whole table; bind id (path primary), or bind ts or "
         "give it a range (path by_time), or allow full_scan; a range of id does not help, only values do: "
         "hash(md5 of id, first 2 as hex) has no order"},
        {"path=primary ts=5 city=x",
         "INVALID: table t: this query would read the whole table; bind id (path primary), or allow "
         "full_scan; "
         "ts alone does not help: it comes later in the key; city does not help: it is not in the key of "
         "path "
         "primary"},
        {"city=x full", "primary: [,) residual"},
        {"id=a,a,a ts>=1 ranges=1", "primary: [0ca\\x00,0ca\\x00\\x7F\\xFF)"},
        {"id=a,b,c ts>=0 ranges=2", "LIMIT: table t: the query needs up to 3 ranges or point reads of path "
                                    "primary; at most 2 are allowed (limits.ranges); query "
                                    "fewer values at once"},
    };
    CHECK_CASES(EVENTS, cases);
}

/* The node of a ring is computed if its field is bound; otherwise all nodes are visited. */
KW_TEST(test_ring, "/plan/ring")
{
    static const kw_test_case cases[] = {
        {"n>=1 n<3", "primary: [n1\\x81,n1\\x83) [n2\\x81,n2\\x83) [n3\\x81,n3\\x83)"},
        {"n>=1 n<3 order=desc", "primary: [n1\\x81,n1\\x83) [n2\\x81,n2\\x83) [n3\\x81,n3\\x83) backwards"},
        {"id=a n=1", "primary: <n2\\x81a>"},
    };
    CHECK_CASES("    fields: {id: string, n: int}\n    key:\n      - ring: {of: id, nodes: [n2, n3, n1]}\n"
                "      - field: {name: n, width: 1}\n      - field: id\n",
                cases);
}

/* If id is bound, its salt is known, and one bucket is read. */
KW_TEST(test_salt_of_bound_field, "/plan/salt_of_bound_field")
{
    static const kw_test_case cases[] = {
        {"id=a ts>=1 ts<3", "primary: [3\\x80\\x01,3\\x80\\x03) residual"},
        {"id=a", "primary: [3,4) residual"},
        {"ts=1 id=a", "primary: <3\\x80\\x01a>"},
    };
    CHECK_CASES(
        "    fields: {id: string, ts: timestamp}\n    key:\n      - salt: {of: id, buckets: 4, as: hex}\n"
        "      - field: {name: ts, width: 2}\n      - field: id\n",
        cases);
}

/* A raw string before another component: keys of other strings are in its range, so rows are checked and
 * filtered by the length of their keys. */
KW_TEST(test_raw_in_the_middle, "/plan/raw_in_the_middle")
{
    const char *yaml = "    fields: {id: string, ts: timestamp}\n    key:\n"
                       "      - field: {name: id, encoding: raw}\n      - field: {name: ts, width: 2}\n";
    static const kw_test_case cases[] = {
        {"id=A1 ts>=1 ts<3", "primary: [A1\\x80\\x01,A1\\x80\\x03) residual"},
        {"id=A1 order=desc", "primary: [A1,A2) backwards residual"},
        {"id=A1,A1x", "primary: [A1,A2) [A1x,A1y) residual"},
        {"id=A1 ts=1", "primary: <A1\\x80\\x01>"},
        {"full order=asc",
         "INVALID: table t: this query cannot be answered in ascending order: path primary continues "
         "with field(id as raw), which has no order"},
        {"id>=A1 full", "primary: [,) residual"},
    };
    CHECK_CASES(yaml, cases);
    /* Joined ranges hold rows of both lengths. */
    g_autoptr(kw_test_planner) joined =
        planner_new("    fields: {id: string, kind: {type: string, values: [x, y]}}\n"
                    "    key:\n      - field: {name: id, encoding: raw}\n      - enum: kind\n");
    g_assert_cmpstr(planner_plan_text(joined, "id=A1,A1x"), ==, "primary: [A1,A2) residual");
    const kw_plan *plan;
    bool planned = kw_plan_make(&joined->query, joined->arena, &plan, NULL);
    g_assert_true(planned);
    g_assert_cmpuint(plan->ranges[0].row_size, ==, 0);
    g_autoptr(kw_test_planner) planner = planner_new(yaml);
    planner_set_query(planner, "id=A1,A1x");
    bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
    g_assert_true(done);
    g_assert_cmpuint(plan->ranges[0].row_size, ==, 4);
    g_assert_cmpuint(plan->ranges[1].row_size, ==, 5);
    g_assert_cmpuint(plan->ranges[0].skip, ==, 2);
    g_assert_cmpuint(plan->ranges[1].skip, ==, 3);
    g_assert_nonnull(
        strstr(kw_plan_text(plan, planner->arena), "encoding: terminated would keep them apart"));
}

/* A range of an enumerable field at the end of the key, after an unbound enumerable field. */
KW_TEST(test_only_enums, "/plan/only_enums")
{
    static const kw_test_case cases[] = {
        {"late>=y", "primary: <ay> <az> <by> <bz>"},
        {"late=y", "primary: <ay> <by>"},
        {"kind>=b full", "primary: [b,c)"},
        {"kind=a late<=y", "primary: <ax> <ay>"},
    };
    CHECK_CASES(
        "    fields: {kind: {type: string, values: [a, b]}, late: {type: string, values: [x, y, z]}}\n"
        "    key:\n      - enum: {field: kind, as: text}\n      - enum: {field: late, as: text}\n",
        cases);
}

KW_TEST(test_unordered_calendar, "/plan/unordered_calendar")
{
    static const kw_test_case cases[] = {
        {"full order=desc",
         "INVALID: table t: this query cannot be answered in descending order: path "
         "primary has calendar(ts: DDD yyyy in UTC "
         "as text), which gives the order of time only within a range of ts with both ends"},
    };
    CHECK_CASES("    fields: {ts: {type: timestamp, column: 'd:ts'}, host: string}\n    key:\n      "
                "- calendar: {of: ts, parts: [DDD, yyyy]}\n      - field: host\n",
                cases);
}

KW_TEST(test_enums, "/plan/enums")
{
    static const kw_test_case cases[] = {
        {"", "INVALID: table t: this query would read the whole table; bind kind (path primary), or allow "
             "full_scan"},
        {"late=x", "INVALID: table t: this query would read the whole table; bind kind (path primary), or "
                   "allow full_scan; late alone does not help: it comes later in the key"},
        {"full", "primary: [\\x00,\\x01) [\\x01,\\x02) [\\x02,\\x03)"},
        {"kind=b", "primary: [\\x01,\\x02)"},
        {"kind=c,a", "primary: [\\x00,\\x01) [\\x02,\\x03)"},
        {"kind>=b", "primary: [\\x01,\\x02) [\\x02,\\x03)"},
        {"kind>x", "primary:"},
        {"n=1", "primary: [\\x00\\x81,\\x00\\x82) | [\\x01\\x81,\\x01\\x82) | [\\x02\\x81,\\x02\\x82)"},
        {"n>=1 n<3", "primary: [\\x00\\x81,\\x00\\x83) [\\x01\\x81,\\x01\\x83) [\\x02\\x81,\\x02\\x83)"},
        /* The field after n is enumerable, but it cannot narrow the ranges. */
        {"n>=1 n<3 late=x",
         "primary: [\\x00\\x81,\\x00\\x83) [\\x01\\x81,\\x01\\x83) [\\x02\\x81,\\x02\\x83) residual"},
        {"kind=a n=1,2", "primary: [\\x00\\x81,\\x00\\x83)"},
        {"kind=a n=1,3", "primary: [\\x00\\x81,\\x00\\x82) | [\\x00\\x83,\\x00\\x84)"},
        {"kind=a n=1,3 order=desc", "primary: [\\x00\\x83,\\x00\\x84) | [\\x00\\x81,\\x00\\x82) backwards"},
        {"kind=a n=1 late=y", "primary: <\\x00\\x81\\x01>"},
        {"n=1 late=x", "primary: <\\x00\\x81\\x00> <\\x01\\x81\\x00> <\\x02\\x81\\x00>"},
        {"kind=a n=1 late>x", "primary: <\\x00\\x81\\x01>"},
    };
    CHECK_CASES("    fields: {kind: {type: string, values: [a, b, c]}, n: int, late: {type: string, values: "
                "[x, y]}}\n"
                "    key:\n      - enum: kind\n      - field: {name: n, width: 1}\n      - enum: late\n",
                cases);
}

/* A range narrower than the buckets visits only the buckets that it needs. Each of them holds other numbers,
 * so they are read in order, one after the other. */
KW_TEST(test_pruning, "/plan/pruning")
{
    static const kw_test_case cases[] = {
        {"n>=9 n<12", "primary: [\\x09\\x89,\\x09\\x8A) | [\\x00\\x8A,\\x00\\x8B) | [\\x01\\x8B,\\x01\\x8C)"},
        {"n>=9 n<12 order=desc",
         "primary: [\\x01\\x8B,\\x01\\x8C) | [\\x00\\x8A,\\x00\\x8B) | [\\x09\\x89,\\x09\\x8A) backwards"},
        {"n=13", "primary: [\\x03\\x8D,\\x03\\x8E)"},
    };
    const char *yaml = "    fields: {n: int, id: string}\n    key:\n      - mod: {of: n, buckets: 10}\n"
                       "      - field: {name: n, width: 1}\n      - field: id\n";
    g_autoptr(kw_test_planner) planner = planner_new(yaml);
    CHECK_CASES(yaml, cases);
    const char *plan = planner_plan_text(planner, "n>=9 n<12");
    g_assert_nonnull(strstr(plan, "|"));
    const kw_plan *planned;
    bool done = kw_plan_make(&planner->query, planner->arena, &planned, NULL);
    g_assert_true(done);
    const char *text = kw_plan_text(planned, planner->arena);
    g_assert_nonnull(strstr(text, "3 of 10 can match"));
    /* Buckets 0 and 1 hold numbers from 0 to 11 and so overlap all others: there is one group. */
    planner_plan_text(planner, "n>=0 n<12");
    done = kw_plan_make(&planner->query, planner->arena, &planned, NULL);
    g_assert_true(done);
    g_assert_cmpuint(planned->groups_count, ==, 1);
    g_assert_cmpuint(planned->ranges_count, ==, 10);
}

static const char *
text_of_plan(kw_test_planner *planner, const char *query)
{
    const kw_plan *planned;
    planner_plan_text(planner, query);
    bool done = kw_plan_make(&planner->query, planner->arena, &planned, NULL);
    g_assert_true(done);
    return kw_plan_text(planned, planner->arena);
}

static void
expect_part(const char *text, const char *part)
{
    if (!strstr(text, part))
        g_error("no \"%s\" in: %s", part, text);
}

/* The notes of a plan: why it reads several ranges, how their rows are combined, and what is checked for each
 * row. */
KW_TEST(test_notes, "/plan/notes")
{
    const char *yaml =
        "    fields: {id: string, ts: timestamp, city: {type: string, column: \"d:c\"}}\n    key:\n"
        "      - salt: {of: id, buckets: 4}\n      - field: ts\n      - field: id\n";
    g_autoptr(kw_test_planner) planner = planner_new(yaml);
    const char *text = text_of_plan(planner, "ts>=1 ts<3");
    expect_part(text, "width 1): all 4 are visited, because id is not bound\n");
    expect_part(text, "merge: the 4 ranges are read in parallel");
    text = text_of_plan(planner, "id=a,b ts=1,3 city=x");
    expect_part(text, "every key is known: 4 point reads");
    expect_part(text, "city is checked for each row");
    g_assert_null(strstr(text, "merge:"));
    text = text_of_plan(planner, "id=a ts>=1 ts<3");
    g_assert_null(strstr(text, "visited"));
    g_assert_null(strstr(text, "concat"));
}

/* The ends of a string range, in each encoding. */
KW_TEST(test_string_ranges, "/plan/string_ranges")
{
    static const kw_test_case raw[] = {
        {"id>=a id<b", "primary: [a,b)"},
        {"id>a id<=b", "primary: [a\\x00,b\\x00)"},
        {"id<b", "primary: [,b)"},
        {"id>=b", "primary: [b,)"},
        {"id>=a id<=a", "primary: [a,a\\x00)"},
        {"id>a id<a", "primary:"},
        {"id=a", "primary: <a>"},
    };
    CHECK_CASES("    fields: {id: string}\n    key: [field: id]\n", raw);
    static const kw_test_case terminated[] = {
        {"id>=a id<b", "primary: [a\\x00,b\\x00)"},
        {"id>a id<=b", "primary: [a\\x01,b\\x01)"},
    };
    CHECK_CASES("    fields: {id: string, n: int}\n    key: [field: id, field: n]\n", terminated);
    static const kw_test_case falling[] = {
        {"id>=a id<b", "primary: [\\x9E,\\x9F)"}, /* b is 9D FF; longer strings that begin with b are 9D .. */
        {"id<=a", "primary: [\\x9E\\xFF,)"},
    };
    CHECK_CASES("    fields: {id: string, n: int}\n    key: [field: {name: id, order: desc}, field: n]\n",
                falling);
    static const kw_test_case fixed[] = {
        {"id>=a id<b", "primary: [a\\x00,b\\x00)"},
        {"id>a id<=b", "primary: [a\\x01,b\\x01)"},
        {"id>=abc id<abd", "primary:"}, /* longer than the field: after "ab" and before the next value */
        {"id>=abc id<b", "primary: [ac,b\\x00)"},
        {"id>=a id<=abc", "primary: [a\\x00,ac)"},
    };
    CHECK_CASES("    fields: {id: string, n: int}\n    key: [field: {name: id, encoding: fixed, width: 2}, "
                "field: n]\n",
                fixed);
    static const kw_test_case digits[] = {
        {"id>=1 id<2", "primary: [1,2)"},
        {"id>=12 id<=13", "primary: [12,14)"},
        {"id>123 id<=200", "primary: [13,21)"},
        {"id>=1x", "primary: [1x,)"},
    };
    CHECK_CASES("    fields: {id: string, n: int}\n    key: [field: {name: id, encoding: digits, width: 2}, "
                "field: n]\n",
                digits);
}

KW_TEST(test_coarse_unit, "/plan/coarse_unit")
{
    static const kw_test_case cases[] = {
        {"id=a ts>=1000 ts<3000", "primary: [a\\x00\\x80\\x01,a\\x00\\x80\\x03)"},
        {"id=a ts>=1500 ts<3000", "primary: [a\\x00\\x80\\x01,a\\x00\\x80\\x03) residual"},
        {"id=a ts>=1000 ts<=3000", "primary: [a\\x00\\x80\\x01,a\\x00\\x80\\x04) residual"},
        {"id=a ts=1500", "primary: <a\\x00\\x80\\x01>"}, /* the record of that second, at any millisecond */
        {"id=a ts=1500 ts>=1200", "primary: <a\\x00\\x80\\x01> residual"},
        {"ts=1500,2500 full", "primary: [,) residual"},
    };
    CHECK_CASES("    fields: {id: string, ts: {type: timestamp, unit: ms, column: \"d:ts\"}}\n    key:\n"
                "      - field: id\n      - field: {name: ts, unit: s, width: 2}\n",
                cases);
}

/* A double field also accepts integers, as values and as ends of a range. */
KW_TEST(test_integers_for_doubles, "/plan/integers_for_doubles")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {x: double, n: int}\n    key: [field: x, field: n]\n");
    const kw_value five = test_number(5), six = test_number(6);
    const char *expected[] = {planner_plan_text(planner, "x=5"), planner_plan_text(planner, "x>=5 x<6")};
    for (int range = 0; range < 2; range++) {
        planner_reset(planner);
        if (range) {
            planner->query.range_field = 0;
            planner->query.from = five;
            planner->query.to = six;
            planner->query.from_inclusive = true;
        } else {
            planner->bounds[0] = (kw_bound){.values = &five, .count = 1};
        }
        const kw_plan *plan;
        bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
        g_assert_true(done);
        const char *start = kw_bytes_to_binary_text(plan->ranges[0].start, planner->arena);
        const char *stop = kw_bytes_to_binary_text(plan->ranges[0].stop, planner->arena);
        g_autofree char *text = g_strdup_printf("primary: [%s,%s)", start, stop);
        g_assert_cmpstr(text, ==, expected[range]);
        kw_value values[] = {{.kind = KW_VALUE_REAL, .real = 5}, test_number(1)};
        g_assert_true(kw_plan_matches(plan, &(kw_record){.values = values}));
        values[0].real = 6;
        g_assert_false(kw_plan_matches(plan, &(kw_record){.values = values}));
    }
}

/* What the keys of a plan hold: n exactly, ts coarsely, city not at all. */
KW_TEST(test_held_fields, "/plan/held_fields")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {n: int, ts: {type: timestamp, column: 'd:ts'}, city: string}\n"
                    "    key: [field: n, field: {name: ts, unit: s}]\n");
    planner_set_query(planner, "n=1");
    const kw_plan *plan;
    bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
    g_assert_true(done);
    g_assert_true(kw_plan_keys_hold(plan, 0) && !kw_plan_keys_hold(plan, 2));
    g_assert_false(kw_plan_keys_hold_coarsely(plan, 0));
    g_assert_true(kw_plan_keys_hold_coarsely(plan, 1));
    g_assert_false(kw_plan_keys_hold_coarsely(plan, 2));
}

/* A salt over the rest of the key is known only if the whole key is known. */
KW_TEST(test_salt_of_rest, "/plan/salt_of_rest")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {id: string, n: int}\n    key:\n"
                    "      - salt: {buckets: 3, algorithm: phoenix}\n      - field: id\n"
                    "      - field: {name: n, width: 1}\n");
    g_assert_cmpstr(planner_plan_text(planner, "id=a"), ==,
                    "primary: [\\x00a\\x00,\\x00a\\x01) [\\x01a\\x00,\\x01a\\x01) [\\x02a\\x00,\\x02a\\x01)");
    kw_value values[] = {test_text("a"), test_number(1)};
    kw_buffer key = KW_BUFFER_EMPTY;
    bool done = kw_layout_encode(planner->table->paths[0].layout, &(kw_record){.values = values}, &key, NULL);
    g_assert_true(done);
    planner_plan_text(planner, "id=a n=1");
    const kw_plan *plan;
    done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
    g_assert_true(done && plan->point && plan->ranges_count == 1);
    g_assert_true(kw_bytes_equal(plan->ranges[0].start, kw_buffer_bytes(&key)));
    g_assert_cmpuint(plan->ranges[0].stop.size, ==, key.size + 1);
    kw_buffer_clear(&key);
}

/* No key follows all keys with a prefix of 0xff bytes: such a range ends at the end of the table. */
KW_TEST(test_successor_overflow, "/plan/successor_overflow")
{
    static const kw_test_case cases[] = {
        {"id=a", "primary: [\\xFF\\xFFa\\x00,\\xFF\\xFFa\\x01)"},
        {"full", "primary: [\\xFF\\xFF,)"},
        {"id>=b", "primary: [\\xFF\\xFFb\\x00,)"},
    };
    CHECK_CASES(
        "    fields: {id: string, n: int}\n    key:\n      - literal: \"\\\\xFF\\\\xFF\"\n      - field: id\n"
        "      - field: n\n",
        cases);
}

KW_TEST(test_wrong_values, "/plan/wrong_values")
{
    static const kw_test_case cases[] = {
        {"kind=x", "INVALID: table t, field kind: value \"x\" is not a declared value; use one of one, two"},
        {"n=300", "INVALID: table t, field n: value 300 is out of range; int in 1 bytes holds -128 to 127"},
        {"n>=300 full", "primary:"},
    };
    CHECK_CASES("    fields: {n: int, kind: {type: string, values: [one, two]}}\n    key: [field: {name: n, "
                "width: 1}]\n",
                cases);
    g_autoptr(kw_test_planner) planner = planner_new(EVENTS);
    kw_value number = test_number(1), text = test_text("a");
    planner->bounds[0] = (kw_bound){.values = &number, .count = 1};
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    g_assert_false(kw_plan_make(&planner->query, planner->arena, &plan, &error));
    g_assert_cmpstr(error.text, ==, "table t, field id: needs a value of kind text, not number");
    planner_reset(planner);
    planner->query.range_field = 1;
    planner->query.from = text;
    g_assert_false(kw_plan_make(&planner->query, planner->arena, &plan, &error));
    g_assert_cmpstr(error.text, ==, "table t, field ts: an end of the range does not have the field's type");
}

/* kw_plan_matches checks the conditions of a query, also for a plan that the planner did not make. */
KW_TEST(test_matches, "/plan/matches")
{
    g_autoptr(kw_test_planner) planner = planner_new(EVENTS);
    planner_set_query(planner, "id=a,b ts>=5 ts<9");
    const kw_plan *plan;
    bool done = kw_plan_make(&planner->query, planner->arena, &plan, NULL);
    g_assert_true(done);
    kw_plan by_hand = {.query = &planner->query};
    static const struct {
        const char *id;
        int64_t ts;
        bool meets;
    } records[] = {{"a", 5, true}, {"b", 8, true}, {"c", 6, false}, {"a", 4, false}, {"a", 9, false}};
    for (size_t index = 0; index < G_N_ELEMENTS(records); index++) {
        kw_value values[] = {test_text(records[index].id), test_number(records[index].ts), KW_VALUE_ABSENT};
        kw_record record = {.values = values};
        g_assert_true(kw_plan_matches(plan, &record) == records[index].meets);
        g_assert_true(kw_plan_matches(&by_hand, &record) == records[index].meets);
        values[1] = KW_VALUE_ABSENT;
        g_assert_false(kw_plan_matches(plan, &record));
        g_assert_false(kw_plan_matches(&by_hand, &record));
    }
}

/* Ends that are not hex digits are rounded to hex digits: no row needs a check. */
KW_TEST(test_parts_of_hex, "/plan/parts_of_hex")
{
    static const kw_test_case cases[] = {
        {"u>=8 u<9", "primary: [\\x80\\x00,\\x90\\x00)"},
        {"u>8fffz u<=9zz", "primary: [\\x90,\\xA0)"},
        {"u>=9: u<=9a00", "primary: [\\x9A\\x00,\\x9A\\x01)"},
        {"u>f- u<\x7f", "primary: [\\xF0\\x00,)"},
    };
    CHECK_CASES(
        "    fields: {u: string, n: int}\n    key:\n      - field: {name: u, encoding: hex, width: 2}\n"
        "      - field: {name: n, width: 1}\n",
        cases);
}

/* A bucket that the put selected does not depend on the fields: all buckets are visited, even for points. */
KW_TEST(test_chosen_buckets, "/plan/chosen_buckets")
{
    static const kw_test_case cases[] = {
        {"ts>=1 ts<3", "primary: [0\\x80\\x01,0\\x80\\x03) [1\\x80\\x01,1\\x80\\x03)"},
        {"ts=1 id=a", "primary: <0\\x80\\x01a> <1\\x80\\x01a>"},
        {"ts=1", "primary: [0\\x80\\x01,0\\x80\\x02) [1\\x80\\x01,1\\x80\\x02)"},
    };
    CHECK_CASES(
        "    updates: false\n    fields: {id: string, ts: timestamp}\n    key:\n"
        "      - salt: {algorithm: random, buckets: 2, as: decimal}\n      - field: {name: ts, width: 2}\n"
        "      - field: id\n",
        cases);
}

/* The planning of a million ranges stops when its effort is exhausted, and uses no more memory than the
 * effort allows. */
KW_TEST(test_effort, "/plan/effort")
{
    static const char *const events =
        "    fields: {a: int, b: int, c: int}\n    key:\n      - {field: a}\n      - {field: b}\n"
        "      - {field: c}\n";
    g_autoptr(kw_test_planner) planner = planner_new(events);
    kw_value values[1000];
    for (size_t index = 0; index < G_N_ELEMENTS(values); index++)
        values[index] = test_number((int64_t)index);
    planner->bounds[0] = planner->bounds[1] = (kw_bound){.values = values, .count = G_N_ELEMENTS(values)};
    planner->query.range_limit = 1000000;
    static const struct {
        size_t bytes_most;
        kw_deadline deadline;
        kw_code code;
    } efforts[] = {{1024 * 1024, KW_DEADLINE_NONE, KW_LIMIT}, {0, 1, KW_TIMEOUT}};
    for (size_t index = 0; index < G_N_ELEMENTS(efforts); index++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_effort effort = {.bytes_most = efforts[index].bytes_most, .deadline = efforts[index].deadline};
        const kw_plan *plan;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(kw_plan_make_within(&planner->query, &effort, arena, &plan, &error));
        g_assert_cmpint(error.code, ==, efforts[index].code);
        g_assert_cmpuint(kw_arena_used(arena), <, 8 * 1024 * 1024);
    }
    planner->bounds[0].count = planner->bounds[1].count = 10;
    kw_effort ample = {.bytes_most = 64 * 1024 * 1024, .deadline = KW_DEADLINE_NONE};
    const kw_plan *plan;
    g_assert_true(kw_plan_make_within(&planner->query, &ample, planner->arena, &plan, NULL));
    g_assert_cmpuint(plan->ranges_count, ==, 100);
    g_assert_cmpuint(ample.spent, >, 0);
}

/* A list with a value of `bytes` bytes bound beside it. Returns the arena's bytes after the plan. */
static size_t
plan_list_beside(const char *key, size_t bytes, size_t count, size_t *ret_ranges, kw_error *ret_error)
{
    g_autofree char *text = g_strdup_printf(
        "    fields: {id: {type: string, max_bytes: 32000}, a: int}\n    updates: false\n    key: %s\n", key);
    g_autoptr(kw_test_planner) planner = planner_new(text);
    g_autofree char *id = g_strnfill(bytes, 'x');
    g_autofree kw_value *values = g_new(kw_value, count);
    kw_value one = {.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(id)};
    for (size_t index = 0; index < count; index++)
        values[index] = test_number((int64_t)index);
    planner->bounds[0] = (kw_bound){.values = &one, .count = 1};
    planner->bounds[1] = (kw_bound){.values = values, .count = count};
    const kw_plan *plan;
    *ret_ranges = 0;
    if (kw_plan_make(&planner->query, planner->arena, &plan, ret_error))
        *ret_ranges = plan->ranges_count;
    return kw_arena_used(planner->arena);
}

/* The keys of a plan have a limited size together, however long the values of the query are. */
KW_TEST(test_long_keys, "/plan/long_keys")
{
    static const char *const whole = "[{field: {name: id, encoding: terminated}}, {field: a}]";
    static const char *const parted =
        "[{field: {name: id, encoding: terminated}}, {salt: {algorithm: random, buckets: 2}}, {field: a}]";
    size_t ranges;
    kw_error error = KW_ERROR_NONE;
    size_t fits = KW_PLAN_KEY_BYTES / 10000;
    g_assert_cmpuint(plan_list_beside(whole, fits, 10000, &ranges, &error), <, 8 * KW_PLAN_KEY_BYTES);
    g_assert_cmpuint(ranges, ==, 10000);
    for (size_t bytes = fits + 1; bytes <= 30000; bytes *= 3) {
        g_assert_cmpuint(plan_list_beside(whole, bytes, 10000, &ranges, &error), <, 8 * KW_PLAN_KEY_BYTES);
        g_assert_cmpuint(ranges, ==, 1); /* widened: all rows of the id */
        g_assert_cmpuint(plan_list_beside(parted, bytes, 10000, &ranges, &error), <, 8 * KW_PLAN_KEY_BYTES);
        g_assert_cmpuint(ranges, <=, 2);
    }
    plan_list_beside(whole, 30000, 139, &ranges, &error);
    g_assert_cmpuint(ranges, ==, 139);
}

/* Whatever the effort, planning stops before it uses more memory. */
KW_TEST(test_every_effort, "/plan/every_effort")
{
    enum { VALUES = 2000, STEP = 32 * 1024 };
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {a: int, b: int}\n    key: [{field: a}, {field: b}]\n");
    g_autofree kw_value *values = g_new(kw_value, VALUES);
    for (int index = 0; index < VALUES; index++)
        values[index] = test_number(index);
    planner_set_query(planner, "b>=3 b<7");
    planner->bounds[0] = (kw_bound){.values = values, .count = VALUES};
    size_t efforts = 0;
    for (bool enough = false; !enough; efforts++) {
        g_autoptr(kw_arena) arena = kw_arena_new();
        kw_effort effort = {.bytes_most = (efforts + 1) * STEP, .deadline = KW_DEADLINE_NONE};
        const kw_plan *plan;
        kw_error error = KW_ERROR_NONE;
        enough = kw_plan_make_within(&planner->query, &effort, arena, &plan, &error);
        g_assert_cmpint(error.code, ==, enough ? KW_OK : KW_LIMIT);
        if (!enough)
            g_assert_cmpuint(kw_arena_used(arena), <, effort.bytes_most + STEP);
    }
    g_assert_cmpuint(efforts, >, 10);
    g_assert_cmpuint(efforts, <, 100);
}

/* What explain prints: the whole text of plans, and of the errors for queries that cannot be answered. */
#include "plan/planner.h"
#include "rule/policies.h"

typedef struct text_case {
    const char *query, *text;
} text_case;

/* The text of the plan, or the error. */
static const char *
text_of(kw_test_planner *planner, const char *words)
{
    const kw_plan *plan;
    kw_error error = KW_ERROR_NONE;
    planner_reset(planner);
    planner_set_query(planner, words);
    return kw_plan_make(&planner->query, planner->arena, &plan, &error)
               ? kw_plan_text(plan, planner->arena)
               : kw_arena_text(planner->arena, kw_bytes_of_text(error.text));
}

static void
check(const char *yaml, const text_case *cases, size_t count)
{
    g_autoptr(kw_test_planner) planner = planner_new(yaml);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const char *text = text_of(planner, cases[i].query);
        bool good = strcmp(text, cases[i].text) == 0;
        if (!good)
            g_printerr("%s\nhas the text\n%s\nnot\n%s\n", cases[i].query, text, cases[i].text);
        wrong += !good;
    }
    g_assert_cmpuint(wrong, ==, 0);
}

#define CHECK(yaml, cases) check(yaml, cases, G_N_ELEMENTS(cases))

#define NOT_COVERED " is checked for each row: it is not in the part of the key that the ranges cover\n"

/* Two paths; ts is coarser in the keys, city and x are in neither. */
#define TABLE                                                                                                \
    "    fields: {k: {type: string, values: [a, b]}, n: int, ts: {type: timestamp, column: 'd:ts'},\n"       \
    "             id: string, city: {type: string, values: [x, y, z, w], column: 'd:c'},\n"                  \
    "             x: {type: int, column: 'd:x'}}\n"                                                          \
    "    key: [{enum: k}, {field: {name: n, width: 1}}, {field: {name: ts, unit: s, width: 2}}, "            \
    "{field: id}]\n"                                                                                         \
    "    paths:\n      late:\n        key: [{salt: {of: [id], buckets: 4}}, {field: {name: ts, unit: s, "    \
    "width: 2}},\n              {field: {name: id, encoding: terminated}}, {enum: k}, "                      \
    "{field: {name: n, width: 1}}]\n"
#define PRIMARY "table t by path primary (layout 1, store table t)"
#define LATE "table t by path late (layout 1, store table t_late)"

/* The estimate multiplies what each condition that the ranges do not express lets through: one row in ten for
 * a value, fewer for a list or declared values, one in three for a range, and nearly all for an end of a
 * range within a unit of the key. */
KW_TEST(test_estimates, "/plan/texts/estimates")
{
    static const text_case cases[] = {
        {"k=a n=1 ts>=1500 ts<3000 order=desc",
         PRIMARY ", read backwards\n1 ranges in 1 groups, about 1.05 rows scanned per row returned\n"
                 "    from \\x00\\x81\\x80\\x01 to \\x00\\x81\\x80\\x03\n"
                 "- rows are ordered by ts descending, to the key's coarser unit\n"
                 "- the range of ts is checked for each row: its ends can lie inside a unit of the key\n"},
        {"k=a n=1 id=z x=3,4", PRIMARY "\n1 ranges in 1 groups, about 50.00 rows scanned per row returned\n"
                                       "    from \\x00\\x81 to \\x00\\x82\n"
                                       "- rows are ordered by ts ascending, to the key's coarser unit\n"
                                       "- id" NOT_COVERED "- x" NOT_COVERED},
        {"k=a n=1 ts=1500 id=z city=x,y",
         PRIMARY "\n1 ranges in 1 groups, about 2.00 rows scanned per row returned\n"
                 "    row \\x00\\x81\\x80\\x01z\n- every key is known: 1 point read\n- city" NOT_COVERED},
        {"id=q city=x", LATE "\n1 ranges in 1 groups, about 40.00 rows scanned per row returned\n"
                             "    from \\x01 to \\x02\n"
                             "- rows are ordered by ts ascending, to the key's coarser unit\n"
                             "- id" NOT_COVERED "- city" NOT_COVERED},
        {"k=b ts>=2000 id=v",
         PRIMARY "\n1 ranges in 1 groups, about 30.00 rows scanned per row returned\n"
                 "    from \\x01 to \\x02\n- rows are ordered by n ascending\n- id" NOT_COVERED
                 "- the range of ts is checked for each row: it is not the field after the bound ones\n"},
        {"n=7 n>=9", PRIMARY "\n0 ranges in 0 groups, about 1.00 rows scanned per row returned\n"
                             "- no record can meet these conditions together: nothing is read\n"},
        {"n=7 n>=9 path=late", LATE "\n0 ranges in 0 groups, about 1.00 rows scanned per row returned\n"
                                    "- no record can meet these conditions together: nothing is read\n"},
    };
    CHECK(TABLE, cases);
}

/* No record matches conditions that contradict each other. */
KW_TEST(test_contradiction, "/plan/texts/contradiction")
{
    g_autoptr(kw_test_planner) planner =
        planner_new("    fields: {id: string, n: int}\n    key: [{field: id}]\n");
    kw_value values[] = {test_text("a"), test_number(7)};
    kw_record record = {.values = values};
    static const struct {
        const char *words;
        bool match;
    } cases[] = {{"id=a n=7 n>=9", false}, {"id=a n=7 n>=7", true}};
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const kw_plan *plan;
        kw_error error;
        planner_reset(planner);
        planner_set_query(planner, cases[i].words);
        g_assert_true(kw_plan_make(&planner->query, planner->arena, &plan, &error));
        g_assert_cmpint(kw_plan_matches(plan, &record), ==, cases[i].match);
    }
}

/* The ranges meet a condition on a time only as far as its seconds: the rest of it comes after an unbound
 * field. */
KW_TEST(test_coarse_field, "/plan/texts/coarse-field")
{
    g_autoptr(kw_test_planner) planner = planner_new(
        "    fields: {ts: {type: timestamp, column: 'd:ts'}, id: string}\n    key: [{field: {name: ts, "
        "unit: s, width: 4}}, {field: {name: id, encoding: terminated}}, {field: ts}]\n");
    const char *text = text_of(planner, "ts=1500");
    g_assert_nonnull(strstr(text, "about 1.05 rows scanned per row returned"));
    g_assert_nonnull(
        strstr(text, "- ts is checked for each row: the key stores it only in a coarser unit\n"));
}

/* Components that fan out, and ranges that are merged. */
KW_TEST(test_merges, "/plan/texts/merges")
{
    static const text_case cases[] = {
        {"n>=1 n<3 city=x",
         PRIMARY "\n2 ranges in 1 groups, about 4.00 rows scanned per row returned\n"
                 "  merge of 2 ranges\n    from \\x00\\x81 to \\x00\\x83\n    from \\x01\\x81 to \\x01\\x83\n"
                 "- enum(k as index of \"a\", \"b\"): all 2 are visited, because k is not bound\n"
                 "- merge: the 2 ranges are read in parallel, because their rows interleave\n"
                 "- rows are ordered by n ascending\n- city" NOT_COVERED},
        {"n=1,5 k=a,b",
         PRIMARY "\n4 ranges in 1 groups, about 1.00 rows scanned per row returned\n"
                 "  merge of 4 ranges\n    from \\x00\\x81 to \\x00\\x82\n    from \\x00\\x85 to \\x00\\x86\n"
                 "    from \\x01\\x81 to \\x01\\x82\n    from \\x01\\x85 to \\x01\\x86\n"
                 "- merge: the 4 ranges are read in parallel, because their rows interleave\n"
                 "- rows are ordered by ts ascending, to the key's coarser unit\n"},
        {"ts>=1500 order=asc",
         LATE "\n4 ranges in 1 groups, about 1.05 rows scanned per row returned\n"
              "  merge of 4 ranges\n    from \\x00\\x80\\x01 to \\x01\n    from \\x01\\x80\\x01 to \\x02\n"
              "    from \\x02\\x80\\x01 to \\x03\n    from \\x03\\x80\\x01 to \\x04\n"
              "- salt(xxh64 of id, modulo 4 as byte, width 1): all 4 are visited, because id is not bound\n"
              "- merge: the 4 ranges are read in parallel, because their rows interleave\n"
              "- rows are ordered by ts ascending, to the key's coarser unit\n"
              "- the range of ts is checked for each row: its ends can lie inside a unit of the key\n"},
        {"limit=1", PRIMARY "\n2 ranges in 1 groups, about 1.00 rows scanned per row returned\n"
                            "  merge of 2 ranges\n    from \\x00 to \\x01\n    from \\x01 to \\x02\n"
                            "- enum(k as index of \"a\", \"b\"): all 2 are visited, because k is not bound\n"
                            "- merge: the 2 ranges are read in parallel, because their rows interleave\n"
                            "- rows are ordered by n ascending\n"},
    };
    CHECK(TABLE, cases);
}

/* What to bind. */
KW_TEST(test_whole_table, "/plan/texts/whole_table")
{
#define REFUSED "table t: this query would read the whole table; "
    static const text_case cases[] = {
        {"id=q path=primary", REFUSED "bind k (path primary), or allow full_scan; id alone does not help: it "
                                      "comes later in the key"},
        {"x>=1", REFUSED "bind k (path primary), or bind ts or give it a range (path late), or allow "
                         "full_scan; x does not help: it is in no key"},
        {"x=1 city=x path=primary", REFUSED "bind k (path primary), or allow full_scan; city, x do not help: "
                                            "they are not in the key of path primary"},
        {"x=1 id=q path=primary",
         REFUSED "bind k (path primary), or allow full_scan; id alone does not "
                 "help: it comes later in the key; x does not help: it is not in the key of path primary"},
    };
    CHECK(TABLE, cases);
    static const text_case bits[] = {
        {"", REFUSED "bind id, or give it or ts a range (path primary), or allow full_scan"},
        {"full order=desc",
         PRIMARY ", read backwards\n1 ranges in 1 groups, about 1.00 rows scanned per row returned\n"
                 "    from the beginning to the end\n- rows are ordered by id descending\n"},
    };
    CHECK("    fields: {ts: {type: timestamp, unit: s}, id: int}\n    key:\n"
          "      - bits: {of: id, time: ts, parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16]}\n",
          bits);
    static const text_case calendars[] = {
        {"host=a",
         REFUSED "bind ts or give it a range (path primary), or allow full_scan; host alone does not "
                 "help: it comes later in the key"},
        {"host=a n=3",
         REFUSED "bind ts or give it a range (path primary), or allow full_scan; host, n alone do "
                 "not help: they come later in the key"},
        {"ts>=1620000000000",
         REFUSED "bind ts or give it a range (path primary), or allow full_scan; the range "
                 "of ts needs both ends, then any length of time can be read"},
    };
    CHECK("    fields: {ts: {type: timestamp, column: 'd:ts'}, host: string, n: int}\n    key:\n"
          "      - {calendar: {of: ts, parts: [HH, dd, MM, yyyy]}}\n"
          "      - {field: {name: host, encoding: terminated}}\n      - {field: n}\n      - {field: ts}\n",
          calendars);
}

/* Why a path cannot give an order: a component without an order comes first, or a calendar that needs a
 * range. */
KW_TEST(test_disorder, "/plan/texts/disorder")
{
#define DISORDERED "table t: this query cannot be answered in descending order: path primary "
#define NEEDS_RANGE                                                                                          \
    DISORDERED "has calendar(ts: DDD yyyy in UTC as text), which gives the order of time only within a "     \
               "range of ts with both ends"
#define FIELDS                                                                                               \
    "    fields: {host: string, k: {type: string, values: [a, b]}, ts: {type: timestamp, column: 'd:ts'}}\n"
#define HOST "{field: {name: host, encoding: terminated, terminator: '|'}}"
    static const text_case after_enum[] = {{"full order=desc", NEEDS_RANGE}, {"k=a order=desc", NEEDS_RANGE}};
    CHECK(FIELDS "    key: [{enum: k}, {calendar: {of: ts, parts: [DDD, yyyy]}}, " HOST "]\n", after_enum);
    static const text_case after_hash[] = {
        {"ts=5 a=1 full order=desc",
         DISORDERED "continues with hash(xxh64 of b, first 4 as hex), which has no order"},
    };
    CHECK("    fields: {ts: {type: timestamp, unit: s}, a: int, b: int}\n"
          "    key: [{hash: b}, {bits: {of: ts, parts: [seconds 32, a 16, b 16]}}]\n",
          after_hash);
    static const text_case after_field[] = {
        {"full order=desc",
         DISORDERED "continues with field(host as terminated by \\x7C), which has no order"},
        {"host=a order=desc", NEEDS_RANGE},
    };
    CHECK(FIELDS "    key: [" HOST ", {calendar: {of: ts, parts: [DDD, yyyy]}}, {enum: k}]\n", after_field);
}

/* Ranges of time: pieces, groups that are not printed, and windows. */
KW_TEST(test_times, "/plan/texts/times")
{
    static const text_case bits[] = {
        {"ts>=1620000000 ts<1620000540",
         PRIMARY "\n9 ranges in 9 groups, about 1.05 rows scanned per row returned\n"
                 "    from \\x00\\xC1\\x1Ez\\x00\\x00\\x00\\x00 to \\x00\\xC1\\x1Ezx\n"
                 "    from \\x02\\xC1\\x1Ezx\\x00\\x00\\x00 to \\x02\\xC1\\x1Ez\\xF0\n"
                 "    from \\x04\\xC1\\x1Ez\\xF0\\x00\\x00\\x00 to \\x04\\xC1\\x1E{h\n"
                 "    from \\x06\\xC1\\x1E{h\\x00\\x00\\x00 to \\x06\\xC1\\x1E{\\xE0\n"
                 "    from \\x08\\xC1\\x1E{\\xE0\\x00\\x00\\x00 to \\x08\\xC1\\x1E|X\n"
                 "    from \\x0A\\xC1\\x1E|X\\x00\\x00\\x00 to \\x0A\\xC1\\x1E|\\xD0\n"
                 "    from \\x0C\\xC1\\x1E|\\xD0\\x00\\x00\\x00 to \\x0C\\xC1\\x1E}H\n"
                 "    from \\x0E\\xC1\\x1E}H\\x00\\x00\\x00 to \\x0E\\xC1\\x1E}\\xC0\n"
                 "  ... and 1 groups more\n"
                 "- concat: the 9 ranges are read one after the other\n"
                 "- rows are ordered by ts ascending, to the unit of the key's pieces\n"
                 "- the range of ts is checked for each row: records may lack it\n"},
        {"ts>=1620000000 ts<1620006000 ranges=3 order=desc",
         PRIMARY ", read backwards\n"
                 "3 ranges in 3 groups (and more to follow), about 1.05 rows scanned per row returned\n"
                 "    from N\\xC1\\x1E\\xA8h\\x00\\x00\\x00 to N\\xC1\\x1E\\xA8\\xE0\n"
                 "    from L\\xC1\\x1E\\xA7\\xF0\\x00\\x00\\x00 to L\\xC1\\x1E\\xA8h\n"
                 "    from J\\xC1\\x1E\\xA7x\\x00\\x00\\x00 to J\\xC1\\x1E\\xA7\\xF0\n"

                 "- ts: the interval is read in windows; these are the ranges of the first of 34 windows, "
                 "down to 1620005820; the next window is planned when its rows are needed\n"
                 "- concat: the 3 ranges are read one after the other\n"
                 "- rows are ordered by ts descending, to the unit of the key's pieces\n"
                 "- the range of ts is checked for each row: records may lack it\n"},
    };
    CHECK("    fields: {ts: {type: timestamp, unit: s}, id: int}\n    key:\n"
          "      - bits: {of: id, time: ts, parts: [zero 1, minute 6, seconds 32, worker 9, sequence 16]}\n",
          bits);
    static const text_case calendars[] = {
        {"ts>=1620000000 ts<1620000002 who=a,b",
         PRIMARY "\n4 ranges in 2 groups, about 1.05 rows scanned per row returned\n"
                 "  merge of 2 ranges\n    from 00000003052021a\\x00 to 00000003052021a\\x01\n"
                 "    from 00000003052021b\\x00 to 00000003052021b\\x01\n"
                 "  merge of 2 ranges\n    from 01000003052021a\\x00 to 01000003052021a\\x01\n"
                 "    from 01000003052021b\\x00 to 01000003052021b\\x01\n"
                 "- calendar(ts: ss mm HH dd MM yyyy in UTC as text): 2 pieces contain the queried time\n"
                 "- concat of merges: 2 groups are read one after the other, the ranges of a group merged\n"
                 "- rows are ordered by the pieces of ts, those of one piece by seq ascending\n"
                 "- the range of ts is checked for each row: its ends can lie inside a unit of the key\n"},
    };
    CHECK("    fields: {ts: {type: timestamp, unit: s, column: 'd:ts'}, who: string, seq: int}\n    key:\n"
          "      - calendar: {of: ts, parts: [ss, mm, HH, dd, MM, yyyy]}\n"
          "      - field: {name: who, encoding: terminated}\n      - field: seq\n",
          calendars);
}

/* Plans that have too many exact ranges. */
KW_TEST(test_widened, "/plan/texts/widened")
{
    static const text_case by_time[] = {
        {"id=a ts>=1620000000 ts<1621036800 ranges=10000", PRIMARY
         "\n"
         "2 ranges in 1 groups (and more to follow), about 10.00 rows scanned per row returned\n"
         "  merge of 2 ranges\n"
         "    from \\x0020210503000000 to \\x0020210503000206\n"
         "    from \\x0120210503000000 to \\x0120210503000206\n"
         "- widened: a range for each piece would need up to 2073602 ranges or point reads, more than "
         "limits.ranges allows (10000); wider ranges are read instead, and other rows are dropped\n"
         "- ts: the interval is read in windows; these are the ranges of the first one, up to 1620000125; "
         "while few rows are dropped, the next windows are larger; otherwise they have a range for each "
         "piece\n"
         "- salt(xxh64 of seq, modulo 2 as byte, width 1): all 2 are visited, because seq is not bound\n"
         "- merge: the 2 ranges are read in parallel, because their rows interleave\n"
         "- rows are ordered by ts ascending, to the unit of the key's pieces\n"
         "- id is checked for each row: it is not in the part of the key that the ranges cover\n"},
        {"id=a ts>=1620000000 ts<1620000200 ranges=100 order=desc", PRIMARY
         ", read backwards\n"
         "2 ranges in 1 groups (and more to follow), about 10.00 rows scanned per row returned\n"
         "  merge of 2 ranges\n"
         "    from \\x0020210503000114 to \\x002021050300031:\n"
         "    from \\x0120210503000114 to \\x012021050300031:\n"
         "- widened: a range for each piece would need up to 402 ranges or point reads, more than "
         "limits.ranges allows (100); wider ranges are read instead, and other rows are dropped\n"
         "- ts: the interval is read in windows; these are the ranges of the first one, down to 1620000074; "
         "while few rows are dropped, the next windows are larger; otherwise they have a range for each "
         "piece\n"
         "- salt(xxh64 of seq, modulo 2 as byte, width 1): all 2 are visited, because seq is not bound\n"
         "- merge: the 2 ranges are read in parallel, because their rows interleave\n"
         "- rows are ordered by ts descending, to the unit of the key's pieces\n"
         "- id is checked for each row: it is not in the part of the key that the ranges cover\n"},
    };
    CHECK(
        "    fields: {id: string, ts: {type: timestamp, unit: s}, seq: int}\n    key:\n"
        "      - salt: {of: seq, buckets: 2}\n      - calendar: {of: ts, parts: [yyyy, MM, dd, HH, mm, ss]}\n"
        "      - field: id\n      - field: {name: seq, width: 2}\n      - field: {name: ts, unit: s}\n",
        by_time);
    static const text_case by_key[] = {
        {"user=u id=a,b,c ranges=5",
         PRIMARY "\n"
                 "1 ranges in 1 groups, about 3.33 rows scanned per row returned\n"
                 "    from u\\x00\\x00 to u\\x00\\x02\n"
                 "- widened: the exact plan would need up to 6 ranges or point reads, more than "
                 "limits.ranges allows (5); wider ranges are read instead, and other rows are dropped\n"
                 "- salt(random, modulo 2 as byte, width 1): all 2 are visited, because the bucket was "
                 "chosen when the record was put\n"
                 "- id is checked for each row: it is not in the part of the key that the ranges cover\n"}};
    CHECK("    fields: {user: string, id: string}\n    updates: false\n    key:\n"
          "      - field: user\n      - salt: {algorithm: random, buckets: 2}\n      - field: id\n",
          by_key);
}

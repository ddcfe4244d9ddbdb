/* The byte form of questions: they come back as they were, and whatever else is given is refused. */
#include "plan/asking.h"
#include "rule/policies.h"

#include "base/clock.h"
#include "support/seed.h"

#define TABLE                                                                                                \
    "    fields: {id: string, n: int, real: double, raw: bytes, flag: bool}\n    key: [field: id]\n"         \
    "    paths: {more: {key: [field: id]}}\n"

static void
check_round(const char *words)
{
    g_autoptr(kw_test_asking) asking = asking_new(TABLE);
    asking_set(asking, words);
    kw_buffer bytes = KW_BUFFER_EMPTY, again = KW_BUFFER_EMPTY;
    kw_question_encode(&asking->question, &bytes);
    size_t size = bytes.size;
    kw_buffer_append_text(&bytes, "behind");
    kw_question back;
    size_t used;
    kw_error error = KW_ERROR_NONE;
    bool done =
        kw_question_decode(asking->table, kw_buffer_bytes(&bytes), asking->arena, &back, &used, &error);
    g_assert_cmpstr(error.text, ==, "");
    g_assert_true(done);
    g_assert_cmpuint(used, ==, size);
    const kw_question *question = &asking->question;
    g_assert_cmpint(back.path, ==, question->path);
    g_assert_cmpint(back.order, ==, question->order);
    g_assert_cmpint(back.range_field, ==, question->range_field);
    g_assert_true(kw_value_equal(back.from, question->from) && kw_value_equal(back.to, question->to));
    g_assert_true(back.from_inclusive == question->from_inclusive &&
                  back.to_inclusive == question->to_inclusive);
    g_assert_true(back.full_scan == (question->full_scan || question->limit > 0));
    for (size_t field = 0; field < asking->table->fields_count; field++) {
        g_assert_cmpuint(back.bounds[field].count, ==, question->bounds[field].count);
        for (size_t index = 0; index < back.bounds[field].count; index++)
            g_assert_true(
                kw_value_equal(back.bounds[field].values[index], question->bounds[field].values[index]));
    }
    kw_question_encode(&back, &again);
    g_assert_true(kw_bytes_equal(kw_buffer_bytes(&again), kw_bytes_of(bytes.data, size)));
    kw_buffer_clear(&bytes);
    kw_buffer_clear(&again);
}

static void
test_rounds(void)
{
    check_round("");
    check_round("id=a");
    check_round("id=a,b,c n=-5 flag=true path=more order=desc");
    check_round("n>=-9223372036854775808 n<9223372036854775807 order=asc");
    check_round("real>1.5 real<=2.5 full");
    check_round("raw=x real=0.5 limit=3");
}

/* Every cut of a good form is refused, and no changed byte does harm: what is taken is a question that can
 * be planned or refused. */
static void
test_hostile(void)
{
    g_autoptr(kw_test_asking) asking = asking_new(TABLE);
    kw_random_inject(20261121);
    asking_set(asking, "id=alpha,beta n>=3 n<7 flag=true raw=zz order=desc path=more");
    kw_buffer bytes = KW_BUFFER_EMPTY;
    kw_question_encode(&asking->question, &bytes);
    kw_question back;
    size_t used, taken = 0;
    for (size_t size = 0; size < bytes.size; size++) {
        kw_error error = KW_ERROR_NONE;
        kw_bytes cut = kw_arena_copy(asking->arena, kw_bytes_of(bytes.data, size));
        g_assert_false(kw_question_decode(asking->table, cut, asking->arena, &back, &used, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
    }
    for (unsigned turn = 0; turn < 50000; turn++) {
        kw_bytes copy = kw_arena_copy(asking->arena, kw_buffer_bytes(&bytes));
        for (unsigned change = 0; change < 1 + turn % 3; change++)
            ((uint8_t *)copy.data)[kw_random_u64() % copy.size] = (uint8_t)kw_random_u64();
        kw_error error = KW_ERROR_NONE;
        const kw_plan *plan;
        if (!kw_question_decode(asking->table, copy, asking->arena, &back, &used, &error)) {
            g_assert_cmpint(error.code, ==, KW_INVALID);
            continue;
        }
        taken++;
        back.range_limit = 100;
        if (!kw_plan_make(&back, asking->arena, &plan, &error))
            g_assert_true(error.code == KW_INVALID || error.code == KW_LIMIT);
    }
    g_assert_cmpuint(taken, >, 100);
    kw_buffer_clear(&bytes);
}

/* Counts that are far beyond the bytes must not be allocated; known-bad heads; an older policy's names. */
static void
test_refused_forms(void)
{
    static const struct {
        kw_bytes bytes;
        const char *says;
    } forms[] = {
        {{(const uint8_t *)"\x02\x00\x00\x00", 4}, "malformed"},                  /* version */
        {{(const uint8_t *)"\x01\x00\x03\x00", 4}, "malformed"},                  /* order 3 */
        {{(const uint8_t *)"\x01\x00\x40\x00", 4}, "malformed"},                  /* unknown flag */
        {{(const uint8_t *)"\x01\x01x\x00\x00", 5}, "names a path"},              /* path x */
        {{(const uint8_t *)"\x01\x00\x00\x01\x01x\x01\x00", 8}, "names a field"}, /* field x */
        {{(const uint8_t *)"\x01\x00\x00\xff\xff\xff\xff\x7f", 8}, "malformed"},  /* 2^35 bounds */
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\xff\xff\xff\x7f", 11}, "malformed"},
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\x00", 8}, "malformed"},     /* no values */
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\x01\x09", 9}, "malformed"}, /* kind 9 */
        {{(const uint8_t *)"\x01\x00\x00\x01\x02id\x01\x04\x01\xff", 11}, "not UTF-8"},
        {{(const uint8_t *)"\x01\x00\x20\x02id\x02\0\0\0\0\0\0\0\0\0\x00", 16},
         "malformed"}, /* number for id */
    };
    g_autoptr(kw_test_asking) asking = asking_new(TABLE);
    for (size_t index = 0; index < G_N_ELEMENTS(forms); index++) {
        kw_question back;
        size_t used;
        kw_error error = KW_ERROR_NONE;
        g_assert_false(
            kw_question_decode(asking->table, forms[index].bytes, asking->arena, &back, &used, &error));
        g_assert_cmpint(error.code, ==, KW_INVALID);
        if (!strstr(error.text, forms[index].says))
            g_error("form %zu: \"%s\" does not say \"%s\"", index, error.text, forms[index].says);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    kw_random_inject(test_seed());
    g_test_add_func("/plan/question/rounds", test_rounds);
    g_test_add_func("/plan/question/hostile", test_hostile);
    g_test_add_func("/plan/question/refused_forms", test_refused_forms);
    return g_test_run();
}

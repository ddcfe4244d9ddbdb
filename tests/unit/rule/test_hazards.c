/* Rules that new layouts are refused for, though rows can exist under them: such a policy compiles, and each
 * hazard says where it is, what is wrong and what to do. */
#include "rule/policies.h"

typedef struct kw_test_hazard {
    const char *yaml; /* of the table */
    const char *said; /* parts of the text, one a line; "" for a policy without hazards */
} kw_test_hazard;

static void
check(const kw_test_hazard *cases, size_t count)
{
    bool all = true;
    for (size_t index = 0; index < count; index++) {
        g_autofree char *text = test_hazards(cases[index].yaml);
        g_auto(GStrv) parts = g_strsplit(cases[index].said, "\n", -1);
        bool good = !*text == !*cases[index].said;
        for (char **part = parts; *part; part++)
            good = good && strstr(text, *part);
        if (!good)
            g_printerr("%shas the hazards\n%snot\n%s\n", cases[index].yaml, text, cases[index].said);
        all = all && good;
    }
    g_assert_true(all);
}

/* Rows of Phoenix and HBaseWD have one byte of salt. */
static void
test_salts(void)
{
#define SALT(settings) "    fields: {id: string}\n    key:\n      - salt: {" settings "}\n      - field: id\n"
    static const kw_test_hazard cases[] = {
        {SALT("buckets: 256, algorithm: phoenix"), ""},
        {SALT("buckets: 256, algorithm: hbasewd"), ""},
        {SALT("buckets: 300, of: id"), ""},
        {SALT("buckets: 300, algorithm: phoenix"), "test:5:25: error: path primary: salt: phoenix writes the "
                                                   "bucket as one byte, so it has at most 256 buckets, "
                                                   "not 300\n / hint: take at most 256 buckets"},
        {SALT("buckets: 257, algorithm: hbasewd"), "salt: hbasewd writes the bucket as one byte"},
    };
    check(cases, G_N_ELEMENTS(cases));
}

/* What the policy says of a hazard besides its text. */
static void
test_places(void)
{
    g_autoptr(kw_policy) policy =
        test_policy_with_hazards("    fields: {id: string}\n    key: [field: id]\n    paths:\n      other:\n"
                                 "        key: [{salt: {buckets: 300, algorithm: phoenix}}, {field: id}]\n");
    g_assert_cmpuint(kw_policy_hazards_count(policy), ==, 1);
    const kw_hazard *hazard = kw_policy_hazard(policy, 0);
    g_assert_true(hazard->table == kw_policy_table(policy, 0));
    g_assert_true(hazard->path == &kw_policy_table(policy, 0)->paths[1]);
    g_assert_cmpuint(hazard->mark.line, ==, 7);
    g_assert_nonnull(strstr(hazard->text, "path other: salt: phoenix"));
    g_assert_nonnull(strstr(hazard->hint, "256"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rule/hazards/salts", test_salts);
    g_test_add_func("/rule/hazards/places", test_places);
    return g_test_run();
}

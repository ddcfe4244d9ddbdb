/* The ttl of the family of kw:w, in tables with paths over fields that change. */
#include "config/reader.h"
#include "rule/compile.h"
#include "schema/policy.h"

#define HBASE "store: {kind: hbase, servers: [\"h:1\"], late: 60s}\n"
#define SHORT(d, e) "    families: {d: {ttl: " d "}, e: {ttl: " e "}}\n"
#define FIELDS "    fields: {id: string, n: {type: int, column: 'e:n'}, m: int}\n    key: [field: id]\n"
#define BY_N "    paths: {by_n: {key: [field: n, field: id]}}\n"

/* The problems of the policy; "" if it compiles. */
static char *
problems_of(const char *store, const char *table)
{
    g_autoptr(kw_diagnostics) diagnostics = kw_diagnostics_new("test");
    g_autofree char *text = g_strdup_printf("%stables:\n  t:\n%s", store, table);
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_model) model = kw_model_read_text("test", text, strlen(text), schemas, count, diagnostics);
    g_autoptr(kw_policy) policy = model ? kw_policy_new(model, diagnostics) : NULL;
    return policy ? g_strdup("") : kw_diagnostics_text(diagnostics);
}

KW_TEST(test_too_short, "/schema/writer-ids/too-short")
{
    static const char *const texts[] = {
        SHORT("209s", "1d") FIELDS BY_N, SHORT("209s", "0") FIELDS BY_N,
        SHORT("209s", "210s") "    order: stamp\n    atomics: true\n" FIELDS BY_N};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
        g_autofree char *problems = problems_of(HBASE, texts[i]);
        if (!strstr(problems,
                    "table t: the ttl of family d must be at least 210s (twice store.late plus 90s), "
                    "because field n is kept longer than this family"))
            g_error("%s", problems);
    }
}

KW_TEST(test_good, "/schema/writer-ids/good")
{
    static const struct {
        const char *store, *table;
    } cases[] = {
        {HBASE, SHORT("210s", "1d") FIELDS BY_N},
        {HBASE, SHORT("0", "1s") FIELDS BY_N},
        {HBASE, SHORT("9s", "9s") FIELDS BY_N}, /* the values expire with kw:w */
        {HBASE, SHORT("9s", "1d") "    atomics: false\n" FIELDS BY_N},
        {HBASE, SHORT("9s", "1d") FIELDS},
        {"store: {kind: embedded}\n", SHORT("9s", "1d") FIELDS BY_N},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *problems = problems_of(cases[i].store, cases[i].table);
        g_assert_cmpstr(problems, ==, "");
    }
}

/* Decisions about calls. */
#include "access/access.h"

#include "tests/support/unit.h"

#include <glib.h>
#include <string.h>

static const char *const shops[] = {"cn=shop-*", "unix:1000"};
static const char *const all[] = {"*"};
static const char *const nameless[] = {"anonymous"};
static const kw_model_group groups[] = {
    {.name = "shops", .members = shops, .members_count = 2},
    {.name = "all", .members = all, .members_count = 1},
    {.name = "nameless", .members = nameless, .members_count = 1},
};
static const char *const who_shops[] = {"shops"}, *const who_all[] = {"all"},
                         *const who_nameless[] = {"nameless"};
static const char *const orders[] = {"orders", "order_*_x*"}, *const everything[] = {"*"},
                         *const open_tables[] = {"open"};

#define MAY(operation) (1u << KW_MAY_##operation)
static const kw_model_role roles[] = {
    {.who = who_shops,
     .who_count = 1,
     .tables = orders,
     .tables_count = 2,
     .operations = MAY(READ) | MAY(ATOMIC)},
    {.who = who_shops, .who_count = 1, .tables = everything, .tables_count = 1, .operations = MAY(WRITE)},
    {.who = who_all, .who_count = 1, .operations = MAY(VIEW)},
    {.who = who_nameless, .who_count = 1, .tables = open_tables, .tables_count = 1, .operations = MAY(READ)},
};

static kw_model_access
access_of(size_t roles_count)
{
    return (kw_model_access){.enabled = true,
                             .groups = groups,
                             .groups_count = G_N_ELEMENTS(groups),
                             .roles = roles,
                             .roles_count = roles_count};
}

typedef struct caller {
    const kw_access_rules *rules;
    const kw_principal *principal;
    kw_grants *grants;
    kw_error error;
} caller;

static bool
may(caller *self, kw_operation operation, const char *table)
{
    return kw_access_check(self->rules, self->principal, &self->grants, operation, kw_bytes_of_text(table),
                           &self->error);
}

KW_TEST(test_roles, "/access/rules/roles")
{
    kw_model_access access = access_of(G_N_ELEMENTS(roles));
    kw_access_rules *rules = kw_access_rules_new(&access);
    g_autoptr(kw_principal) principal = kw_principal_new(KW_PRINCIPAL_CERTIFICATE);
    kw_principal_add(principal, "cn=other");
    kw_principal_add(principal, "cn=shop-7");
    caller shop = {.rules = rules, .principal = principal};
    g_assert_true(may(&shop, KW_OPERATION_READ, "orders"));
    g_assert_true(may(&shop, KW_OPERATION_READ, "order_a_b_x"));
    g_assert_true(may(&shop, KW_OPERATION_READ, "order__xyz"));
    g_assert_false(may(&shop, KW_OPERATION_READ, "order_x"));
    g_assert_cmpint(shop.error.code, ==, KW_DENIED);
    g_assert_cmpstr(shop.error.text, ==, "no role allows cn=other to read the table order_x");
    g_assert_false(may(&shop, KW_OPERATION_READ, "order"));
    g_assert_false(may(&shop, KW_OPERATION_READ, "orders2"));
    g_assert_false(may(&shop, KW_OPERATION_READ, ""));
    g_assert_true(may(&shop, KW_OPERATION_WRITE, "anything"));
    g_assert_true(may(&shop, KW_OPERATION_ATOMIC, "orders"));
    g_assert_false(may(&shop, KW_OPERATION_ATOMIC, "anything"));
    g_assert_false(may(&shop, KW_OPERATION_REMOVE, "orders"));
    g_assert_true(may(&shop, KW_OPERATION_DESCRIBE, "anything"));
    g_assert_true(may(&shop, KW_OPERATION_VIEW, ""));
    g_assert_false(may(&shop, KW_OPERATION_OPERATE, ""));
    g_assert_cmpstr(shop.error.text, ==, "no role allows cn=other to operate the gateway");
    kw_grants_free(shop.grants);
    kw_access_rules_free(rules);
}

KW_TEST(test_anonymous, "/access/rules/anonymous")
{
    kw_model_access access = access_of(G_N_ELEMENTS(roles));
    kw_access_rules *rules = kw_access_rules_new(&access);
    caller nobody = {.rules = rules, .principal = &kw_principal_anonymous};
    g_assert_true(may(&nobody, KW_OPERATION_READ, "open"));
    g_assert_false(may(&nobody, KW_OPERATION_READ, "orders"));
    g_assert_false(may(&nobody, KW_OPERATION_VIEW, ""));
    g_assert_false(may(&nobody, KW_OPERATION_DESCRIBE, "orders"));
    g_assert_true(may(&nobody, KW_OPERATION_LIST, ""));
    kw_grants_free(nobody.grants);
    kw_access_rules_free(rules);
}

/* Grants are found out again under other rules, and the number of tables that they keep is bounded. */
KW_TEST(test_other_rules, "/access/rules/others")
{
    kw_model_access before = access_of(1), after = access_of(2), none = {.enabled = false};
    kw_access_rules *first = kw_access_rules_new(&before), *second = kw_access_rules_new(&after);
    g_autoptr(kw_principal) principal = kw_principal_new(KW_PRINCIPAL_UNIX);
    kw_principal_add(principal, "unix:1000");
    caller user = {.rules = first, .principal = principal};
    g_assert_null(kw_access_rules_new(&none));
    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *table = g_strdup_printf("t%u", i);
        user.rules = first;
        g_assert_false(may(&user, KW_OPERATION_WRITE, table));
        g_assert_false(may(&user, KW_OPERATION_WRITE, table));
    }
    user.rules = second;
    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *table = g_strdup_printf("t%u", i);
        g_assert_true(may(&user, KW_OPERATION_WRITE, table));
        g_assert_false(may(&user, KW_OPERATION_READ, table));
    }
    g_autofree char *long_name = g_strnfill(100000, 't');
    g_assert_false(may(&user, KW_OPERATION_READ, long_name));
    g_assert_cmpstr(user.error.text, ==, "no role allows unix:1000 to read the table");
    g_assert_false(may(&user, KW_OPERATION_WRITE, long_name)); /* no table has such a name */
    g_assert_false(may(&user, KW_OPERATION_DESCRIBE, long_name));
    g_assert_true(may(&user, KW_OPERATION_WRITE, long_name + 100000 - 128));
    g_assert_false(may(&user, KW_OPERATION_WRITE, long_name + 100000 - 129));
    user.rules = NULL;
    g_assert_true(may(&user, KW_OPERATION_OPERATE, ""));
    kw_grants_free(user.grants);
    kw_access_rules_free(first);
    kw_access_rules_free(second);
}

/* Roles are found whatever their number is. */
KW_TEST(test_many_roles, "/access/rules/many")
{
    static const size_t at[] = {0, 63, 64, 199};
    for (size_t i = 0; i < G_N_ELEMENTS(at); i++) {
        kw_model_role many[200] = {0};
        kw_model_access access = access_of(G_N_ELEMENTS(many));
        access.roles = many;
        for (size_t j = 0; j < G_N_ELEMENTS(many); j++)
            many[j] = roles[3]; /* of others */
        many[at[i]] = roles[0];
        kw_access_rules *rules = kw_access_rules_new(&access);
        g_autoptr(kw_principal) principal = kw_principal_new(KW_PRINCIPAL_UNIX);
        kw_principal_add(principal, "unix:1000");
        caller user = {.rules = rules, .principal = principal};
        g_assert_true(may(&user, KW_OPERATION_READ, "orders"));
        g_assert_true(may(&user, KW_OPERATION_DESCRIBE, "orders"));
        g_assert_false(may(&user, KW_OPERATION_DESCRIBE, "open"));
        kw_grants_free(user.grants);
        kw_access_rules_free(rules);
    }
}

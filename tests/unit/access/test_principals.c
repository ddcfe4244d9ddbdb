#include "access/principal.h"

#include "tests/support/unit.h"

#include <glib.h>
#include <string.h>

KW_TEST(test_names, "/access/principals/names")
{
    g_autoptr(kw_principal) certificate = kw_principal_new(KW_PRINCIPAL_CERTIFICATE);
    g_assert_cmpstr(kw_principal_name(&kw_principal_anonymous), ==, "");
    g_assert_true(kw_principal_add(certificate, "cn=shop-1"));
    g_assert_true(kw_principal_add(certificate, "san=shop.example"));
    g_assert_cmpstr(kw_principal_name(certificate), ==, "cn=shop-1");
    g_assert_cmpuint(certificate->count, ==, 2);
}

KW_TEST(test_no_names, "/access/principals/no-names")
{
    g_autoptr(kw_principal) unix_peer = kw_principal_new(KW_PRINCIPAL_UNIX);
    g_autofree char *longest = g_strnfill(KW_PRINCIPAL_NAME_MAX, 'x');
    g_autofree char *longer = g_strnfill(KW_PRINCIPAL_NAME_MAX + 1, 'x');
    g_assert_false(kw_principal_add(unix_peer, ""));
    g_assert_false(kw_principal_add(unix_peer, "unix:a\nb"));
    g_assert_false(kw_principal_add(unix_peer, "unix:\xff"));
    g_assert_false(kw_principal_add(unix_peer, longer));
    for (unsigned i = 0; i < KW_PRINCIPAL_NAMES_MAX; i++)
        g_assert_true(kw_principal_add(unix_peer, longest));
    g_assert_false(kw_principal_add(unix_peer, "unix:root"));
}

/* A user who has logged in cannot take a name of another kind. */
KW_TEST(test_users, "/access/principals/users")
{
    g_autoptr(kw_principal) user = kw_principal_new(KW_PRINCIPAL_USER);
    g_assert_false(kw_principal_add(user, "unix:root"));
    g_assert_false(kw_principal_add(user, "cn=shop-1"));
    g_assert_cmpstr(kw_principal_name(user), ==, "");
    g_assert_true(kw_principal_add(user, "alice@EXAMPLE"));
    g_assert_cmpstr(kw_principal_name(user), ==, "alice@EXAMPLE");
}

/* Versions of a policy that the catalog keeps: applied, listed, and in conflict. */
#include "town.h"

#include <string.h>

static void
draft_init(kw_version_draft *draft, const char *text)
{
    kw_version_draft_init(draft);
    draft->text = kw_bytes_of_text(text);
    draft->author = "CN=ann";
    draft->reason = "why not";
    draft->at_ms = 1234;
}

/* Checks, and commits as the version after `current`. */
static kw_code
apply(gateway *self, kw_policy *policy, int64_t current, const char *text)
{
    kw_version_draft draft;
    draft_init(&draft, text);
    kw_code code = gateway_check(self, policy);
    if (code != KW_OK)
        return code;
    kw_admission_set_version(self->admission, current, &draft);
    return gateway_commit(self);
}

/* --- reading --------------------------------------------------------------------------------------- */

static kw_version_name current;

static void
on_current(void *user, const kw_version_name *name, const kw_error *error)
{
    current = name ? *name : (kw_version_name){0};
    gateway_ended(user, error);
}

static int64_t
current_of(gateway *self)
{
    self->done = false;
    kw_catalog_read_current(self->catalog, KW_DEADLINE_NONE, on_current, self);
    gateway_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    return current.number;
}

static char *listed;

static void
on_listed(void *user, const kw_version *versions, size_t count, const kw_error *error)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < count; i++) {
        g_assert_cmpuint(versions[i].text.size, ==, 0);
        g_string_append_printf(text, "%" G_GINT64_FORMAT ":%s:%s:%" G_GINT64_FORMAT " ",
                               versions[i].name.number, versions[i].author, versions[i].reason,
                               versions[i].at_ms);
    }
    g_free(listed);
    listed = g_string_free(text, FALSE);
    gateway_ended(user, error);
}

static const char *
history(gateway *self, int64_t before, size_t limit)
{
    self->done = false;
    kw_catalog_read_history(self->catalog, before, limit, KW_DEADLINE_NONE, on_listed, self);
    gateway_wait(self);
    return self->error.code == KW_OK ? listed : self->error.text;
}

static char *found_text;

static void
on_found(void *user, const kw_version *version, const kw_error *error)
{
    g_free(found_text);
    found_text = version ? g_strndup((const char *)version->text.data, version->text.size) : NULL;
    gateway_ended(user, error);
}

/* The text of the current version. */
static const char *
current_text(gateway *self)
{
    current_of(self);
    self->done = false;
    kw_catalog_read_version(self->catalog, &current, KW_DEADLINE_NONE, on_found, self);
    gateway_wait(self);
    return found_text;
}

/* --- tests ----------------------------------------------------------------------------------------- */

KW_TEST(test_first, "/catalog/versions/first")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) policy = test_policy(BASE);
    g_assert_cmpint(current_of(a), ==, 0); /* there is no catalog yet */
    g_assert_cmpstr(history(a, 0, 10), ==, "");
    g_assert_cmpint(apply(a, policy, 0, "one"), ==, KW_OK);
    g_assert_cmpint(current_of(a), ==, 1);
    g_assert_cmpstr(current_text(a), ==, "one");
    g_assert_cmpstr(history(a, 0, 10), ==, "1:CN=ann:why not:1234 ");
    town_assert_facts(in, "\"store_table\":\"t\",\"state\":\"complete\"", true);
    gateway_stop(a);
    town_free(in);
}

KW_TEST(test_history, "/catalog/versions/history")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    for (int64_t i = 0; i < 5; i++)
        g_assert_cmpint(apply(a, i % 2 ? more : base, i, i % 2 ? "more" : "base"), ==, KW_OK);
    g_assert_true(g_str_has_prefix(history(a, 0, 2), "5:CN=ann:why not:1234 4:"));
    g_assert_cmpuint(strlen(history(a, 0, 2)), ==, 2 * strlen("5:CN=ann:why not:1234 "));
    g_assert_true(g_str_has_prefix(history(a, 5, 2), "4:CN=ann:why not:1234 3:"));
    g_assert_true(g_str_has_prefix(history(a, 2, 1000), "1:"));
    g_assert_cmpstr(history(a, 1, 1000), ==, "");
    g_assert_true(g_str_has_prefix(history(a, 1000, 1), "5:"));
    g_assert_cmpstr(current_text(a), ==, "base");
    gateway_stop(a);
    town_free(in);
}

KW_TEST(test_other_version, "/catalog/versions/other version")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    g_autofree char *before = town_facts(in, "t");
    g_assert_cmpint(apply(a, more, 0, "two"), ==, KW_REFUSED);
    gateway_assert_text(a, "policy version 1 is current now, not 0");
    g_assert_cmpint(apply(a, more, 2, "two"), ==, KW_REFUSED);
    g_autofree char *after = town_facts(in, "t");
    g_assert_cmpstr(before, ==, after);
    g_assert_cmpstr(current_text(a), ==, "one");
    gateway_stop(a);
    town_free(in);
}

/* A gateway that is about to serve an old version must not write its facts after a newer version is current.
 */
KW_TEST(test_old_version_is_not_admitted, "/catalog/versions/an old version is not admitted")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    g_assert_cmpint(apply(a, more, 1, "two"), ==, KW_OK);
    g_autofree char *before = town_facts(in, "t");
    g_assert_cmpint(gateway_check(b, base), ==, KW_OK);
    kw_admission_set_version(b->admission, 1, NULL);
    g_assert_cmpint(gateway_commit(b), ==, KW_REFUSED);
    g_autofree char *after = town_facts(in, "t");
    g_assert_cmpstr(before, ==, after);
    g_assert_cmpint(gateway_check(b, more), ==, KW_OK);
    kw_admission_set_version(b->admission, 2, NULL);
    g_assert_cmpint(gateway_commit(b), ==, KW_OK);
    g_assert_cmpint(current_of(b), ==, 2);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

KW_TEST(test_two_at_once, "/catalog/versions/two at once")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    kw_version_draft drafts[2];
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    g_assert_cmpint(gateway_check(a, more), ==, KW_OK);
    g_assert_cmpint(gateway_check(b, base), ==, KW_OK);
    draft_init(&drafts[0], "two of a");
    draft_init(&drafts[1], "two of b");
    kw_admission_set_version(a->admission, 1, &drafts[0]);
    kw_admission_set_version(b->admission, 1, &drafts[1]);
    g_assert_cmpint(gateway_commit(b), ==, KW_OK);
    g_assert_cmpint(gateway_commit(a), ==, KW_BUSY); /* the text of a is an orphan now */
    g_assert_cmpint(current_of(a), ==, 2);
    g_assert_cmpstr(current_text(a), ==, "two of b");
    g_assert_cmpint(apply(a, more, 1, "two of a"), ==, KW_REFUSED);
    g_assert_cmpint(apply(a, more, 2, "three"), ==, KW_OK);
    g_assert_cmpstr(current_text(b), ==, "three");
    g_assert_cmpuint(strlen(history(a, 0, 10)), ==, 3 * strlen("1:CN=ann:why not:1234 "));
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

/* The text of an apply that never ended is not listed, neither before nor after another text was applied as
 * the version of that number. */
KW_TEST(test_orphan, "/catalog/versions/a text without a version")
{
    static const char row[] = KW_CATALOG_POLICY_PREFIX "0000000000000002/00000000000000000000000000000000";
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    g_assert_cmpint(current_of(a), ==, 1);
    const char *cells[][2] = {
        {"text", "orphan"}, {"author", "x"}, {"reason", "x"}, {"at", "1"}, {"previous", current.id}};
    for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
        kw_memory_store_set(in->store, CATALOG, KW_BYTES_LITERAL(row), "d", cells[i][0],
                            kw_bytes_of_text(cells[i][1]), 1);
    g_assert_cmpstr(history(a, 0, 10), ==, "1:CN=ann:why not:1234 ");
    g_assert_cmpint(apply(a, more, 1, "two"), ==, KW_OK);
    g_assert_cmpstr(history(a, 0, 1), ==, "2:CN=ann:why not:1234 ");
    g_assert_cmpint(apply(a, base, 2, "three"), ==, KW_OK);
    g_assert_true(g_str_has_prefix(history(a, 3, 1), "2:CN=ann"));
    g_assert_cmpstr(current_text(a), ==, "three");
    gateway_stop(a);
    town_free(in);
}

static void
add_foreign_row(town *in, const char *key, const char *previous)
{
    const char *cells[][2] = {{"author", "x"}, {"reason", "x"}, {"at", "1"}, {"previous", previous}};
    for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
        kw_memory_store_set(in->store, CATALOG, kw_bytes_of_text(key), "d", cells[i][0],
                            kw_bytes_of_text(cells[i][1]), 1);
}

/* Rows whose keys Keyway does not write are not listed and do not hide versions. */
KW_TEST(test_foreign_rows, "/catalog/versions/foreign rows")
{
    static const char *const keys[] = {"",
                                       "/",
                                       "/0123456789abcdef",
                                       "/0123456789ABCDEF0123456789abcdef",
                                       "/0123456789abcdef0123456789abcdef0",
                                       "x/0123456789abcdef0123456789abcdef"};
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    g_assert_cmpint(apply(a, more, 1, "two"), ==, KW_OK);
    g_autofree char *own = g_strdup(history(a, 0, 10));
    for (int number = 1; number <= 2; number++)
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
            g_autofree char *key = g_strdup_printf(KW_CATALOG_POLICY_PREFIX "%016x%s", number, keys[i]);
            add_foreign_row(in, key, "0123456789abcdef0123456789abcdef");
        }
    g_assert_cmpstr(history(a, 0, 10), ==, own);
    g_assert_cmpint(current_of(a), ==, 2);
    gateway_stop(a);
    town_free(in);
}

/* The row of version 2 is missing, so the row of version 1 is unknown: a row without an ID is not returned in
 * its place. */
KW_TEST(test_lost_row, "/catalog/versions/a lost row")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    kw_memory_store_set(in->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", "policy",
                        KW_BYTES_LITERAL("3 0123456789abcdef0123456789abcdef"), KW_PLAUSIBLE_MAX_MS - 50);
    add_foreign_row(in, KW_CATALOG_POLICY_PREFIX "0000000000000001/", "");
    g_assert_nonnull(strstr(history(a, 2, 1), "the row of policy version 1 is missing"));
    g_assert_cmpint(a->error.code, ==, KW_CORRUPT);
    gateway_stop(a);
    town_free(in);
}

/* A gateway that has its policy from a file leaves the version as it is. */
KW_TEST(test_file_beside_versions, "/catalog/versions/a file beside versions")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) base = test_policy(BASE), more = test_policy(MORE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    g_assert_cmpint(gateway_admit(b, more), ==, KW_OK);
    g_assert_cmpint(current_of(b), ==, 1);
    gateway_stop(a);
    gateway_stop(b);
    town_free(in);
}

KW_TEST(test_damaged, "/catalog/versions/damaged")
{
    static const char *const cells[] = {"x",
                                        "1",
                                        "0 0123456789abcdef0123456789abcdef",
                                        "1 0123456789abcdef",
                                        "-1 0123456789abcdef0123456789abcdef",
                                        "1 0123456789ABCDEF0123456789abcdef",
                                        "1 0123456789abcdef0123456789abcdef "};
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
        kw_memory_store_set(in->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", "policy",
                            kw_bytes_of_text(cells[i]), KW_PLAUSIBLE_MAX_MS - 100 + (int64_t)i);
        g_assert_cmpint(gateway_check(a, base), ==, KW_CORRUPT);
        gateway_assert_text(a, "current policy version cannot be read");
    }
    kw_memory_store_set(in->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", "policy",
                        KW_BYTES_LITERAL("7 0123456789abcdef0123456789abcdef"), KW_PLAUSIBLE_MAX_MS - 50);
    g_assert_null(current_text(a));
    g_assert_cmpint(a->error.code, ==, KW_CORRUPT);
    gateway_assert_text(a, "the row of policy version 7 is missing");
    g_assert_nonnull(strstr(history(a, 0, 10), "is missing"));
    gateway_stop(a);
    town_free(in);
}

/* --- previews -------------------------------------------------------------------------------------- */

static void
on_preview(void *user, kw_admission *admission, const kw_error *error)
{
    ((gateway *)user)->admission = admission;
    gateway_ended(user, error);
}

static const kw_admission *
preview(gateway *self, kw_policy *policy)
{
    self->done = false;
    kw_catalog_preview(self->catalog, policy, NULL, KW_DEADLINE_NONE, on_preview, self);
    gateway_wait(self);
    g_assert_cmpint(self->error.code, ==, KW_OK);
    return self->admission;
}

static void
end_preview(gateway *self)
{
    kw_admission_abandon(g_steal_pointer(&self->admission));
}

KW_TEST(test_preview, "/catalog/versions/preview")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true);
    g_autoptr(kw_policy) base = test_policy(BASE), other = test_policy(STRING_N),
                         paths = test_policy(BASE BY_TS);
    const kw_admission *found = preview(a, base);
    g_assert_null(kw_admission_refusal(found, 0));
    g_assert_null(kw_admission_recorded_name(found, 0));
    g_assert_cmpint(kw_admission_version(found)->number, ==, 0);
    end_preview(a);
    g_assert_cmpuint(kw_memory_store_rows(in->store, CATALOG), ==, 0);
    g_assert_cmpint(apply(a, base, 0, "one"), ==, KW_OK);
    town_put(in, "t", "row");
    found = preview(a, other);
    g_assert_nonnull(strstr(kw_admission_refusal(found, 0)->text, "its values were stored as int"));
    g_assert_cmpstr(kw_admission_recorded_name(found, 0), ==, "t");
    g_assert_cmpint(kw_admission_version(found)->number, ==, 1);
    end_preview(a);
    found = preview(a, paths);
    g_assert_nonnull(strstr(kw_admission_refusal(found, 0)->text, "path by_ts"));
    end_preview(a);
    g_assert_true(gateway_is_open(a));
    g_assert_cmpuint(town_registrations(in), ==, 1);
    gateway_stop(a);
    town_free(in);
}

/* A change of an empty table is not refused by its rows, but by the other gateway. */
KW_TEST(test_preview_with_others, "/catalog/versions/preview with other gateways")
{
    town *in = town_new();
    gateway *a = gateway_new(in, "a", true), *b = gateway_new(in, "b", true);
    g_autoptr(kw_policy) base = test_policy(BASE), paths = test_policy(BASE BY_TS);
    g_assert_cmpint(gateway_admit(a, base), ==, KW_OK);
    const kw_admission *found = preview(a, paths);
    g_assert_null(kw_admission_refusal(found, 0));
    g_assert_null(kw_admission_conflict(found));
    end_preview(a);
    g_assert_cmpint(gateway_admit(b, base), ==, KW_OK);
    found = preview(a, paths);
    g_assert_null(kw_admission_refusal(found, 0));
    g_assert_nonnull(strstr(kw_admission_conflict(found)->text, "the gateway b serves the table"));
    end_preview(a);
    gateway_stop(b);
    gateway_stop(a);
    town_free(in);
}

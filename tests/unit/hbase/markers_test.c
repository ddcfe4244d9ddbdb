/* The families of created tables keep delete markers and have in-memory compaction: which configuration
 * createTable sends. */
#include "fixture.h"

#include "store/check.h"
#include "store/hbase/thrift2/convert.h"

#include <string.h>

#define LATE_MS 1000
#define LEAST_MS (2 * LATE_MS + 7200000)

/* What createTable sent of a family: "name=value ...", sorted as sent; attributes begin with a dot. */
typedef struct sent {
    GMutex lock;
    GString *text;
} sent;

static void
note_sent(const fake_call *call, fake_answer *to, void *user)
{
    sent *noted = user;
    (void)to;
    if (call->method != KW_HB_THBaseService_createTable)
        return;
    const kw_hb_THBaseService_createTable_args *args = call->args;
    const kw_hb_TColumnFamilyDescriptor *family = &args->desc->columns.items[0];
    g_mutex_lock(&noted->lock);
    g_assert_cmpuint(args->desc->columns.count, ==, 1);
    for (uint32_t i = 0; i < family->configuration.count; i++)
        g_string_append_printf(noted->text, "%s%s=%s", noted->text->len ? " " : "",
                               kw_show(family->configuration.items[i].key).text,
                               kw_show(family->configuration.items[i].value).text);
    for (uint32_t i = 0; i < family->attributes.count; i++)
        g_string_append_printf(noted->text, "%s.%s=%s", noted->text->len ? " " : "",
                               kw_show(family->attributes.items[i].key).text,
                               kw_show(family->attributes.items[i].value).text);
    g_mutex_unlock(&noted->lock);
}

static void
on_created(void *user, bool created, const kw_error *error)
{
    g_assert_true(created);
    g_assert_null(error);
    *(bool *)user = true;
}

static void
expect_sent(kw_wire_form form, const kw_family_spec *family, const char *text)
{
    fixture on;
    sent noted = {.text = g_string_new(NULL)};
    bool done = false;
    kw_model_hbase settings = fixture_init(&on, 1, form);
    settings.late_ms = LATE_MS;
    thrift2_fake_set_script(on.fakes[0], note_sent, &noted);
    fixture_open_quiet(&on, &settings);
    kw_table_spec spec = {.name = KW_BYTES_LITERAL("t"),
                          .families = family,
                          .families_count = 1,
                          .deadline = kw_deadline_in_ms(60000)};
    kw_store_handle_create_table(on.bed.handle, &spec, on_created, &done);
    bed_await(&on.bed, &done);
    g_mutex_lock(&noted.lock);
    g_assert_cmpstr(noted.text->str, ==, text);
    g_mutex_unlock(&noted.lock);
    fixture_stop(&on);
    g_string_free(noted.text, TRUE);
}

#define NAME KW_HBASE_MARKERS_SETTING
#define MEMORY KW_HBASE_IN_MEMORY_SETTING
#define ATTRIBUTE KW_HBASE_IN_MEMORY_ATTRIBUTE

KW_TEST(test_created, "/hbase/markers/created")
{
    kw_family_spec family = {.name = "f"};
    for (size_t form = 0; form < G_N_ELEMENTS(fixture_forms); form++) {
        family.markers_ms = 0;
        expect_sent(fixture_forms[form], &family, MEMORY "=BASIC " NAME "=7202000");
        family.markers_ms = LEAST_MS - 1;
        expect_sent(fixture_forms[form], &family, MEMORY "=BASIC " NAME "=7202000");
        family.markers_ms = LEAST_MS + 1;
        expect_sent(fixture_forms[form], &family, MEMORY "=BASIC " NAME "=7202001");
    }
}

/* Settings that were copied from another table: Keyway's replaces those with its name. */
KW_TEST(test_copied, "/hbase/markers/copied")
{
    static const kw_family_setting settings[] = {{KW_BYTES_LITERAL(NAME), KW_BYTES_LITERAL("5"), false},
                                                 {KW_BYTES_LITERAL("x"), KW_BYTES_LITERAL("1"), true},
                                                 {KW_BYTES_LITERAL(NAME), KW_BYTES_LITERAL("8000000"), true},
                                                 {KW_BYTES_LITERAL("Y"), KW_BYTES_LITERAL("2"), false}};
    kw_family_spec family = {.name = "f", .settings = settings, .settings_count = G_N_ELEMENTS(settings)};
    expect_sent(BUFFERED_BINARY, &family, "x=1 " MEMORY "=BASIC " NAME "=7202000 .Y=2");
    expect_sent(FRAMED_COMPACT, &family, "x=1 " MEMORY "=BASIC " NAME "=7202000");
    family.markers_ms = 8000000;
    expect_sent(BUFFERED_BINARY, &family, "x=1 " MEMORY "=BASIC " NAME "=8000000 .Y=2");
}

/* A setting for in-memory compaction that was copied from another table stays, as configuration. An attribute
 * overrides the configuration. */
KW_TEST(test_in_memory, "/hbase/markers/in-memory")
{
    static const kw_family_setting settings[] = {
        {KW_BYTES_LITERAL(ATTRIBUTE), KW_BYTES_LITERAL("NONE"), false},
        {KW_BYTES_LITERAL(MEMORY), KW_BYTES_LITERAL("ADAPTIVE"), false},
        {KW_BYTES_LITERAL(MEMORY), KW_BYTES_LITERAL("EAGER"), true},
        {KW_BYTES_LITERAL(ATTRIBUTE), KW_BYTES_LITERAL("5"), true}};
    static const char *const expected[] = {MEMORY "=NONE ", MEMORY "=ADAPTIVE ", MEMORY "=EAGER ",
                                           MEMORY "=BASIC "};
    for (size_t i = 0; i < 4; i++) {
        kw_family_spec family = {.name = "f", .settings = settings + i, .settings_count = 4 - i};
        g_autofree char *text =
            g_strconcat(ATTRIBUTE "=5 ", expected[i], NAME "=7202000", NULL); /* not a setting of HBase */
        expect_sent(BUFFERED_BINARY, &family, text);
        expect_sent(FRAMED_COMPACT, &family, text);
        g_assert_cmpuint(kw_hbase_in_memory_compaction(&family).size > 0, ==, i < 3);
    }
}

KW_TEST(test_described, "/hbase/markers/described")
{
    static const struct {
        const char *configuration, *attribute;
        int64_t markers_ms;
    } cases[] = {
        {NULL, NULL, 0},
        {"123", NULL, 123},
        {NULL, "456", 456},
        {"1", "2", 2},
        {"2", "1", 1},
        {"9223372036854775807", NULL, INT64_MAX},
        {"-5", NULL, 0},
        {"1h", NULL, 0},
        {"", NULL, 0},
        {"99999999999999999999", NULL, 0},
        {"999999999999999999999", NULL, 0},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        kw_family_setting settings[3] = {{KW_BYTES_LITERAL("other"), KW_BYTES_LITERAL("7"), true}};
        size_t count = 1;
        kw_bytes name = KW_BYTES_LITERAL(NAME);
        if (cases[i].attribute)
            settings[count++] = (kw_family_setting){name, kw_bytes_of_text(cases[i].attribute), false};
        if (cases[i].configuration)
            settings[count++] = (kw_family_setting){name, kw_bytes_of_text(cases[i].configuration), true};
        g_assert_cmpint(kw_hbase_to_markers_ms(settings, count), ==, cases[i].markers_ms);
    }
}

/* Every error code is converted to the Thrift code with the same name. */
#include "service/errors.h"

#include "service/exchange.h"
#include "service/show.h"
#include "unit/service/fixture.h"

#include <glib.h>

KW_TEST(test_codes, "/service/errors/codes")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    static const int32_t wire[] = {
        [KW_INVALID] = KW_API_Code_INVALID, [KW_NOT_FOUND] = KW_API_Code_NOT_FOUND,
        [KW_DENIED] = KW_API_Code_DENIED,   [KW_LIMIT] = KW_API_Code_LIMIT,
        [KW_BUSY] = KW_API_Code_BUSY,       [KW_TIMEOUT] = KW_API_Code_TIMEOUT,
        [KW_REFUSED] = KW_API_Code_REFUSED, [KW_UNAVAILABLE] = KW_API_Code_UNAVAILABLE,
        [KW_CORRUPT] = KW_API_Code_CORRUPT, [KW_INTERNAL] = KW_API_Code_INTERNAL,
    };
    for (int code = KW_INVALID; code <= KW_INTERNAL; code++) {
        kw_error error = {.code = (kw_code)code, .text = "what"};
        g_assert_cmpint(kw_errors_exception(&error, "r", arena)->code, ==, wire[code]);
        g_assert_cmpint(kw_errors_failure(&error, arena)->code, ==, wire[code]);
    }
    kw_error none = KW_ERROR_NONE;
    g_assert_cmpint(kw_errors_exception(&none, "r", arena)->code, ==, KW_API_Code_INTERNAL);
}

KW_TEST(test_error_texts, "/service/errors/texts")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = {.code = KW_BUSY, .retry_after_ms = 250, .maybe_applied = true, .text = "later"};
    const kw_api_KeywayError *exception = kw_errors_exception(&error, "r-1", arena);
    g_assert_true(kw_bytes_equal(exception->message, KW_BYTES_LITERAL("later")));
    g_assert_true(kw_bytes_equal(exception->request_id, KW_BYTES_LITERAL("r-1")));
    g_assert_true(exception->has_retry_after_ms && exception->has_maybe_applied && exception->has_request_id);
    g_assert_cmpint(exception->retry_after_ms, ==, 250);
    error = (kw_error){.code = KW_INVALID, .retry_after_ms = 0, .text = "no"};
    const kw_api_Failure *failure = kw_errors_failure(&error, arena);
    g_assert_false(failure->has_retry_after_ms || failure->has_maybe_applied);
    error.retry_after_ms = UINT32_MAX;
    g_assert_cmpint(kw_errors_failure(&error, arena)->retry_after_ms, ==, INT32_MAX);
}

/* A message that quotes something from outside cannot control a terminal, and is valid UTF-8. */
KW_TEST(test_quoted_texts, "/service/errors/quoted-texts")
{
    g_autoptr(kw_arena) arena = kw_arena_new();
    kw_error error = {.code = KW_INVALID, .text = "no row \x1b]0;x\a\r\n\xff \xc2\x9b \xc5\x81"};
    kw_bytes expected = KW_BYTES_LITERAL("no row \\x1b]0;x\\x07\\x0d\\x0a\\xff \\xc2\\x9b \xc5\x81");
    g_assert_true(kw_bytes_equal(kw_errors_exception(&error, NULL, arena)->message, expected));
    g_assert_true(kw_bytes_equal(kw_errors_failure(&error, arena)->message, expected));
}

KW_TEST(test_options, "/service/errors/options")
{
    service_fixture *fix = service_fixture_new();
    kw_write_options how = {.durability = KW_DURABILITY_FSYNC_WAL, .has_timestamp = true};
    kw_error error = KW_ERROR_NONE;
    g_assert_true(kw_exchange_read_options(&fix->exchange, NULL, &how, &error));
    g_assert_true(how.durability == KW_DURABILITY_DEFAULT && !how.has_timestamp);
    kw_api_Options given = {.has_deadline_ms = true,
                            .deadline_ms = 500,
                            .has_durability = true,
                            .durability = KW_API_Durability_SYNC_WAL,
                            .has_timestamp = true,
                            .timestamp = 12};
    g_assert_true(kw_exchange_read_options(&fix->exchange, &given, &how, &error));
    g_assert_cmpint(how.durability, ==, KW_DURABILITY_SYNC_WAL);
    g_assert_cmpint(how.timestamp, ==, 12);
    g_assert_cmpint(kw_deadline_left_ms(fix->exchange.call.deadline), <=, 500);
    given.durability = 5;
    g_assert_false(kw_exchange_read_options(&fix->exchange, &given, &how, &error));
    g_assert_nonnull(strstr(error.text, "durability 5"));
    given.durability = 1;
    given.timestamp = -1;
    g_assert_false(kw_exchange_read_options(&fix->exchange, &given, &how, &error));
    g_assert_nonnull(strstr(error.text, "timestamp -1"));
    given.timestamp = 1;
    given.deadline_ms = 0;
    g_assert_false(kw_exchange_read_options(&fix->exchange, &given, &how, &error));
    g_assert_nonnull(strstr(error.text, "deadline_ms"));
    service_fixture_free(fix);
}

KW_TEST(test_shown_names, "/service/errors/shown-names")
{
    char shown[KW_SHOWN_MAX];
    g_assert_cmpstr(kw_show_name(KW_BYTES_LITERAL("plain"), shown), ==, "\"plain\"");
    kw_show_name(kw_bytes_of("a\0\xff\n", 4), shown);
    g_assert_true(g_utf8_validate(shown, -1, NULL));
    g_assert_null(strchr(shown, '\n'));
    for (size_t start = 0; start < 4;
         start++) { /* cut at every byte of a three-byte character, and invalid UTF-8 */
        char lot[1000] = "";
        for (size_t i = start; i + 3 < sizeof lot; i += 3)
            memcpy(lot + i, "\u20ac", 3);
        memset(lot, 'x', start == 3 ? 0 : start);
        kw_show_name(kw_bytes_of(lot, 900 + start), shown);
        g_assert_cmpuint(strlen(shown), <, KW_SHOWN_MAX);
        g_assert_true(g_utf8_validate(shown, -1, NULL));
    }
}

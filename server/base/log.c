#include "base/log.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log_writer.h"
#include "base/utf8.h"

#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static _Atomic int least_level = KW_LOG_INFO;
static _Atomic bool as_json;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void
kw_log_configure(kw_log_level least, bool json)
{
    atomic_store(&least_level, (int)least);
    atomic_store(&as_json, json);
}

bool
kw_log_enabled(kw_log_level level)
{
    return (int)level >= atomic_load_explicit(&least_level, memory_order_relaxed);
}

static void
format_time(char *to, size_t size)
{
    int64_t now_ms = kw_clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t length = strftime(to, size, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(to + length, size - length, ".%03dZ", (int)(now_ms % 1000));
}

/* --- values -------------------------------------------------------------------------------------- */

/* Quotes a text as a JSON string, which logfmt uses, too. Control characters are escaped, so that a value
 * from outside stays on its line. A byte that is not valid UTF-8 becomes the text \xNN. */
static void
append_quoted(kw_buffer *line, kw_bytes text)
{
    uint32_t c;
    size_t size;
    kw_buffer_append_byte(line, '"');
    for (; text.size; text = kw_bytes_skip(text, size)) {
        if (!kw_utf8_next(text, &c, &size)) {
            kw_buffer_printf(line, "\\\\x%02x", text.data[0]);
        } else if (kw_utf8_is_control(c)) {
            kw_buffer_printf(line, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\')
                kw_buffer_append_byte(line, '\\');
            kw_buffer_append(line, kw_bytes_of(text.data, size));
        }
    }
    kw_buffer_append_byte(line, '"');
}

/* True if logfmt needs no quotes around the text. */
static bool
is_plain(kw_bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f || strchr("\"=\\", text.data[i]))
            return false;
    return text.size > 0;
}

static void
append_value(kw_buffer *line, const kw_log_fact *fact, bool json)
{
    if (fact->is_number)
        kw_buffer_printf(line, "%s%" G_GUINT64_FORMAT, fact->is_negative ? "-" : "",
                         (guint64)fact->magnitude);
    else if (!json && is_plain(fact->text))
        kw_buffer_append(line, fact->text);
    else
        append_quoted(line, fact->text);
}

/* --- lines --------------------------------------------------------------------------------------- */

static void
append_fact(kw_buffer *line, kw_log_fact fact, bool json)
{
    kw_buffer_printf(line, json ? ",\"%s\":" : " %s=", fact.key);
    append_value(line, &fact, json);
}

static void
append_line(kw_buffer *line, kw_log_level level, const char *module, const char *event,
            const kw_log_fact *facts)
{
    char time_text[40];
    format_time(time_text, sizeof time_text);
    bool json = atomic_load(&as_json);
    kw_buffer_printf(line,
                     json ? "{\"time\":\"%s\",\"level\":\"%s\",\"module\":\"%s\",\"event\":\"%s\""
                          : "time=%s level=%s module=%s event=\"%s\"",
                     time_text, level_names[level], module, event);
    for (; facts->key; facts++)
        append_fact(line, *facts, json);
    kw_buffer_append_text(line, json ? "}\n" : "\n");
}

bool
kw_log_facts(kw_log_level level, const char *module, const char *event, const kw_log_fact *facts)
{
    if (!kw_log_enabled(level))
        return false;
    kw_buffer line = KW_BUFFER_EMPTY;
    append_line(&line, level, module, event, facts);
    bool accepted = kw_log_writer_put(kw_buffer_bytes(&line));
    kw_buffer_clear(&line);
    return accepted;
}

bool
kw_log_limit_allows(kw_log_limit *limit, uint32_t most, uint64_t *ret_unlogged)
{
    uint64_t second = kw_clock_mono_ns() / UINT64_C(1000000000);
    if (second != limit->second) {
        limit->second = second;
        limit->logged = 0;
    }
    if (limit->logged >= most) {
        limit->unlogged++;
        return false;
    }
    limit->logged++;
    *ret_unlogged = limit->unlogged;
    limit->unlogged = 0;
    return true;
}

/* --- without blocking ---------------------------------------------------------------------------- */

static void
describe_lost(uint64_t count, kw_buffer *line)
{
    append_line(line, KW_LOG_WARN, "log", "lines were lost because standard error was blocked",
                (const kw_log_fact[]){KW_LOG_FACT("count", count), {.key = NULL}});
}

static const char *
glib_field(const GLogField *fields, gsize count, const char *name)
{
    for (gsize i = 0; i < count; i++)
        if (strcmp(fields[i].key, name) == 0 && fields[i].length < 0)
            return fields[i].value;
    return "";
}

/* Logs a message of GLib, whose own writer would block. Fatal messages stay with GLib. */
static GLogWriterOutput
log_glib_message(GLogLevelFlags level, const GLogField *fields, gsize count, gpointer unused)
{
    if (level & (G_LOG_LEVEL_ERROR | G_LOG_FLAG_FATAL))
        return g_log_writer_default(level, fields, count, unused);
    bool serious = level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
    kw_log(serious ? KW_LOG_ERROR : KW_LOG_DEBUG, "glib",
           level & G_LOG_LEVEL_CRITICAL ? "CRITICAL **" : "message",
           KW_LOG_FACT("domain", glib_field(fields, count, "GLIB_DOMAIN")),
           KW_LOG_FACT("reason", glib_field(fields, count, "MESSAGE")));
    return G_LOG_WRITER_HANDLED;
}

void
kw_log_start(void)
{
    g_log_set_writer_func(log_glib_message, NULL, NULL);
    kw_log_writer_start(describe_lost);
}

void
kw_log_stop(uint32_t timeout_ms)
{
    kw_log_writer_stop(timeout_ms);
}

#include "base/log.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log_writer.h"

#include <glib.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
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

/* True for characters that could end a line or move a terminal's cursor: C0 and C1 controls, line
 * separators. */
static bool
is_control(gunichar c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

/* Escapes control characters as \xNN (\uNNNN in JSON and beyond ASCII) and invalid UTF-8 bytes as \xNN, so
 * that a value from outside stays on its line. In JSON, quotes and backslashes are escaped, too. */
static void
append_escaped(kw_buffer *line, const char *text, bool json)
{
    while (*text) {
        unsigned char byte = (unsigned char)*text;
        gunichar c = byte < 0x80 ? byte : g_utf8_get_char_validated(text, -1);
        if (c >= (gunichar)-2) {
            kw_buffer_printf(line, json ? "\\\\x%02x" : "\\x%02x", byte);
            text++;
            continue;
        }
        const char *next = byte < 0x80 ? text + 1 : g_utf8_next_char(text);
        if (json && (c == '"' || c == '\\'))
            kw_buffer_append_byte(line, '\\');
        if (is_control(c))
            kw_buffer_printf(line, json || c >= 0x80 ? "\\u%04x" : "\\x%02x", c);
        else
            kw_buffer_append(line, kw_bytes_of(text, (size_t)(next - text)));
        text = next;
    }
}

static void
append_line(kw_buffer *line, kw_log_level level, const char *module, const char *event, const char *details)
{
    char time_text[40];
    format_time(time_text, sizeof time_text);
    bool json = atomic_load(&as_json);
    kw_buffer_printf(
        line,
        json ? "{\"time\":\"%s\",\"level\":\"%s\",\"module\":\"%s\",\"event\":\"%s\",\"details\":\""
             : "time=%s level=%s module=%s event=\"%s\" ",
        time_text, level_names[level], module, event);
    append_escaped(line, details, json);
    kw_buffer_append_text(line, json ? "\"}\n" : "\n");
}

void
kw_log(kw_log_level level, const char *module, const char *event, const char *format, ...)
{
    if (!kw_log_enabled(level))
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *details = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    kw_buffer line = KW_BUFFER_EMPTY;
    append_line(&line, level, module, event, details);
    kw_log_writer_put(kw_buffer_bytes(&line));
    kw_buffer_clear(&line);
}

/* --- without blocking ---------------------------------------------------------------------------- */

static void
describe_lost(uint64_t count, kw_buffer *line)
{
    g_autofree char *details = g_strdup_printf("count=%" G_GUINT64_FORMAT, (guint64)count);
    append_line(line, KW_LOG_WARN, "log", "lines were lost because standard error was blocked", details);
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
           level & G_LOG_LEVEL_CRITICAL ? "CRITICAL **" : "message", "domain=%s reason=\"%s\"",
           glib_field(fields, count, "GLIB_DOMAIN"), glib_field(fields, count, "MESSAGE"));
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

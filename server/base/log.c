#include "base/log.h"

#include "base/bytes.h"
#include "base/clock.h"

#include <glib.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

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

/* Control characters become \xNN, so that a value from outside stays on its line; in JSON the
 * quote and the backslash are escaped too. */
static void
append_escaped(kw_buffer *line, const char *text, bool json)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (json && (c == '"' || c == '\\')) {
            kw_buffer_append_byte(line, '\\');
            kw_buffer_append_byte(line, c);
        } else if (c < 0x20 || c == 0x7f) {
            kw_buffer_printf(line, json ? "\\u%04x" : "\\x%02x", c);
        } else {
            kw_buffer_append_byte(line, c);
        }
    }
}

void
kw_log(kw_log_level level, const char *room, const char *event, const char *format, ...)
{
    if (!kw_log_enabled(level))
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *details = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    char time_text[40];
    format_time(time_text, sizeof time_text);
    bool json = atomic_load(&as_json);
    kw_buffer line = KW_BUFFER_EMPTY;
    kw_buffer_printf(&line,
                     json ? "{\"time\":\"%s\",\"level\":\"%s\",\"room\":\"%s\",\"event\":\"%s\",\"details\":\""
                          : "time=%s level=%s room=%s event=\"%s\" ",
                     time_text, level_names[level], room, event);
    append_escaped(&line, details, json);
    kw_buffer_append_text(&line, json ? "\"}\n" : "\n");
    ssize_t written = write(STDERR_FILENO, line.data, line.size);
    (void)written; /* nothing sensible is left to do when standard error is gone */
    kw_buffer_clear(&line);
}

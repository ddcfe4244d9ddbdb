/* The pages /livez, /readyz and the status page. The metrics are in metrics.c. */
#include "http/pages.h"

#include <glib.h>

/* A JSON string; the texts are UTF-8. */
static void
append_json(kw_buffer *to, const char *text)
{
    kw_buffer_append_byte(to, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            kw_buffer_append_byte(to, '\\');
        if (c < 0x20 || c == 0x7f)
            kw_buffer_printf(to, "\\u%04x", c);
        else
            kw_buffer_append_byte(to, c);
    }
    kw_buffer_append_byte(to, '"');
}

unsigned
kw_page_live(const kw_http_sources *sources, kw_buffer *body)
{
    (void)sources;
    kw_buffer_append_text(body, "{\"live\":true}\n");
    return 200;
}

typedef struct reasons {
    kw_buffer text;
    bool any;
} reasons;

static void
add_reason(void *list, const char *reason)
{
    reasons *all = list;
    if (all->any)
        kw_buffer_append_byte(&all->text, ',');
    append_json(&all->text, reason);
    all->any = true;
}

unsigned
kw_page_ready(const kw_http_sources *sources, kw_buffer *body)
{
    reasons all = {.text = KW_BUFFER_EMPTY}, degraded = {.text = KW_BUFFER_EMPTY},
            warnings = {.text = KW_BUFFER_EMPTY};
    bool ready = sources->ready(sources->user, add_reason, &all);
    kw_buffer_append_text(body, ready ? "{\"ready\":true,\"reasons\":[" : "{\"ready\":false,\"reasons\":[");
    kw_buffer_append(body, kw_buffer_bytes(&all.text));
    if (sources->degraded)
        sources->degraded(sources->user, add_reason, &degraded);
    kw_buffer_append_text(body, "],\"degraded\":[");
    kw_buffer_append(body, kw_buffer_bytes(&degraded.text));
    sources->warnings(sources->user, add_reason, &warnings);
    kw_buffer_append_text(body, "],\"warnings\":[");
    kw_buffer_append(body, kw_buffer_bytes(&warnings.text));
    kw_buffer_append_text(body, "]}\n");
    kw_buffer_clear(&all.text);
    kw_buffer_clear(&degraded.text);
    kw_buffer_clear(&warnings.text);
    return ready ? 200 : 503;
}

unsigned
kw_page_index(const kw_http_sources *sources, kw_buffer *body)
{
    g_autofree char *about = g_markup_escape_text(kw_store_about(sources->store), -1);
    g_autoptr(GDateTime) started = g_date_time_new_from_unix_utc(sources->started_at_ms / 1000);
    g_autoptr(GDateTime) loaded =
        g_date_time_new_from_unix_utc(sources->policy_loaded_at_ms(sources->user) / 1000);
    g_autofree char *started_text = g_date_time_format(started, "%Y-%m-%d %H:%M:%S UTC");
    g_autofree char *loaded_text = g_date_time_format(loaded, "%Y-%m-%d %H:%M:%S UTC");
    kw_buffer_printf(
        body,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>keywayd</title></head>\n"
        "<body><h1>keywayd " KW_VERSION "</h1>\n"
        "<table>\n<tr><td>Store</td><td>%s</td></tr>\n<tr><td>Started</td><td>%s</td></tr>\n"
        "<tr><td>Policy loaded</td><td>%s</td></tr>\n"
        "<tr><td>Connections</td><td>%" G_GINT64_FORMAT "</td></tr>\n"
        "<tr><td>Calls in flight</td><td>%" G_GINT64_FORMAT "</td></tr>\n</table>\n"
        "<ul><li><a href=\"/readyz\">/readyz</a>: whether the gateway serves</li>\n"
        "<li><a href=\"/livez\">/livez</a>: whether the process runs</li>\n"
        "<li><a href=\"/metrics\">/metrics</a>: metrics for Prometheus</li></ul>\n</body></html>\n",
        about, started_text, loaded_text, kw_metrics_read(KW_METRIC_connections_open),
        kw_metrics_read(KW_METRIC_calls_in_flight));
    return 200;
}

/* Metrics in the text format of Prometheus (0.0.4). Methods that were never called are left out. */
#include "http/pages.h"

#include "base/clock.h"
#include "base/machine.h"

#include <glib.h>
#include <stdio.h>

/* Each bucket contains four steps of a histogram, and ends at a power of two of microseconds. */
#define STEPS_PER_BUCKET 4

static void
append_head(kw_buffer *body, const char *name, const char *type, const char *about)
{
    kw_buffer_printf(body, "# HELP keyway_%s %s\n# TYPE keyway_%s %s\n", name, about, name, type);
}

static void
append_metrics(kw_buffer *body)
{
    for (int i = 0; i < KW_METRIC_COUNT; i++) {
        const kw_metric_info *info = &kw_metric_infos[i];
        bool counter = info->kind == KW_METRIC_COUNTER;
        g_autofree char *name = g_strconcat(info->name, counter ? "_total" : "", NULL);
        append_head(body, name, counter ? "counter" : "gauge", info->about);
        kw_buffer_printf(body, "keyway_%s %" G_GINT64_FORMAT "\n", name, kw_metrics_read((kw_metric)i));
    }
}

static void
append_outcomes(kw_buffer *body, const kw_service *service, const char *name, const char *about,
                uint64_t (*count)(const kw_service *service, size_t method, kw_code code))
{
    append_head(body, name, "counter", about);
    for (size_t method = 0; method < kw_service_method_count(); method++)
        for (int code = KW_OK; code <= KW_INTERNAL; code++) {
            uint64_t found = count(service, method, (kw_code)code);
            if (found > 0)
                kw_buffer_printf(body, "keyway_%s{method=\"%s\",code=\"%s\"} %" G_GUINT64_FORMAT "\n", name,
                                 kw_service_method_name(method), kw_code_name((kw_code)code), found);
        }
}

static void
append_latency(kw_buffer *body, const char *method, const kw_histogram *latency)
{
    uint64_t below = 0;
    for (size_t step = 0; step < KW_HISTOGRAM_STEPS; step++) {
        below += latency->counts[step];
        if (step % STEPS_PER_BUCKET == STEPS_PER_BUCKET - 1 && step < KW_HISTOGRAM_STEPS - 1)
            kw_buffer_printf(
                body,
                "keyway_call_duration_seconds_bucket{method=\"%s\",le=\"%.9g\"} %" G_GUINT64_FORMAT "\n",
                method, (double)(kw_histogram_step_end_us(step) + 1) / 1e6, below);
    }
    kw_buffer_printf(body,
                     "keyway_call_duration_seconds_bucket{method=\"%s\",le=\"+Inf\"} %" G_GUINT64_FORMAT "\n",
                     method, below);
    kw_buffer_printf(body, "keyway_call_duration_seconds_sum{method=\"%s\"} %.6f\n", method,
                     (double)latency->sum_us / 1e6);
    kw_buffer_printf(body, "keyway_call_duration_seconds_count{method=\"%s\"} %" G_GUINT64_FORMAT "\n",
                     method, below);
}

static void
append_latencies(kw_buffer *body, const kw_service *service)
{
    append_head(body, "call_duration_seconds", "histogram",
                "Time from a complete request to its encoded reply, by method");
    for (size_t method = 0; method < kw_service_method_count(); method++) {
        kw_histogram latency = {0};
        kw_service_latency(service, method, &latency);
        if (kw_histogram_count(&latency) > 0)
            append_latency(body, kw_service_method_name(method), &latency);
    }
}

static void
ignore_reason(void *list, const char *reason)
{
    (void)list, (void)reason;
}

static void
append_gauge(kw_buffer *body, const char *name, const char *about, double value)
{
    append_head(body, name, "gauge", about);
    kw_buffer_printf(body, "keyway_%s %.17g\n", name, value);
}

/* --- changes of tables ------------------------------------------------------------------------------- */

typedef struct change_metric {
    const char *name;
    const char *type;
    const char *about;
    double (*value)(const kw_change_status *change);
} change_metric;

static double
change_age(const kw_change_status *change)
{
    return (double)(kw_clock_wall_ms() - change->started_ms) / 1e3;
}

static double
change_version_age(const kw_change_status *change)
{
    return (double)(kw_clock_wall_ms() - change->version_at_ms) / 1e3;
}

static double
change_copied(const kw_change_status *change)
{
    return (double)change->rows_copied;
}

static double
change_compared(const kw_change_status *change)
{
    return (double)change->rows_compared;
}

static double
change_rate(const kw_change_status *change)
{
    return change->rows_per_second;
}

static double
change_left(const kw_change_status *change)
{
    return change->copied && change->compared ? 0 : 1 - change->progress;
}

static double
change_differing(const kw_change_status *change)
{
    return (double)(change->missing + change->different + change->extra - change->repaired);
}

static double
change_repaired(const kw_change_status *change)
{
    return (double)change->repaired;
}

static double
change_undecodable(const kw_change_status *change)
{
    return (double)change->undecodable;
}

static double
change_unreported(const kw_change_status *change)
{
    return (double)change->unreported;
}

static double
change_failing(const kw_change_status *change)
{
    return change->problem[0] != '\0';
}

static const change_metric change_metrics[] = {
    {"change_age_seconds", "gauge", "Time since the change of a table began; the version is a label",
     change_age},
    {"change_version_age_seconds", "gauge", "Time since the change got this version", change_version_age},
    {"change_rows_copied", "gauge", "Rows that the change has copied", change_copied},
    {"change_rows_compared", "gauge", "Rows that the change has compared since the comparison began",
     change_compared},
    {"change_rows_per_second", "gauge", "Rate of the copy or comparison; 0 while neither runs", change_rate},
    {"change_left_ratio", "gauge",
     "Share of the rows that the copy or comparison in progress has not reached, 0 to 1", change_left},
    {"change_rows_differing", "gauge", "Rows that differed in the comparison and were not repaired",
     change_differing},
    {"change_rows_repaired", "gauge", "Rows that differed in the comparison and were repaired",
     change_repaired},
    {"change_rows_undecodable", "gauge",
     "Rows that were not copied: they do not follow the old key rule, or have no key under the new one",
     change_undecodable},
    {"change_unreported_gateways", "gauge",
     "Gateways that have not reported the present version; 0 at gateways that do not set the versions",
     change_unreported},
    {"change_failing", "gauge",
     "1 if the last step of the change, its copy or its comparison failed, otherwise 0", change_failing},
};

typedef struct change_list {
    kw_buffer *body;
    const change_metric *metric;
    bool any;
} change_list;

static void
add_change(void *user, const kw_change_status *change)
{
    change_list *list = user;
    const change_metric *metric = list->metric;
    if (!list->any)
        append_head(list->body, metric->name, metric->type, metric->about);
    list->any = true;
    kw_buffer_printf(list->body, "keyway_%s{table=\"%s\",path=\"%s\",version=\"%s\"} %.17g\n", metric->name,
                     change->table, change->path, change->version, metric->value(change));
}

static void
append_changes(kw_buffer *body, const kw_http_sources *sources)
{
    for (size_t i = 0; sources->changes && i < G_N_ELEMENTS(change_metrics); i++)
        sources->changes(sources->user, add_change,
                         &(change_list){.body = body, .metric = &change_metrics[i]});
}

unsigned
kw_page_metrics(const kw_http_sources *sources, kw_buffer *body)
{
    int64_t offset_ms;
    kw_span span;
    append_metrics(body);
    append_outcomes(
        body, sources->service, "calls_total",
        "Calls answered, by method and outcome; if all records of a call failed, this is the outcome "
        "of the first",
        kw_service_calls);
    append_outcomes(body, sources->service, "records_total",
                    "Records of putMany, removeMany and getMany, by method and outcome", kw_service_records);
    append_latencies(body, sources->service);
    append_changes(body, sources);
    append_head(body, "build_info", "gauge", "Always 1; the version is the label");
    kw_buffer_append_text(body, "keyway_build_info{version=\"" KW_VERSION "\"} 1\n");
    append_gauge(body, "start_time_seconds", "When the process started, seconds since 1970",
                 (double)sources->started_at_ms / 1e3);
    append_gauge(body, "policy_loaded_time_seconds", "When the policy was loaded, seconds since 1970",
                 (double)sources->policy_loaded_at_ms(sources->user) / 1e3);
    append_gauge(body, "ready", "1 while /readyz returns 200",
                 sources->ready(sources->user, ignore_reason, NULL));
    append_gauge(body, "resident_bytes", "Resident memory of the process",
                 (double)kw_machine_resident_bytes());
    if (kw_store_clock_offset_ms(sources->store, &offset_ms))
        append_gauge(body, "store_clock_offset_seconds", "The store's clock minus this machine's",
                     (double)offset_ms / 1e3);
    if (kw_store_time(sources->store, &span) && span.earliest_ns != INT64_MIN)
        append_gauge(body, "store_clock_width_seconds",
                     "Uncertainty of the store's clock: the width of the interval that contains its time",
                     (double)(span.latest_ns - span.earliest_ns) / 1e9);
    return 200;
}

/* Structured log on standard error: one line per event, logfmt or JSON.
 *
 *   kw_log(KW_LOG_WARN, "hbase", "channel lost", "server=%s reason=\"%s\"", name, why);
 *
 * The event is a constant text; details are logfmt pairs. For operators only: it may hold what
 * callers must not see. Any thread. Bytes that came from outside are escaped, so that nobody can forge a
 * line. Once started, logging never waits: lines that standard error does not take are queued, and lost and
 * counted when they are too many (log_writer.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum kw_log_level { KW_LOG_DEBUG, KW_LOG_INFO, KW_LOG_WARN, KW_LOG_ERROR } kw_log_level;

/* Lines below the level are dropped. Default: INFO, logfmt. */
void kw_log_configure(kw_log_level least, bool json);
bool kw_log_enabled(kw_log_level level);

/* Before threads that must not wait begin, and after they ended; GLib's own messages go the same way. What is
 * queued at the end has so long to leave. */
void kw_log_start(void);
void kw_log_stop(uint32_t patience_ms);

void kw_log(kw_log_level level, const char *module, const char *event, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

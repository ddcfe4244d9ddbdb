/* Structured log on standard error: one line per event, logfmt or JSON.
 *
 *   kw_log(KW_LOG_WARN, "hbase", "channel lost", "server=%s reason=\"%s\"", name, why);
 *
 * The event is a constant text; details are logfmt pairs. The log is for operators only: it can contain
 * details that callers must not see. Control characters are escaped, so that a value from outside cannot
 * forge a line. After kw_log_start, logging never blocks: lines that standard error does not accept are
 * queued. Lines that do not fit into the queue are dropped and counted (log_writer.h). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum kw_log_level { KW_LOG_DEBUG, KW_LOG_INFO, KW_LOG_WARN, KW_LOG_ERROR } kw_log_level;

/* Lines below the level are dropped. Default: INFO, logfmt. */
void kw_log_configure(kw_log_level least, bool json);
bool kw_log_enabled(kw_log_level level);

/* Call kw_log_start before the first thread that must not block, and kw_log_stop after the last one ended. In
 * between, GLib's own messages are logged in the same way. kw_log_stop writes the queued lines for at most
 * timeout_ms, then drops the rest. */
void kw_log_start(void);
void kw_log_stop(uint32_t timeout_ms);

void kw_log(kw_log_level level, const char *module, const char *event, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Structured log on standard error: one line per event, logfmt or JSON.
 *
 *   kw_log(KW_LOG_WARN, "hbase", "channel lost", KW_LOG_FACT("server", name), KW_LOG_FACT("calls", 3));
 *
 *   time=2026-11-21T10:00:00.000Z level=warn module=hbase event="channel lost" server=h1:9090 calls=3
 *   {"time":"2026-11-21T10:00:00.000Z","level":"warn","module":"hbase","event":"channel lost",
 *    "server":"h1:9090","calls":3}                                                (without the line break)
 *
 * The event is a constant text. The key of a fact is a constant name in lower case letters; its values are
 * either all texts or all numbers. The log is for operators only: it can contain details that callers must
 * not see. Values are quoted and escaped, so that a value from outside cannot forge a line or a fact. After
 * kw_log_start, logging never blocks: lines that standard error does not accept are queued. Lines that do not
 * fit into the queue are dropped and counted (log_writer.h). Any thread.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum kw_log_level { KW_LOG_DEBUG, KW_LOG_INFO, KW_LOG_WARN, KW_LOG_ERROR } kw_log_level;

/* Lines below the level are dropped. Default: INFO, logfmt. */
void kw_log_configure(kw_log_level least, bool json);
bool kw_log_enabled(kw_log_level level);

/* Call kw_log_start before the first thread that must not block, and kw_log_stop after the last one ended. In
 * between, GLib's own messages are logged in the same way. kw_log_stop writes the queued lines for at most
 * timeout_ms (0: without a limit), then drops the rest. */
void kw_log_start(void);
void kw_log_stop(uint32_t timeout_ms);

/* Limits the log lines of one kind of event per second; further events are only counted. Zero-initialized.
 * Used by one thread. */
typedef struct kw_log_limit {
    uint64_t second;
    uint32_t logged;
    uint64_t unlogged;
} kw_log_limit;

/* True if this event can be logged: at most `most` in a second can. Then *ret_unlogged is the number of
 * earlier events that were not logged, and the caller must log this number. */
bool kw_log_limit_allows(kw_log_limit *limit, uint32_t most, uint64_t *ret_unlogged);

typedef struct kw_log_fact {
    const char *key; /* NULL: the end of a list */
    bool is_number, is_negative;
    uint64_t magnitude; /* of a number */
    kw_bytes text;      /* borrowed */
} kw_log_fact;

static inline kw_log_fact
kw_log_fact_bytes(const char *key, kw_bytes text)
{
    return (kw_log_fact){.key = key, .text = text};
}

static inline kw_log_fact
kw_log_fact_text(const char *key, const char *text)
{
    return kw_log_fact_bytes(key, kw_bytes_of_text(text));
}

static inline kw_log_fact
kw_log_fact_unsigned(const char *key, uint64_t number)
{
    return (kw_log_fact){.key = key, .is_number = true, .magnitude = number};
}

static inline kw_log_fact
kw_log_fact_signed(const char *key, int64_t number)
{
    return (kw_log_fact){.key = key,
                         .is_number = true,
                         .is_negative = number < 0,
                         .magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number};
}

/* A fact whose value is a text (a C string or kw_bytes) or a number. */
#define KW_LOG_FACT(key, value)                                                                              \
    _Generic((value),                                                                                        \
             char *                                                                                          \
             : kw_log_fact_text, const char *                                                                \
             : kw_log_fact_text, kw_bytes                                                                    \
             : kw_log_fact_bytes, unsigned long                                                              \
             : kw_log_fact_unsigned, unsigned long long                                                      \
             : kw_log_fact_unsigned, default                                                                 \
             : kw_log_fact_signed)(key, value)

/* Logs an event with its facts, at least one. False if the line was dropped. */
#define kw_log(level, module, event, ...)                                                                    \
    kw_log_facts(level, module, event, (const kw_log_fact[]){__VA_ARGS__, {.key = NULL}})
bool kw_log_facts(kw_log_level level, const char *module, const char *event, const kw_log_fact *facts);

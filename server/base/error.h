/* The one error domain. A code says what the caller can do about it.
 *
 * Functions that can fail return bool (true = done) and fill `ret_error` on failure only. Foreign errors
 * (RocksDB, OpenSSL, libuv, HBase) are translated in the module that receives them. The text of a kw_error is
 * for callers; the module that translates a foreign error logs the details that only operators can see. Apart
 * from these details, an error is either logged or returned, never both. A kw_error is a plain value: copy it
 * freely, even between threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum kw_code {
    KW_OK = 0,
    KW_INVALID,     /* the request is wrong; sending it again will not help */
    KW_NOT_FOUND,   /* the table, path or method does not exist */
    KW_DENIED,      /* this caller is not allowed to do that */
    KW_LIMIT,       /* a configured limit was exceeded, or a range is exhausted */
    KW_BUSY,        /* overloaded: retry after retry_after_ms */
    KW_TIMEOUT,     /* the deadline passed */
    KW_UNAVAILABLE, /* the store cannot be reached now */
    KW_REFUSED,     /* not possible, and a retry will fail as well */
    KW_CORRUPT,     /* stored data is damaged */
    KW_INTERNAL     /* a bug in Keyway */
} kw_code;

#define KW_ERROR_TEXT_MAX 400

typedef struct kw_error {
    kw_code code;
    uint32_t retry_after_ms; /* 0: unspecified */
    bool maybe_applied;      /* the write was possibly applied: outcome UNKNOWN */
    char text[KW_ERROR_TEXT_MAX];
} kw_error;

#define KW_ERROR_NONE ((kw_error){.code = KW_OK})

/* What callers get whose calls end because the gateway drains. */
extern const kw_error kw_error_shutting_down;

/* Sets KW_OK without clearing the whole text, which makes it cheap for every call. */
static inline void
kw_error_clear(kw_error *error)
{
    error->code = KW_OK;
    error->retry_after_ms = 0;
    error->maybe_applied = false;
    error->text[0] = '\0';
}

/* Fills the error (text cut to fit, on a UTF-8 boundary) and returns false, so that a function can
 * `return kw_error_set(...)`. ret_error can be NULL. */
bool kw_error_set(kw_error *ret_error, kw_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "context: " in front of the text, unless the text begins with the context. A name that begins both,
 * such as "table t", is not repeated. Returns false. */
bool kw_error_prefix(kw_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to the text, which is cut if necessary. Returns false. */
bool kw_error_suffix(kw_error *error, const char *suffix);

/* "INVALID", "NOT_FOUND", ...: the names of the Thrift enum. Never NULL. */
const char *kw_code_name(kw_code code);

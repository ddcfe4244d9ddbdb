#include "access/audit.h"

#include "access/principal.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMITED_MAX 100 /* lines of one kind in a second */
#define TEXT_MAX_SHOWN KW_PRINCIPAL_NAME_MAX

/* A kind of lines that any caller can cause. */
typedef struct limited_kind {
    const char *key; /* of the number of those without a line */
    kw_log_limit limit;
    uint64_t unlogged; /* those that no line counts yet */
} limited_kind;

struct kw_audit {
    char *file;
    kw_mutex lock;  /* guards the next four */
    int descriptor; /* -1: not open */
    bool torn;      /* the last line is incomplete */
    limited_kind logins, denials;
    _Atomic bool failing;
};

static bool
open_file(kw_audit *audit, kw_error *ret_error)
{
    struct stat found;
    int opened = open(audit->file, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (opened >= 0 && fstat(opened, &found) == 0 && S_ISREG(found.st_mode)) {
        audit->descriptor = opened;
        audit->torn = false;
        return true;
    }
    kw_error_set(ret_error, KW_UNAVAILABLE, "audit log %s: %s", audit->file,
                 opened >= 0 ? "is not a regular file" : g_strerror(errno));
    if (opened >= 0)
        close(opened);
    return false;
}

kw_audit *
kw_audit_open(const char *file, kw_error *ret_error)
{
    kw_audit *audit = g_new0(kw_audit, 1);
    audit->file = g_strdup(file);
    audit->descriptor = -1;
    audit->logins.key = "logins_before";
    audit->denials.key = "denied_before";
    kw_mutex_init(&audit->lock);
    if (open_file(audit, ret_error))
        return audit;
    kw_audit_close(audit);
    return NULL;
}

static void
close_file(kw_audit *audit)
{
    if (audit->descriptor >= 0)
        close(audit->descriptor);
    audit->descriptor = -1;
}

void
kw_audit_close(kw_audit *audit)
{
    if (!audit)
        return;
    close_file(audit);
    kw_mutex_clear(&audit->lock);
    g_free(audit->file);
    g_free(audit);
}

/* --- a line -------------------------------------------------------------------------------------- */

/* Ends with "..." where the text is too long or not UTF-8: no table and no principal has such a name. */
static void
add_text(GString *line, const char *key, kw_bytes text)
{
    uint32_t c;
    size_t shown = 0, size;
    if (text.size == 0)
        return;
    g_string_append_printf(line, ",\"%s\":\"", key);
    for (; shown < text.size; shown += size) {
        kw_bytes rest = kw_bytes_skip(text, shown);
        if (!kw_utf8_next(rest, &c, &size) || shown + size > TEXT_MAX_SHOWN)
            break;
        if (kw_utf8_is_control(c) || c == '"' || c == '\\')
            g_string_append_printf(line, "\\u%04x", c);
        else
            g_string_append_len(line, (const char *)rest.data, (gssize)size);
    }
    g_string_append(line, shown < text.size ? "...\"" : "\"");
}

static void
add_string(GString *line, const char *key, const char *text)
{
    add_text(line, key, text ? kw_bytes_of_text(text) : KW_BYTES_NONE);
}

static const char *
name_of(kw_audit_kind kind)
{
    switch (kind) {
    case KW_AUDIT_LOGIN:
        return "login";
    case KW_AUDIT_DENIED:
        return "denied";
    case KW_AUDIT_ADMIN:
        return "admin";
    case KW_AUDIT_POLICY:
        return "policy";
    }
    g_assert_not_reached();
}

static GString *
line_of(const kw_audit_event *event)
{
    int64_t now_ms = kw_clock_wall_ms();
    GString *line = g_string_new(NULL);
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(now_ms / 1000);
    g_autofree char *shown = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");
    g_string_append_printf(line, "{\"time\":\"%s.%03dZ\",\"event\":\"%s\"", shown, (int)(now_ms % 1000),
                           name_of(event->kind));
    if (event->kind != KW_AUDIT_POLICY)
        add_string(line, "principal", *event->principal ? event->principal : "anonymous");
    add_string(line, "peer", event->peer);
    add_string(line, "method", event->method);
    add_text(line, "table", event->table);
    add_string(line, "request_id", event->request_id);
    g_string_append_printf(line, ",\"policy_version\":%" G_GINT64_FORMAT, (gint64)event->version);
    return line;
}

/* --- writing ------------------------------------------------------------------------------------- */

static void
note_result(kw_audit *audit, bool written, const char *reason)
{
    if (!written && !atomic_load(&audit->failing))
        kw_log(KW_LOG_ERROR, "access", "the audit log cannot be written", KW_LOG_FACT("reason", reason));
    if (written && atomic_load(&audit->failing))
        kw_log(KW_LOG_INFO, "access", "the audit log can be written again", KW_LOG_FACT("file", audit->file));
    atomic_store(&audit->failing, !written);
}

static void
add_unlogged(GString *line, const limited_kind *kind)
{
    if (kind->unlogged > 0)
        g_string_append_printf(line, ",\"%s\":%" G_GUINT64_FORMAT, kind->key, kind->unlogged);
}

static bool
append(kw_audit *audit, GString *line)
{
    kw_error error = KW_ERROR_NONE;
    if (audit->descriptor < 0 && !open_file(audit, &error)) {
        note_result(audit, false, error.text);
        return false;
    }
    add_unlogged(line, &audit->logins);
    add_unlogged(line, &audit->denials);
    g_string_append(line, "}\n");
    if (audit->torn)
        g_string_prepend_c(line, '\n');
    ssize_t written = write(audit->descriptor, line->str, line->len);
    bool whole = written == (ssize_t)line->len;
    note_result(audit, whole, written < 0 ? g_strerror(errno) : "the file system is full");
    audit->torn = whole ? false : audit->torn || written > 0;
    if (whole)
        audit->logins.unlogged = audit->denials.unlogged = 0;
    return whole;
}

/* NULL: lines of this kind are all written. */
static limited_kind *
limited_of(kw_audit *audit, kw_audit_kind kind)
{
    switch (kind) {
    case KW_AUDIT_LOGIN:
        return &audit->logins;
    case KW_AUDIT_DENIED:
        return &audit->denials;
    case KW_AUDIT_ADMIN:
    case KW_AUDIT_POLICY:
        return NULL;
    }
    g_assert_not_reached();
}

/* True if the event needs no line of its own. */
static bool
is_beyond(limited_kind *kind)
{
    uint64_t unlogged;
    return kind && !kw_log_limit_allows(&kind->limit, LIMITED_MAX, &unlogged);
}

static bool
write_line(kw_audit *audit, const kw_audit_event *event)
{
    g_autoptr(GString) line = line_of(event);
    return append(audit, line);
}

bool
kw_audit_write(kw_audit *audit, const kw_audit_event *event)
{
    if (!audit)
        return true;
    kw_mutex_lock(&audit->lock);
    limited_kind *limited = limited_of(audit, event->kind);
    bool skipped = is_beyond(limited);
    bool written = !skipped && write_line(audit, event);
    if (limited && !written)
        limited->unlogged++;
    kw_mutex_unlock(&audit->lock);
    return skipped || written;
}

void
kw_audit_reopen(kw_audit *audit)
{
    kw_error error = KW_ERROR_NONE;
    if (!audit)
        return;
    kw_mutex_lock(&audit->lock);
    close_file(audit);
    if (!open_file(audit, &error))
        note_result(audit, false, error.text);
    kw_mutex_unlock(&audit->lock);
}

bool
kw_audit_works(const kw_audit *audit)
{
    return !audit || !atomic_load(&audit->failing);
}

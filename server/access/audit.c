#include "access/audit.h"

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

#define DENIALS_MAX 100 /* in a second */
#define NAME_MAX_SHOWN 128

struct kw_audit {
    char *file;
    kw_mutex lock;  /* guards the next four */
    int descriptor; /* -1: not open */
    bool torn;      /* the last line is incomplete */
    kw_log_limit denials;
    uint64_t unlogged; /* denials that no line counts yet */
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

/* A name that is not UTF-8 or is long is not shown whole: nobody has a role for it. */
static void
add_text(GString *line, const char *key, kw_bytes text)
{
    size_t size = kw_utf8_valid(text) ? MIN(text.size, NAME_MAX_SHOWN) : 0;
    if (text.size == 0)
        return;
    g_string_append_printf(line, ",\"%s\":\"", key);
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = text.data[i];
        if (byte < 0x20 || byte == 0x7f || byte == '"' || byte == '\\')
            g_string_append_printf(line, "\\u%04x", byte);
        else
            g_string_append_c(line, (char)byte);
    }
    while (size > 0 && size < text.size && !kw_utf8_valid(kw_bytes_of(text.data, size))) {
        size--; /* a character that was cut */
        g_string_truncate(line, line->len - 1);
    }
    g_string_append(line, size < text.size ? "...\"" : "\"");
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

static bool
append(kw_audit *audit, GString *line)
{
    kw_error error = KW_ERROR_NONE;
    if (audit->descriptor < 0 && !open_file(audit, &error)) {
        note_result(audit, false, error.text);
        return false;
    }
    if (audit->unlogged > 0)
        g_string_append_printf(line, ",\"denied_before\":%" G_GUINT64_FORMAT, audit->unlogged);
    g_string_append(line, "}\n");
    if (audit->torn)
        g_string_prepend_c(line, '\n');
    ssize_t written = write(audit->descriptor, line->str, line->len);
    bool whole = written == (ssize_t)line->len;
    note_result(audit, whole, written < 0 ? g_strerror(errno) : "the file system is full");
    audit->torn = whole ? false : audit->torn || written > 0;
    if (whole)
        audit->unlogged = 0;
    return whole;
}

bool
kw_audit_write(kw_audit *audit, const kw_audit_event *event)
{
    uint64_t unlogged;
    if (!audit)
        return true;
    g_autoptr(GString) line = line_of(event);
    kw_mutex_lock(&audit->lock);
    bool skipped =
        event->kind == KW_AUDIT_DENIED && !kw_log_limit_allows(&audit->denials, DENIALS_MAX, &unlogged);
    audit->unlogged += skipped;
    bool written = skipped || append(audit, line);
    kw_mutex_unlock(&audit->lock);
    return written;
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

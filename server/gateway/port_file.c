#include "gateway/port_file.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

static char *
address_text(const char *host, uint16_t port)
{
    return g_strdup_printf(strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
}

static bool
write_file(const char *file, const char *text, kw_error *ret_error)
{
    g_autofree char *fresh = g_strdup_printf("%s.new", file);
    unlink(fresh); /* never write through a link that another user created */
    int created = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    size_t size = strlen(text);
    bool written = created >= 0 && write(created, text, size) == (ssize_t)size;
    if (created >= 0)
        written = close(created) == 0 && written;
    if (written && rename(fresh, file) == 0)
        return true;
    kw_error_set(ret_error, KW_UNAVAILABLE, "port file %s: %s", file, g_strerror(errno));
    unlink(fresh);
    return false;
}

/* Does not block: if standard output does not accept the line now, it is dropped. */
static void
print_line(const GString *line)
{
    struct pollfd asked = {.fd = STDOUT_FILENO, .events = POLLOUT};
    bool takes = poll(&asked, 1, 0) > 0 && write(STDOUT_FILENO, line->str, line->len) == (ssize_t)line->len;
    if (!takes)
        kw_log(KW_LOG_WARN, "gateway", "standard output does not accept the line with the ports",
               KW_LOG_FACT("line", kw_bytes_of(line->str, line->len - 1)));
}

bool
kw_port_file_write(const kw_gateway *gateway, kw_error *ret_error)
{
    const kw_model *model = kw_control_model(&gateway->control);
    g_autoptr(GString) line = g_string_new("listening");
    const char *before = " on";
    g_autoptr(GString) file = g_string_new(NULL);
    for (size_t i = 0; i < gateway->listeners.count; i++) {
        bool is_unix = kw_model_listener_path(&model->listeners[i]) != NULL;
        if (gateway->listeners.ports[i] == 0 && !is_unix)
            continue; /* not opened, see listeners.c */
        const char *host = model->listeners[i].host;
        g_autofree char *text = is_unix ? g_strdup(host) : address_text(host, gateway->listeners.ports[i]);
        g_string_append_printf(line, "%s %s%s", before, text, gateway->listeners.tls[i] ? " (TLS)" : "");
        before = ",";
        g_string_append_printf(file, "listener=%s\n", text);
    }
    if (gateway->http) {
        g_autofree char *text = address_text(model->admin.host, gateway->listeners.admin_port);
        g_string_append_printf(line, "; admin http://%s", text);
        g_string_append_printf(file, "admin=%s\n", text);
    }
    g_string_append_c(line, '\n');
    print_line(line);
    return !gateway->settings.port_file || write_file(gateway->settings.port_file, file->str, ret_error);
}

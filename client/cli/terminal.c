/* Replaces the streams by ones (fopencookie) that write to the same descriptors through guarded_write.
 * A character split by the end of a write is completed by the next write. */
#include "cli/terminal.h"

#include "cli/text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct guard {
    int descriptor;
    char cut[6]; /* the beginning of a character */
    gsize cut_size;
} guard;

static FILE *bare_error;

/* Appends the character at `at` in printable form and returns its size in bytes; 0: the character is
 * incomplete. */
static gsize
show_next(GString *to, const char *at, gsize left)
{
    gunichar character = g_utf8_get_char_validated(at, (gssize)left);

    if (character == (gunichar)-2)
        return 0;
    if (character == (gunichar)-1) {
        g_string_append_printf(to, "\\x%02X", (guint8)*at);
        return 1;
    }
    if (character == '\n' || character == '\t')
        g_string_append_c(to, (char)character);
    else
        kw_text_append_plain(to, character);
    return (gsize)(g_utf8_next_char(at) - at);
}

static bool
write_all(int descriptor, const char *text, gsize size)
{
    while (size > 0) {
        ssize_t written = write(descriptor, text, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        text += written;
        size -= (gsize)written;
    }
    return true;
}

static ssize_t
guarded_write(void *cookie, const char *text, size_t size)
{
    guard *self = cookie;
    g_autoptr(GString) all = g_string_new_len(self->cut, (gssize)self->cut_size);
    g_autoptr(GString) shown = g_string_sized_new(size);
    gsize at = 0;

    g_string_append_len(all, text, (gssize)size);
    while (at < all->len) {
        /* GLib's texts end at a zero byte. */
        gsize consumed = all->str[at] == '\0' ? 1 : show_next(shown, all->str + at, all->len - at);

        if (all->str[at] == '\0')
            g_string_append(shown, "\\x00");
        if (consumed == 0)
            break;
        at += consumed;
    }
    self->cut_size = all->len - at;
    memcpy(self->cut, all->str + at, self->cut_size);
    return write_all(self->descriptor, shown->str, shown->len) ? (ssize_t)size : 0;
}

static FILE *
guarded(FILE *stream, guard *self, int buffering)
{
    FILE *terminal_stream;

    self->descriptor = fileno(stream);
    if (!isatty(self->descriptor))
        return stream;
    terminal_stream = fopencookie(self, "w", (cookie_io_functions_t){.write = guarded_write});
    if (terminal_stream == NULL)
        g_error("cannot create the terminal's stream: %s", g_strerror(errno));
    setvbuf(terminal_stream, NULL, buffering, BUFSIZ);
    return terminal_stream;
}

void
kw_terminal_guard(void)
{
    static guard output;
    static guard errors;

    bare_error = stderr;
    stdout = guarded(stdout, &output, _IOLBF);
    stderr = guarded(stderr, &errors, _IONBF);
}

FILE *
kw_terminal_bare_error(void)
{
    return bare_error == NULL ? stderr : bare_error;
}

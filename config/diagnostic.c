/* The problems of one policy file, kept in the order of the file.
 *
 * Messages quote the file, so control characters are escaped here, in one place: a problem is always one
 * line, whatever the file contains. */
#include "config/diagnostic.h"

#include <stdarg.h>
#include <string.h>

#define KEPT_MAX 100

struct kw_diagnostics {
    char *file;
    GArray *problems; /* of kw_problem, ordered by position */
    size_t count;     /* errors, kept or not */
    size_t warnings;
    kw_diagnostics_watcher watcher;
    void *watcher_user;
    bool ended; /* the watcher stopped the work */
};

static void
problem_clear(void *data)
{
    kw_problem *problem = data;
    g_free(problem->message);
    g_free(problem->hint);
}

/* Converts text to one line of valid UTF-8 without control characters. */
static char *
one_line(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *line = g_string_new(NULL);
    for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);
        if (c == '\n')
            g_string_append(line, "\\n");
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
            g_string_append_printf(line, "\\x%02x", (unsigned)c);
        else if (c == 0x2028 || c == 0x2029 || c == 0xfeff)
            g_string_append_printf(line, "\\u%04x", (unsigned)c);
        else
            g_string_append_unichar(line, c);
    }
    return g_string_free(line, FALSE);
}

kw_diagnostics *
kw_diagnostics_new(const char *file)
{
    kw_diagnostics *diagnostics = g_new0(kw_diagnostics, 1);
    diagnostics->file = one_line(file);
    diagnostics->problems = g_array_new(FALSE, FALSE, sizeof(kw_problem));
    g_array_set_clear_func(diagnostics->problems, problem_clear);
    return diagnostics;
}

const char *
kw_diagnostics_file(const kw_diagnostics *diagnostics)
{
    return diagnostics->file;
}

void
kw_diagnostics_free(kw_diagnostics *diagnostics)
{
    if (!diagnostics)
        return;
    g_array_unref(diagnostics->problems);
    g_free(diagnostics->file);
    g_free(diagnostics);
}

void
kw_diagnostics_watch(kw_diagnostics *diagnostics, kw_diagnostics_watcher watcher, void *user)
{
    diagnostics->watcher = watcher;
    diagnostics->watcher_user = user;
}

bool
kw_diagnostics_may_continue(kw_diagnostics *diagnostics, size_t bytes)
{
    if (diagnostics->watcher && !diagnostics->ended)
        diagnostics->ended = !diagnostics->watcher(diagnostics->watcher_user, bytes);
    return !diagnostics->ended;
}

static int
mark_compare(kw_mark a, kw_mark b)
{
    if (a.line != b.line)
        return a.line < b.line ? -1 : 1;
    return (a.column > b.column) - (a.column < b.column);
}

static void
add(kw_diagnostics *diagnostics, kw_problem problem, const char *hint, const char *format, va_list arguments)
{
    GArray *problems = diagnostics->problems;
    if (problems->len >= KEPT_MAX)
        return;
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    problem.message = one_line(message);
    problem.hint = hint ? one_line(hint) : NULL;
    guint at = problems->len;
    while (at > 0 && mark_compare(g_array_index(problems, kw_problem, at - 1).mark, problem.mark) > 0)
        at--;
    g_array_insert_val(problems, at, problem);
}

bool
kw_diagnostics_add(kw_diagnostics *diagnostics, kw_mark mark, const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diagnostics, (kw_problem){.mark = mark}, hint, format, arguments);
    va_end(arguments);
    diagnostics->count++;
    return false;
}

void
kw_diagnostics_warn(kw_diagnostics *diagnostics, kw_mark mark, const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(diagnostics, (kw_problem){.mark = mark, .warning = true}, hint, format, arguments);
    va_end(arguments);
    diagnostics->warnings++;
}

size_t
kw_diagnostics_warnings(const kw_diagnostics *diagnostics)
{
    return diagnostics->warnings;
}

size_t
kw_diagnostics_count(const kw_diagnostics *diagnostics)
{
    return diagnostics->count;
}

size_t
kw_diagnostics_kept(const kw_diagnostics *diagnostics)
{
    return diagnostics->problems->len;
}

const kw_problem *
kw_diagnostics_get(const kw_diagnostics *diagnostics, size_t index)
{
    g_assert(index < diagnostics->problems->len);
    return &g_array_index(diagnostics->problems, kw_problem, index);
}

static size_t
dropped_count(const kw_diagnostics *diagnostics)
{
    return diagnostics->count + diagnostics->warnings - kw_diagnostics_kept(diagnostics);
}

char *
kw_diagnostics_text(const kw_diagnostics *diagnostics)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < kw_diagnostics_kept(diagnostics); i++) {
        const kw_problem *problem = kw_diagnostics_get(diagnostics, i);
        g_string_append(text, diagnostics->file);
        if (problem->mark.line)
            g_string_append_printf(text, ":%u:%u", problem->mark.line, problem->mark.column);
        g_string_append_printf(text, ": %s: %s", problem->warning ? "warning" : "error", problem->message);
        if (problem->hint)
            g_string_append_printf(text, " / hint: %s", problem->hint);
        g_string_append_c(text, '\n');
    }
    if (dropped_count(diagnostics))
        g_string_append_printf(text, "%s: error: %zu more problems are not shown\n", diagnostics->file,
                               dropped_count(diagnostics));
    return g_string_free(text, FALSE);
}

/* The text has no control characters (one_line). */
static void
append_member(GString *to, const char *name, const char *text)
{
    g_string_append_printf(to, "%s\"%s\": \"", g_str_has_suffix(to->str, "{") ? "" : ", ", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_c(to, '\\');
        g_string_append_c(to, *text);
    }
    g_string_append_c(to, '"');
}

static void
append_object(const kw_diagnostics *diagnostics, const kw_problem *problem, GString *to)
{
    g_string_append_c(to, '{');
    append_member(to, "file", diagnostics->file);
    if (problem->mark.line)
        g_string_append_printf(to, ", \"line\": %u, \"column\": %u", problem->mark.line,
                               problem->mark.column);
    append_member(to, "severity", problem->warning ? "warning" : "error");
    append_member(to, "message", problem->message);
    if (problem->hint)
        append_member(to, "hint", problem->hint);
    g_string_append(to, "}\n");
}

char *
kw_diagnostics_json(const kw_diagnostics *diagnostics)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < kw_diagnostics_kept(diagnostics); i++)
        append_object(diagnostics, kw_diagnostics_get(diagnostics, i), text);
    if (dropped_count(diagnostics)) {
        g_autofree char *message =
            g_strdup_printf("%zu more problems are not shown", dropped_count(diagnostics));
        append_object(diagnostics, &(kw_problem){.message = message}, text);
    }
    return g_string_free(text, FALSE);
}

/* See operation.h. */
#include "histories/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[OPERATION_KINDS] = {"put",  "remove", "get",     "put_if", "add",     "row",
                                                   "scan", "number", "version", "find",   "versions"};
static const char *const outcomes[] = {"ok", "failed", "unknown"};

operations *
operations_new(void)
{
    return g_array_new(FALSE, TRUE, sizeof(operation));
}

static void
add_value(GString *to, int64_t value)
{
    if (value == OPERATION_ABSENT)
        g_string_append(to, " -");
    else
        g_string_append_printf(to, " %" PRId64, value);
}

char *
operation_text(const operation *of)
{
    GString *text = g_string_new(NULL);
    g_string_printf(text, "%u %u %u %u %s %s %u %u %d %d", of->caller, of->record, of->view, of->scan,
                    kinds[of->kind], outcomes[of->outcome], of->fields, of->on, of->applied, of->last);
    g_string_append_printf(text, " %" PRIu64 " %" PRIu64, of->begin_ns, of->end_ns);
    add_value(text, of->expected);
    for (int i = 0; i < OPERATION_FIELDS; i++)
        add_value(text, of->values[i]);
    for (int i = 0; i < OPERATION_FIELDS; i++)
        add_value(text, of->results[i]);
    return g_string_free(text, FALSE);
}

void
operations_save(const operations *all, const char *file)
{
    FILE *to = fopen(file, "w");
    if (!to)
        g_error("%s cannot be written", file);
    fprintf(to, "# caller record view scan kind outcome fields on applied last begin end expected values[4] "
                "results[4]\n");
    for (guint i = 0; i < all->len; i++) {
        g_autofree char *text = operation_text(operation_at(all, i));
        fprintf(to, "%s\n", text);
    }
    fclose(to);
}

/* --- reading ------------------------------------------------------------------------------------------ */

static unsigned
index_in(const char *const *names, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    g_error("%s is not a word of a history file", name);
}

static int64_t
value_of(const char *text)
{
    return strcmp(text, "-") == 0 ? OPERATION_ABSENT : g_ascii_strtoll(text, NULL, 10);
}

#define WORDS (13 + 2 * OPERATION_FIELDS)

static operation
parse(const char *line)
{
    g_auto(GStrv) words = g_strsplit(line, " ", -1);
    if (g_strv_length(words) != WORDS)
        g_error("not a line of a history file: %s", line);
    operation made = {.caller = (uint32_t)value_of(words[0]),
                      .record = (uint32_t)value_of(words[1]),
                      .view = (uint32_t)value_of(words[2]),
                      .scan = (uint32_t)value_of(words[3]),
                      .kind = index_in(kinds, G_N_ELEMENTS(kinds), words[4]),
                      .outcome = index_in(outcomes, G_N_ELEMENTS(outcomes), words[5]),
                      .fields = (uint8_t)value_of(words[6]),
                      .on = (uint8_t)value_of(words[7]),
                      .applied = value_of(words[8]),
                      .last = value_of(words[9]),
                      .begin_ns = g_ascii_strtoull(words[10], NULL, 10),
                      .end_ns = g_ascii_strtoull(words[11], NULL, 10),
                      .expected = value_of(words[12])};
    for (int i = 0; i < OPERATION_FIELDS; i++) {
        made.values[i] = value_of(words[13 + i]);
        made.results[i] = value_of(words[13 + OPERATION_FIELDS + i]);
    }
    return made;
}

operations *
operations_load(const char *file)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(file, &text, NULL, NULL))
        g_error("%s cannot be read", file);
    operations *all = operations_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (**line == '#' || **line == '\0')
            continue;
        operation made = parse(*line);
        g_array_append_val(all, made);
    }
    return all;
}

#include "cli/file.h"

#include <errno.h>
#include <stdio.h>

static char *
refuse(const char *path, const char *why, GError **error)
{
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "%s: %s", path, why);
    return NULL;
}

char *
kw_file_text(const char *path, gsize bytes_max, GError **error)
{
    FILE *file = g_str_equal(path, "-") ? stdin : fopen(path, "re");
    g_autofree char *text = NULL;
    gsize size;
    int failed;

    if (file == NULL)
        return refuse(path, g_strerror(errno), error);
    text = g_malloc(bytes_max + 1);
    errno = 0;
    size = fread(text, 1, bytes_max + 1, file);
    failed = ferror(file) ? errno : 0;
    if (file != stdin)
        fclose(file);
    if (failed != 0)
        return refuse(path, g_strerror(failed), error);
    if (size > bytes_max) {
        g_autofree char *why = g_strdup_printf("it is longer than %" G_GSIZE_FORMAT " bytes", bytes_max);

        return refuse(path, why, error);
    }
    text[size] = '\0';
    if (!g_utf8_validate(text, (gssize)size, NULL))
        return refuse(path, "it is not UTF-8 text", error);
    return g_realloc(g_steal_pointer(&text), size + 1);
}

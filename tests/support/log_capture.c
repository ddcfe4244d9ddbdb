#include "log_capture.h"

#include <glib.h>
#include <unistd.h>

static int saved = -1;
static char *path;

void
log_capture_begin(void)
{
    int file = g_file_open_tmp("keyway-log-XXXXXX", &path, NULL);
    g_assert_cmpint(file, >=, 0);
    saved = dup(STDERR_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

char *
log_capture_end(void)
{
    dup2(saved, STDERR_FILENO);
    close(saved);
    char *text = NULL;
    gboolean read = g_file_get_contents(path, &text, NULL, NULL);
    unlink(path);
    g_free(path);
    g_assert_true(read);
    return text;
}

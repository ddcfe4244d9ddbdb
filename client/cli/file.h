/* Reads whole files as text, in limited memory whatever the file is: a pipe ends where its writer closes
 * it, a device never ends. */
#pragma once

#include <glib.h>

#define KW_FILE_POLICY_MAX ((gsize)1 << 20) /* the gateway rejects longer ones */

/* Returns UTF-8 text of at most bytes_max bytes; path "-" is standard input. The caller frees it. */
char *kw_file_text(const char *path, gsize bytes_max, GError **error);

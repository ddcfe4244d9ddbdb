/* Reads whole files as text, in limited memory. The size of a pipe is not known in advance, and a device can
 * be endless. */
#pragma once

#include <glib.h>

#define KW_FILE_POLICY_MAX ((gsize)1 << 20) /* the gateway rejects longer ones */

/* Returns UTF-8 text of at most bytes_max bytes; path "-" is standard input. The caller frees it. */
char *kw_file_text(const char *path, gsize bytes_max, GError **error);

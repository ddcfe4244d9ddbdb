/* Reads whole files as text, in limited memory. The size of a pipe is not known in advance, and a device can
 * be endless. */
#pragma once

#include <glib.h>

#define KW_FILE_POLICY_MAX ((gsize)1 << 20) /* the gateway rejects longer ones */

/* Returns the file's text, which the caller frees. NULL and an error if the file cannot be read, is longer
 * than bytes_max, or is not UTF-8. Path "-" is standard input. */
char *kw_file_text(const char *path, gsize bytes_max, GError **error);

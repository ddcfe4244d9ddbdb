/* Whole files as texts, in bounded memory whatever the file is: pipes end where their writer says so, devices
 * never. */
#pragma once

#include <glib.h>

#define KW_FILE_POLICY_MAX ((gsize)1 << 20) /* the gateway takes no longer one */

/* Text in UTF-8 of at most so many bytes; path "-" is standard input. The caller's. */
char *kw_file_text(const char *path, gsize bytes_max, GError **error);

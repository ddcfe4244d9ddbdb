/* Versions of a policy, for the commands keyway policy ... */
#pragma once

#include "cli/cli.h"

/* The first line of the current policy version as policy show prints it. policy apply removes it from the
 * text, and expects that this version is still current. */
#define KW_POLICY_VERSION_LINE                                                                               \
    "# Policy version %" G_GINT64_FORMAT "; keyway policy apply expects that it is current.\n"

/* Finds this line at the start of the text. Returns the text after it; without the line, the text, and
 * *ret_version is not set. */
const char *kw_policy_version_skip(const char *text, gint64 *ret_version);

/* Reads the number of a policy version. False if the text is not one. */
bool kw_policy_version_parse(const char *text, gint64 *ret_version);

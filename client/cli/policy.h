/* Versions of a policy, for the commands keyway policy ... */
#pragma once

#include "cli/cli.h"

/* Reads the number of a version. False if the text is not one. */
bool kw_policy_version_parse(const char *text, gint64 *ret_version);

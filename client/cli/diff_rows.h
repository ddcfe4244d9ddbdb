/* Prints the differences between two policies as rows. */
#pragma once

#include "cli/cli.h"

/* text: from kw_client_policy_diff. One row per change: table, change, and details (several lines). False:
 * standard output cannot be written. */
bool kw_diff_print_rows(const kw_cli *cli, const char *text);

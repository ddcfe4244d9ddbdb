/* Output of descriptions, for several commands. */
#pragma once

#include "cli/cli.h"

/* Prints the paths of tables (an array of kw_table_info), with fingerprints truncated to fingerprint_length
 * digits. False: writing failed, which was reported. */
bool kw_output_paths(const kw_cli *cli, const GPtrArray *tables, gsize fingerprint_length);

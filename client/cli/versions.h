/* The versions of a record: keyway get --versions. */
#pragma once

#include "cli/cli.h"

/* fields: the arguments KEYFIELD=VALUE. Returns the exit status. */
int kw_get_versions(kw_cli *cli, const kw_table_info *table, const char *columns, int most,
                    char *const *fields, int count);

/* Reports a missing record; returns the exit status. */
int kw_no_such_record(const kw_table_info *table);

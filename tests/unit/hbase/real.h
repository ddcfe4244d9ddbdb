/* The fixture's real HBase (KW_HBASE_ENV, KW_HBASE_RUN, KW_HBASE_SCRIPTS), for tests that need it. Without it
 * they exit with 77 and print the reason. */
#pragma once

#include "bed.h"

/* Reads and removes the argument --framed (framed compact; without it buffered binary). Exits with 77 if
 * there is no HBase. */
void real_init(int *argc, char ***argv, kw_model_server *ret_server, bool *ret_framed);

/* Runs "thrift.sh RUN arguments" and returns the first line that it prints (free with g_free). A failure of
 * the script fails the test. */
char *real_thrift(const char *arguments);

/* The same in another thread, while the loop continues to run. */
void real_thrift_in_background(bed *in, const char *arguments);

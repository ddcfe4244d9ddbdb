/* Where the fixture's real HBase is (KW_HBASE_ENV, KW_HBASE_RUN, KW_HBASE_SCRIPTS), for tests that need it.
 * Without one they exit with 77 and say why. */
#pragma once

#include "bed.h"

/* The form from --framed (framed compact; else buffered binary), taken out of the arguments. Ends the
 * process with 77 when there is no HBase. */
void real_init(int *argc, char ***argv, kw_model_server *ret_server, bool *ret_framed);

/* Runs thrift.sh RUN arguments...; the first line it prints (free with g_free). Ends the test when it
 * fails. */
char *real_thrift(const char *arguments);

/* The same, while the loop goes on turning. */
void real_thrift_beside(bed *in, const char *arguments);

/* The simulated HBase of tests/histories, in threads of the test's own process. */
#pragma once

#include "store/hbase/hbase.h"

/* Starts one Thrift2 server, which runs until the process ends, and sets where it is in the settings. */
void kw_simulated_place_start(kw_model_hbase *settings);
/* A store on a server that is started with the first call. Writes can be ordered by its clock. */
kw_store *kw_simulated_place_open(void);

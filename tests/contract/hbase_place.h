/* The address of a real HBase for tests: KW_HBASE_THRIFT=host:port, or the fixture's file in KW_HBASE_ENV. */
#pragma once

#include "store/hbase/hbase.h"

#include <glib.h>

typedef struct kw_hbase_place {
    char *host; /* NULL if there is no HBase; `why` is then the reason */
    uint16_t port;
    char *why;
} kw_hbase_place;

/* framed: use the framed one of the fixture's two servers. */
kw_hbase_place *kw_hbase_place_find(bool framed);
void kw_hbase_place_free(kw_hbase_place *place);

/* A store on a buffered binary server with the tests' settings; ends the test if it cannot be opened. */
kw_store *kw_hbase_place_open(const kw_hbase_place *place);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(kw_hbase_place, kw_hbase_place_free)

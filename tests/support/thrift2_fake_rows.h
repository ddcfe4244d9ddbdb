/* The rows behind thrift2_fake, and its scanners: what HBase would answer. Used under the fake's lock. */
#pragma once

#include "thrift/hbase2_wire.h"

#include <glib.h>

typedef struct fake_rows {
    GPtrArray *rows;     /* of fake_row, sorted by key */
    GPtrArray *scanners; /* of fake_scanner; NULL: closed; the id is the index, and id_base more */
    int32_t id_base;
    uint32_t open_scanners;
    int64_t clock_offset_ms;
    int64_t incremented_ms; /* the last increment's timestamp */
    GPtrArray *boundaries;  /* of GBytes: between the regions, in order */
} fake_rows;

void fake_rows_init(fake_rows *rows);
void fake_rows_clear(fake_rows *rows);
void fake_rows_set(fake_rows *rows, kw_bytes key, kw_bytes value);
uint32_t fake_rows_writes(const fake_rows *rows, kw_bytes key);
/* What getAllRegionLocations says: one region more than keys. */
void fake_rows_set_boundaries(fake_rows *rows, const kw_bytes *keys, size_t count);
/* Rows that a call of the method brings or asks for: 1, or those of its list. */
uint32_t fake_rows_items(kw_hb_method method, const void *args);
/* restarted: ids begin at 0 again, else they go on. */
void fake_rows_forget_scanners(fake_rows *rows, bool restarted);

/* The result struct of a put or get of one row that has a cell for each heartbeat. */
const void *fake_rows_answer_heartbeat(fake_rows *rows, kw_hb_method method, const void *args,
                                       kw_arena *arena);
/* The result struct of the method, in the arena. */
const void *fake_rows_answer(fake_rows *rows, kw_hb_method method, const void *args, kw_arena *arena);

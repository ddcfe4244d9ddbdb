/* The rows and scanners of thrift2_fake. Used with the fake's lock. */
#pragma once

#include "thrift/hbase2_wire.h"

#include <glib.h>

typedef struct fake_rows {
    GPtrArray *rows;     /* of fake_row, sorted by key */
    GPtrArray *scanners; /* of fake_scanner; NULL: closed. The id is id_base + index */
    int32_t id_base;
    uint32_t open_scanners;
    int64_t clock_offset_ms;
    bool lies; /* replies to heartbeats report lie_ms as the timestamp, or shift the true one by it */
    bool shifts;
    int64_t lie_ms;
    int64_t incremented_ms; /* the last increment's timestamp */
    GPtrArray *boundaries;  /* of GBytes, in ascending order */
} fake_rows;

void fake_rows_init(fake_rows *rows);
void fake_rows_clear(fake_rows *rows);
void fake_rows_set(fake_rows *rows, kw_bytes key, kw_bytes value);
uint32_t fake_rows_writes(const fake_rows *rows, kw_bytes key);
/* Sets the region boundaries for getAllRegionLocations: there is one region more than keys. */
void fake_rows_set_boundaries(fake_rows *rows, const kw_bytes *keys, size_t count);
/* The number of rows in a call of the method. */
uint32_t fake_rows_items(kw_hb_method method, const void *args);
/* restarted: ids start at 0 again, otherwise they continue. */
void fake_rows_forget_scanners(fake_rows *rows, bool restarted);

/* The result of a heartbeat's put or get. The table has one row with a cell for each heartbeat. */
const void *fake_rows_answer_heartbeat(fake_rows *rows, kw_hb_method method, const void *args,
                                       kw_arena *arena);
/* The result struct of the method, in the arena. */
const void *fake_rows_answer(fake_rows *rows, kw_hb_method method, const void *args, kw_arena *arena);

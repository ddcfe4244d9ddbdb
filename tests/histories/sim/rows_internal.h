/* Types and functions that the files of the simulated rows share. */
#pragma once

#include "histories/sim/rows.h"

#include "filter/machine.h"

typedef enum sim_kind { SIM_PUT, SIM_DELETE_VERSION, SIM_DELETE_COLUMN, SIM_DELETE_FAMILY } sim_kind;

typedef struct sim_cell {
    GBytes *family, *qualifier, *value;
    int64_t timestamp;
    int64_t ttl_ms; /* 0: no TTL */
    uint64_t sequence;
    sim_kind kind;
} sim_cell;

struct sim_table;

typedef struct sim_row {
    const struct sim_table *table;
    GBytes *key;
    GPtrArray *cells; /* unsorted */
} sim_row;

/* Which cells of a family a read returns. */
typedef struct sim_limits {
    int32_t versions;   /* 0: all */
    int32_t least;      /* versions that do not expire */
    int64_t ttl_ms;     /* 0: no TTL */
    int64_t markers_ms; /* compactions keep delete markers until they are this old */
} sim_limits;

typedef struct sim_table {
    GPtrArray *families;    /* of GBytes: names */
    GPtrArray *descriptors; /* of GBytes: encoded descriptors of these families */
    GArray *limits;         /* of sim_limits, of these families */
    GTree *rows;            /* GBytes to sim_row */
    sim_region region;
} sim_table;

typedef struct sim_scanner {
    sim_table *table;
    GBytes *at, *stop;
    bool started; /* the row at `at` was returned */
    bool reversed;
    kw_arena *arena; /* of the request; the scanner uses its columns and filter */
    const kw_hb_TScan *scan;
    kw_filter_machine *machine;
} sim_scanner;

struct sim_rows {
    GHashTable *tables;  /* text to sim_table */
    GPtrArray *scanners; /* of sim_scanner; NULL: closed */
    int64_t clock_ms[SIM_REGIONS];
    uint64_t sequence;
    GString *ties; /* lines of sim_rows_print_ties */
};

static inline kw_bytes
sim_bytes(GBytes *bytes)
{
    gsize size = 0;
    const void *data = bytes ? g_bytes_get_data(bytes, &size) : NULL;
    return kw_bytes_of(data, size);
}

static inline GBytes *
sim_copy(kw_bytes bytes)
{
    return g_bytes_new(bytes.data, bytes.size);
}

sim_table *sim_find_table(sim_rows *rows, kw_bytes name); /* NULL if it does not exist */
sim_table *sim_table_named(sim_rows *rows, const kw_hb_TTableName *name);
void sim_create_table(sim_rows *rows, const kw_hb_TTableDescriptor *descriptor); /* no effect if it exists */
void sim_drop_table(sim_rows *rows, const kw_hb_TTableName *name);
/* The families of a table with the settings that they were created with. */
void sim_describe(const sim_table *table, kw_arena *arena, kw_hb_TTableDescriptor *ret_descriptor);
int64_t sim_now_ms(const sim_rows *rows, const sim_table *table);
bool sim_has_family(const sim_table *table, kw_bytes family);

/* What to read: columns as in TGet and TScan, at most `versions` of each. */
typedef struct sim_asked {
    const kw_hb_TColumn *columns;
    uint32_t columns_count;
    bool has_columns;
    int32_t versions;
    int64_t from, to; /* both 0: all times */
} sim_asked;

/* The visible cells, in HBase's order, in the arena. */
kw_cell *sim_read(const sim_row *row, const sim_asked *asked, int64_t now_ms, kw_arena *arena,
                  size_t *ret_count);
/* The newest visible cell of a column; false if there is none. */
bool sim_newest(const sim_row *row, kw_bytes family, kw_bytes qualifier, int64_t now_ms, kw_arena *arena,
                kw_cell *ret_cell);

sim_row *sim_find_row(const sim_table *table, kw_bytes key); /* NULL if it does not exist */
sim_row *sim_make_row(sim_table *table, kw_bytes key);
/* ties.c */
void sim_note_ties(sim_rows *rows, const sim_row *row, const sim_cell *added);

void sim_add_cell(sim_rows *rows, sim_row *row, sim_cell cell);

/* writes.c. stamp: the timestamp of cells without one. Returns NULL, or the error. */
const char *sim_apply_put(sim_rows *rows, sim_table *table, const kw_hb_TPut *put, int64_t stamp);
const char *sim_apply_delete(sim_rows *rows, sim_table *table, const kw_hb_TDelete *tdelete);
const char *sim_apply_mutations(sim_rows *rows, sim_table *table, const kw_hb_TRowMutations *all,
                                int64_t stamp);

/* reads.c */
void sim_get(sim_rows *rows, sim_table *table, const kw_hb_TGet *get, kw_arena *arena,
             kw_hb_TResult *ret_result);
sim_scanner *sim_scanner_new(sim_table *table, const kw_hb_TScan *scan);
void sim_scanner_free(sim_scanner *scanner);
uint32_t sim_scan(sim_rows *rows, sim_scanner *scanner, int32_t count, kw_arena *arena,
                  kw_hb_TResult **ret_results);

/* Shared by the parts of bench_change. All functions end the program on an error. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* --- frames --------------------------------------------------------------------------------------- */

typedef enum bench_call {
    BENCH_PUT,
    BENCH_PUT_MANY,
    BENCH_REMOVE,
    BENCH_GET,
    BENCH_SCAN,         /* from an id on: for the key rule before the change */
    BENCH_SCAN_BY_TIME, /* from a time on: for the new one */
    BENCH_CALLS
} bench_call;

#define BENCH_SCAN_ROWS 1000
#define BENCH_BATCH 100 /* records of a PUT_MANY */

/* A request with its length. The numbers of its records can be changed in place. A scan begins at its record.
 */
typedef struct bench_frame {
    uint8_t *data;
    size_t size;
    size_t records;
    size_t ids[BENCH_BATCH], times[BENCH_BATCH], cells[BENCH_BATCH][3]; /* offsets; 0: none */
    bool scans;
    size_t name_size; /* of the method */
} bench_frame;

void bench_frame_init(bench_frame *frame, bench_call call);
void bench_frame_clear(bench_frame *frame);
/* Sets the numbers of the records to number, number + 1 ...: the id is a permutation of the number, so that
 * rows of consecutive numbers are spread over the table. The cells are random bytes, because bytes that can
 * be compressed would make the files smaller than usual. A scan by id begins in the first half of the ids,
 * so that enough rows follow. */
void bench_frame_set_number(bench_frame *frame, uint64_t number);

/* --- callers -------------------------------------------------------------------------------------- */

/* Connections to one gateway. Each sends a call, waits for the reply, and sends the next call. */
typedef struct bench_callers bench_callers;

bench_callers *bench_callers_open(uint16_t port, size_t count);
void bench_callers_close(bench_callers *all);

typedef struct bench_work {
    bench_call call;
    size_t callers;
    double seconds;   /* the work ends after this time, */
    uint64_t end;     /* or before the record with this number (0: none), */
    const gint *stop; /* or when this is set by another thread (can be NULL) */
    uint64_t *number; /* of the next record, unless random_below is set */
    uint64_t random_below;
} bench_work;

/* An acknowledged call. */
typedef struct bench_reply {
    uint64_t at_ns;
    double took_us; /* since the caller's previous acknowledgement, after which it sent the call */
} bench_reply;

typedef struct bench_slice {
    GArray *replies; /* of bench_reply, which the caller of bench_callers_run frees */
    double calls_per_s;
} bench_slice;

bench_slice bench_callers_run(bench_callers *all, const bench_work *work);

/* A percentile in microseconds; sorts the replies by duration. */
double bench_percentile_us(GArray *replies, double share);

/* --- gateways ------------------------------------------------------------------------------------- */

#define BENCH_GATEWAYS 3

typedef struct bench_options bench_options;

/* A keywayd in its default configuration, with the policy version before the change. Its store is an embedded
 * one in its own folder, or tables of its own in HBase; then others can serve the same tables. */
typedef struct bench_gateway {
    GPid processes[BENCH_GATEWAYS]; /* callers use the first one */
    uint16_t ports[BENCH_GATEWAYS];
    size_t count;
    char *folder;
    char *name; /* of the tables in HBase */
    bool on_hbase;
    bool adds_path; /* the change adds a path over a field that changes */
    bench_callers *callers;
    uint64_t next_put, next_remove; /* numbers of records */
} bench_gateway;

#define BENCH_CALLERS 64

/* count: of gateways that serve the same tables; 1 for an embedded store. */
void bench_gateway_start(bench_gateway *gateway, const bench_options *options, const char *folder,
                         size_t count);
void bench_gateway_stop(bench_gateway *gateway);

/* Begins the change; returns when rows can be copied. */
void bench_begin_change(const bench_gateway *gateway);
typedef enum bench_order {
    BENCH_SWITCH,
    BENCH_REVERSE,
    BENCH_COMPLETE,
    BENCH_PAUSE,
    BENCH_RESUME
} bench_order;
/* False if the change is not ready for the order. Uses its own connection: any thread. Returns when a switch,
 * its reversal or a completion has ended. */
bool bench_order_change(const bench_gateway *gateway, bench_order order);

typedef struct bench_progress {
    int64_t copied, compared; /* rows */
    bool all_copied, all_compared;
    bool ready; /* only an order is missing */
} bench_progress;
/* Any thread. */
bench_progress bench_change_progress(const bench_gateway *gateway);

/* Polls the version of the change until it has ended or `stop` is set. Any thread. */
typedef struct bench_version {
    char name[16];
    uint64_t since_ns;
} bench_version;
GArray *bench_watch_versions(const bench_gateway *gateway, const gint *stop); /* of bench_version */

/* CPU time of the first process so far. */
double bench_cpu_us(const bench_gateway *gateway);

/* Highest memory of each process since the last reset, all together, in MiB. */
double bench_peak_mib(const bench_gateway *gateway);
void bench_reset_peak(const bench_gateway *gateway);

/* --- orders --------------------------------------------------------------------------------------- */

typedef struct bench_ordered {
    bool good;
    double took_s;
    double longest_us; /* the longest put */
    double puts_per_s;
    double passes_s;    /* HBase: until version 3, with the passes before it */
    double held_s;      /* HBase: from version 3 to 5, in which atomic operations are held */
    double before_us;   /* p50 of the gets before the order */
    double both_us;     /* HBase: p50 of the gets in version 4 or 4-back, which read both rows; 0: none */
    unsigned both_gets; /* their number */
} bench_ordered;

/* Gives the order while 64 callers put. */
bench_ordered bench_order_under_puts(bench_gateway *gateway, bench_order order);
/* Gives the order while one caller gets records with numbers below `rows`. */
bench_ordered bench_order_under_gets(bench_gateway *gateway, bench_order order, uint64_t rows);

/* --- direct calls to HBase ------------------------------------------------------------------------ */

/* A connection to a Thrift2 server, for the table that the gateway with this name has created. */
typedef struct bench_direct bench_direct;

bench_direct *bench_direct_open(const char *place, const char *name);
void bench_direct_close(bench_direct *direct);
/* Rows per second of puts of 100 rows per call, one call at a time. */
double bench_direct_puts(bench_direct *direct, double seconds);

/* --- parts ---------------------------------------------------------------------------------------- */

struct bench_options {
    char *keywayd;
    char *folder;
    char
        *hbase; /* host:port of a Thrift2 server with framed transport and compact protocol; NULL: embedded */
    int rows;
    double seconds; /* of a slice */
    int rounds;
    gboolean check;
    gboolean orders;
    gboolean hint_path; /* the change adds a path over a field that changes */
    gboolean puts;      /* of the calls, only puts, and no rates without callers */
    char *log;          /* level */
};

/* Both gateways in alternation, so that their stores have compacted equally many rows. */
void bench_load(bench_gateway *const *gateways, size_t count, uint64_t rows);
/* Runs a whole change beside a gateway without a change. False if a target is missed. */
bool bench_stages(const bench_options *options, bench_gateway *unchanged, bench_gateway *changed);

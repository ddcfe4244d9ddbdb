/* The benchmark of the codec: a row of three 100-byte cells through our tables and through generated Thrift C
 * GLib code, alternating in one run; rows of a long reply compared with one row; the stream reader.
 *
 *   bench_wire [--check]
 *
 * Each result is the best of several rounds, because other load on the machine can only make a round slower.
 * With --check the exit status is 1 if a target is missed.
 */
#include "glib_side.h"
#include "thrift/hbase2_wire.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 3
#define VALUE_BYTES 100
#define ROUNDS 15
#define MANY_ROWS 1000

static bool check;
static bool missed;
static volatile uint64_t malloc_calls;
/* Counts the calls of malloc; glibc provides the memory. */
/* Counts the bytes that the program allocates with malloc; glibc provides the memory. */
extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_calloc(size_t count, size_t size);
void *malloc(size_t size);
void *realloc(void *block, size_t size);
void *calloc(size_t count, size_t size);

void *
malloc(size_t size)
{
    malloc_calls++;
    return __libc_malloc(size);
}

void *
realloc(void *block, size_t size)
{
    malloc_calls++;
    return __libc_realloc(block, size);
}

void *
calloc(size_t count, size_t size)
{
    malloc_calls++;
    return __libc_calloc(count, size);
}

/* --- our side --------------------------------------------------------------------------------- */

typedef struct our_side {
    kw_wire_protocol protocol;
    kw_hb_TColumnValue cells[CELLS];
    kw_hb_TResult row;
    kw_hb_TPut put;
    kw_hb_THBaseService_getScannerRows_result reply;
    kw_buffer out;
    kw_buffer encoded;
    kw_arena *arena;
} our_side;

static const kw_wire_limits limits = {.decoded_bytes = 64 << 20, .depth = KW_WIRE_DEPTH_DEFAULT};

static void
our_side_init(our_side *side, kw_wire_protocol protocol)
{
    static char value[VALUE_BYTES];
    memset(value, 'v', sizeof value);
    *side = (our_side){.protocol = protocol, .arena = kw_arena_new()};
    for (unsigned index = 0; index < CELLS; index++)
        side->cells[index] = (kw_hb_TColumnValue){.family = KW_BYTES_LITERAL("d"),
                                                  .qualifier = KW_BYTES_LITERAL("column"),
                                                  .value = kw_bytes_of(value, sizeof value),
                                                  .has_timestamp = true,
                                                  .timestamp = INT64_C(1700000000000)};
    kw_bytes key = KW_BYTES_LITERAL("0123456789abcdef");
    side->row = (kw_hb_TResult){.has_row = true, .row = key, .columnValues = {side->cells, CELLS}};
    side->put = (kw_hb_TPut){.row = key, .columnValues = {side->cells, CELLS}};
    kw_hb_TResult *rows = g_new(kw_hb_TResult, MANY_ROWS);
    for (unsigned index = 0; index < MANY_ROWS; index++)
        rows[index] = side->row;
    side->reply.has_success = true;
    side->reply.success.items = rows;
    side->reply.success.count = MANY_ROWS;
}

static void
our_side_clear(our_side *side)
{
    g_free(side->reply.success.items);
    kw_buffer_clear(&side->out);
    kw_buffer_clear(&side->encoded);
    kw_arena_free(side->arena);
}

static void
our_encode(our_side *side, const kw_wire_struct *table, const void *value)
{
    side->out.size = 0;
    kw_wire_struct_encode(&side->out, side->protocol, table, value);
}

static void
our_decode(our_side *side, const kw_wire_struct *table, void *ret_value)
{
    kw_error error;
    kw_arena_reset(side->arena);
    if (!kw_wire_struct_decode(table, side->protocol, kw_buffer_bytes(&side->encoded), limits, side->arena,
                               ret_value, &error))
        g_error("%s", error.text);
}

/* --- measuring -------------------------------------------------------------------------------- */

typedef struct bench_job {
    void (*run)(struct bench_job *job);
    our_side *ours;
    glib_side *theirs;
    const kw_wire_struct *table;
    const void *value;
    unsigned repeats;
    double best_ns;
} bench_job;

/* Alternates one round of each, so that all of them run under the same conditions. */
static void
measure(bench_job *jobs, size_t count)
{
    for (size_t index = 0; index < count; index++)
        jobs[index].best_ns = 1e18;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (bench_job *job = jobs; job < jobs + count; job++) {
            uint64_t start = kw_clock_mono_ns();
            for (unsigned index = 0; index < job->repeats; index++)
                job->run(job);
            job->best_ns = MIN(job->best_ns, (double)(kw_clock_mono_ns() - start) / job->repeats);
        }
    }
}

static void
run_our_encode(bench_job *job)
{
    our_encode(job->ours, job->table, job->value);
}

static void
run_our_decode(bench_job *job)
{
    union {
        kw_hb_TResult row;
        kw_hb_TPut put;
        kw_hb_THBaseService_getScannerRows_result reply;
    } value;
    our_decode(job->ours, job->table, &value);
}

static void
run_their_encode(bench_job *job)
{
    glib_side_encode(job->theirs);
}

static void
run_their_decode(bench_job *job)
{
    glib_side_decode(job->theirs);
}

static const char *
verdict(bool good)
{
    missed |= !good;
    return good ? "ok" : "MISSED";
}

static void
encode_to(our_side *side, const kw_wire_struct *table, const void *value)
{
    side->encoded.size = 0;
    kw_wire_struct_encode(&side->encoded, side->protocol, table, value);
}

static void
print_ratio(const char *name, const char *what, double theirs_ns, double ours_ns, double target)
{
    printf("%-8s %s  C GLib %7.0f ns  ours %6.1f ns  1/%-5.1f target 1/%.0f  %s\n", name, what, theirs_ns,
           ours_ns, theirs_ns / ours_ns, target, verdict(theirs_ns >= target * ours_ns));
}

/* Compares our encoding and decoding of `value` with C GLib's TResult, which is always as large. */
static void
against_glib(const char *name, const char *what, our_side *ours, glib_side *theirs,
             const kw_wire_struct *table, const void *value)
{
    bench_job jobs[] = {
        {.run = run_their_decode, .theirs = theirs, .repeats = 1000},
        {.run = run_our_decode, .ours = ours, .table = table, .repeats = 20000},
        {.run = run_their_encode, .theirs = theirs, .repeats = 2000},
        {.run = run_our_encode, .ours = ours, .table = table, .value = value, .repeats = 20000},
    };
    encode_to(ours, table, value);
    measure(jobs, G_N_ELEMENTS(jobs));
    g_autofree char *decode = g_strdup_printf("decode %-7s", what);
    g_autofree char *encode = g_strdup_printf("encode %-7s", what);
    print_ratio(name, decode, jobs[0].best_ns, jobs[1].best_ns, 15);
    print_ratio(name, encode, jobs[2].best_ns, jobs[3].best_ns, 10);
}

static uint64_t
mallocs_of(bench_job *job)
{
    uint64_t before = malloc_calls;
    job->run(job);
    return malloc_calls - before;
}

/* The rows of a long reply compared with the same number of single rows. */
static void
per_row(const char *name, our_side *ours, void (*run)(bench_job *job), const char *what)
{
    const kw_wire_struct *tables[] = {&kw_hb_TResult_wire, &kw_hb_THBaseService_getScannerRows_result_wire};
    const void *values[] = {&ours->row, &ours->reply};
    double ns[] = {1e18, 1e18};
    uint64_t mallocs = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int many = 0; many <= 1; many++) {
            bench_job job = {.run = run,
                             .ours = ours,
                             .table = tables[many],
                             .value = values[many],
                             .repeats = many ? 5 : 5000};
            encode_to(ours, job.table, job.value);
            measure(&job, 1);
            ns[many] = MIN(ns[many], job.best_ns / (many ? MANY_ROWS : 1));
            mallocs = mallocs_of(&job);
        }
    }
    printf("%-8s %s, a row of %d  %6.1f ns  a row alone %6.1f ns  x%.2f  mallocs %llu  %s\n", name, what,
           MANY_ROWS, ns[1], ns[0], ns[1] / ns[0], (unsigned long long)mallocs,
           verdict(ns[1] <= 1.25 * ns[0] && mallocs <= 2));
}

static void
reader_speed(const char *name, our_side *ours)
{
    kw_buffer stream = KW_BUFFER_EMPTY;
    kw_wire_message_encode(&stream, ours->protocol, KW_BYTES_LITERAL("getScannerRows"), KW_WIRE_REPLY, 1);
    kw_wire_struct_encode(&stream, ours->protocol, &kw_hb_THBaseService_getScannerRows_result_wire,
                          &ours->reply);
    kw_wire_reader *reader = kw_wire_reader_new(64 << 20);
    double best = 1e18;
    for (unsigned round = 0; round < 10 * ROUNDS; round++) {
        kw_bytes payload;
        size_t consumed;
        kw_error error;
        uint64_t start = kw_clock_mono_ns();
        if (kw_wire_reader_next(reader, kw_buffer_bytes(&stream), &payload, &consumed, NULL, &error) !=
            KW_WIRE_MESSAGE)
            g_error("the reader found no message");
        best = MIN(best, (double)(kw_clock_mono_ns() - start) / (double)stream.size);
    }
    printf("%-8s unframed reader finds the end of %zu bytes at %.3f ns per byte  target < 0.5  %s\n", name,
           stream.size, best, verdict(best < 0.5));
    kw_wire_reader_free(reader);
    kw_buffer_clear(&stream);
}

int
main(int argc, char **argv)
{
    static const char *const names[] = {"binary", "compact"};
    check = argc > 1 && strcmp(argv[1], "--check") == 0;
    printf("a row of %d cells of %d bytes; best of %d rounds\n", CELLS, VALUE_BYTES, ROUNDS);
    for (int protocol = KW_WIRE_BINARY; protocol <= KW_WIRE_COMPACT; protocol++) {
        our_side ours;
        our_side_init(&ours, protocol);
        glib_side *theirs = glib_side_new(protocol, CELLS, VALUE_BYTES);
        encode_to(&ours, &kw_hb_TResult_wire, &ours.row);
        if (!kw_bytes_equal(kw_buffer_bytes(&ours.encoded), glib_side_bytes(theirs)))
            g_error("the two sides do not encode the same bytes");
        against_glib(names[protocol], "TResult", &ours, theirs, &kw_hb_TResult_wire, &ours.row);
        against_glib(names[protocol], "TPut", &ours, theirs, &kw_hb_TPut_wire, &ours.put);
        per_row(names[protocol], &ours, run_our_decode, "decode");
        per_row(names[protocol], &ours, run_our_encode, "encode");
        reader_speed(names[protocol], &ours);
        glib_side_free(theirs);
        our_side_clear(&ours);
    }
    return check && missed;
}

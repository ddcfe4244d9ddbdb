/* Callers that know what each of their records must contain, and check every answer. A record belongs to one
 * thread, which makes one call at a time, so after each acknowledged call there is only one right answer. */
#include "bench.h"

#include "base/clock.h"
#include "keyway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE "rows"
#define PATH "by_time"
#define DEADLINE_MS 120000 /* longer than any hold */
#define MESSAGES_MAX 5
#define PAUSE_US 1000

typedef enum path_state { PATH_NONE, PATH_FILLING, PATH_COMPLETE } path_state;

/* What a record must contain. */
typedef struct expected {
    bool has_cells;
    uint32_t generation; /* of the cells; of the last ones, if it has none */
    int64_t counter;     /* 0: it has no counter */
    bool in_doubt;       /* a write of unknown outcome */
} expected;

typedef struct checker {
    GThread *thread;
    bench_checkers *all;
    size_t index;
    kw_client *clients[BENCH_GATEWAYS];
    GRand *random;
    expected *records; /* number index, index + threads ... */
    size_t count;
    GMutex lock; /* of `checked` */
    bench_checked checked;
} checker;

struct bench_checkers {
    checker *threads;
    size_t count, clients;
    gint stop, paused, path; /* path_state */
    gint messages;
};

static const kw_call_options patient = {.deadline_ms = DEADLINE_MS};

/* --- records -------------------------------------------------------------------------------------- */

static kw_record *
key_of(const bench_record *values)
{
    kw_record *key = kw_record_new();
    kw_record_set(key, "id", kw_text(values->id));
    kw_record_set(key, "ts", kw_number(values->ts));
    return key;
}

static const char *const cell_names[BENCH_CELLS] = {"a", "b", "c"};

static kw_record *
record_of(uint64_t number, uint32_t generation)
{
    bench_record values;
    bench_record_of(number, generation, &values);
    kw_record *record = key_of(&values);
    for (size_t i = 0; i < BENCH_CELLS; i++)
        kw_record_set(record, cell_names[i], kw_bytes_of(values.cells[i], BENCH_CELL_SIZE));
    return record;
}

static bool
same_value(kw_value a, kw_value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == KW_VALUE_BYTES)
        return a.bytes.size == b.bytes.size && memcmp(a.bytes.data, b.bytes.data, a.bytes.size) == 0;
    return a.kind == KW_VALUE_NONE || (a.kind == KW_VALUE_NUMBER && a.number == b.number);
}

/* found: NULL if there is no such record. */
static bool
is_right(const kw_record *found, uint64_t number, const expected *wanted)
{
    if (!found)
        return !wanted->has_cells && !wanted->counter;
    g_autoptr(kw_record) values = record_of(number, wanted->generation);
    kw_value counter = wanted->counter ? kw_number(wanted->counter) : (kw_value){.kind = KW_VALUE_NONE};
    bool right = (wanted->has_cells || wanted->counter) && same_value(kw_record_get(found, "n"), counter);
    for (size_t i = 0; i < BENCH_CELLS; i++)
        right = right && same_value(kw_record_get(found, cell_names[i]),
                                    wanted->has_cells ? kw_record_get(values, cell_names[i])
                                                      : (kw_value){.kind = KW_VALUE_NONE});
    return right;
}

/* --- answers -------------------------------------------------------------------------------------- */

static void
note_wrong(checker *self, const char *what, uint64_t number, const char *text)
{
    g_mutex_lock(&self->lock);
    self->checked.wrong++;
    g_mutex_unlock(&self->lock);
    if (g_atomic_int_add(&self->all->messages, 1) < MESSAGES_MAX)
        fprintf(stderr, "bench_change: WRONG: %s of record %llu: %s\n", what, (unsigned long long)number,
                text);
}

/* Returns true if the call succeeded. Without faults, none may fail. */
static bool
note_write(checker *self, expected *record, uint64_t number, bool atomic, uint64_t began_ns, bool good,
           const char *what, GError *error)
{
    double took_us = (double)(kw_clock_mono_ns() - began_ns) / 1000;
    double *longest = atomic ? &self->checked.longest_atomic_us : &self->checked.longest_write_us;
    g_mutex_lock(&self->lock);
    *longest = MAX(*longest, took_us);
    self->checked.calls++;
    self->checked.atomics += atomic;
    g_mutex_unlock(&self->lock);
    if (!good) {
        record->in_doubt |= kw_client_error_maybe_applied(error);
        note_wrong(self, what, number, error->message);
        g_error_free(error);
    }
    return good;
}

static void
check_found(checker *self, const char *what, uint64_t number, const expected *wanted, const kw_record *found)
{
    g_mutex_lock(&self->lock);
    self->checked.calls++;
    g_mutex_unlock(&self->lock);
    if (!wanted->in_doubt && !is_right(found, number, wanted))
        note_wrong(self, what, number, found ? "it has other values" : "there is no such record");
}

/* --- calls ---------------------------------------------------------------------------------------- */

static kw_client *
any_client(checker *self)
{
    return self->clients[(size_t)g_rand_int_range(self->random, 0, (gint32)self->all->clients)];
}

static void
put(checker *self, expected *record, uint64_t number)
{
    GError *error = NULL;
    g_autoptr(kw_record) values = record_of(number, record->generation + 1);
    uint64_t began_ns = kw_clock_mono_ns();
    bool good = kw_client_put(any_client(self), TABLE, values, &patient, NULL, &error);
    if (note_write(self, record, number, false, began_ns, good, "put", error)) {
        record->has_cells = true;
        record->generation++;
    }
}

static void
remove_record(checker *self, expected *record, uint64_t number)
{
    GError *error = NULL;
    bench_record values;
    bench_record_of(number, 0, &values);
    g_autoptr(kw_record) key = key_of(&values);
    uint64_t began_ns = kw_clock_mono_ns();
    bool good = kw_client_remove(any_client(self), TABLE, key, NULL, &patient, &error);
    if (note_write(self, record, number, false, began_ns, good, "remove", error)) {
        record->has_cells = false;
        record->counter = 0;
    }
}

static void
increment(checker *self, expected *record, uint64_t number)
{
    GError *error = NULL;
    bench_record values;
    bench_record_of(number, 0, &values);
    g_autoptr(kw_record) key = key_of(&values);
    g_autoptr(kw_record) amounts = kw_record_new();
    g_autoptr(kw_record) sums = NULL;
    kw_record_set(amounts, "n", kw_number(1));
    uint64_t began_ns = kw_clock_mono_ns();
    bool good = kw_client_increment(any_client(self), TABLE, key, amounts, &patient, &sums, &error);
    if (!note_write(self, record, number, true, began_ns, good, "increment", error))
        return;
    record->counter++;
    if (!record->in_doubt && kw_record_get(sums, "n").number != record->counter)
        note_wrong(self, "increment", number, "the sum is another one");
}

/* matches: the condition is met. */
static void
put_if(checker *self, expected *record, uint64_t number, bool matches)
{
    GError *error = NULL;
    bool written = false;
    g_autoptr(kw_record) values = record_of(number, record->generation + 1);
    g_autoptr(kw_record) present = record_of(number, record->generation + (matches ? 0 : 2));
    kw_condition condition = {.field = "a", .compare = KW_COMPARE_EQUAL};
    if (record->has_cells || !matches)
        condition.value = kw_record_get(present, "a");
    uint64_t began_ns = kw_clock_mono_ns();
    bool good = kw_client_put_if(any_client(self), TABLE, values, &condition, &patient, &written, &error);
    if (!note_write(self, record, number, true, began_ns, good, "putIf", error))
        return;
    if (!record->in_doubt && written != matches)
        note_wrong(self, "putIf", number, written ? "it was written" : "it was not written");
    if (written) {
        record->has_cells = true;
        record->generation++;
    }
}

static void
get(checker *self, const expected *record, uint64_t number)
{
    GError *error = NULL;
    bench_record values;
    bench_record_of(number, 0, &values);
    g_autoptr(kw_record) key = key_of(&values);
    g_autoptr(kw_record) found = NULL;
    if (kw_client_get(any_client(self), TABLE, key, NULL, &patient, &found, &error)) {
        check_found(self, "get", number, record, found);
    } else {
        note_wrong(self, "get", number, error->message);
        g_error_free(error);
    }
}

/* Reads the record through the path. While the path lacks rows, the query must be refused. */
static void
read_path(checker *self, const expected *record, uint64_t number)
{
    g_autoptr(GError) error = NULL;
    bench_record values;
    const kw_record *found = NULL;
    bool complete = g_atomic_int_get(&self->all->path) == PATH_COMPLETE;
    bench_record_of(number, 0, &values);
    g_autoptr(kw_query) query = kw_query_new(TABLE);
    kw_query_path(query, PATH);
    kw_query_where(query, "id", kw_text(values.id));
    kw_query_where(query, "ts", kw_number(values.ts));
    g_autoptr(kw_scan) scan = kw_client_scan(any_client(self), query, &error);
    bool refused = !scan && g_error_matches(error, KW_CLIENT_ERROR, KW_CLIENT_REFUSED) && !complete;
    g_mutex_lock(&self->lock);
    self->checked.refused += refused;
    self->checked.path_reads += scan != NULL;
    g_mutex_unlock(&self->lock);
    if (scan && (kw_scan_next(scan, &found, &error) || !error))
        check_found(self, "read of the path", number, record, found);
    else if (!refused)
        note_wrong(self, "read of the path", number, error->message);
}

/* --- threads -------------------------------------------------------------------------------------- */

static void
one_call(checker *self)
{
    size_t at = (size_t)g_rand_int_range(self->random, 0, (gint32)self->count);
    uint64_t number = self->index + at * self->all->count;
    expected *record = &self->records[at];
    int dice = g_rand_int_range(self->random, 0, 100);
    bool atomics = self->index % 2 == 1;
    if (record->in_doubt || dice < 25)
        get(self, record, number);
    else if (dice < 40 && g_atomic_int_get(&self->all->path) != PATH_NONE)
        read_path(self, record, number);
    else if (dice < 50)
        remove_record(self, record, number);
    else if (dice < 70 && atomics)
        increment(self, record, number);
    else if (dice < 80 && atomics)
        put_if(self, record, number, dice < 77);
    else
        put(self, record, number);
}

static gpointer
run(gpointer data)
{
    checker *self = data;
    while (!g_atomic_int_get(&self->all->stop))
        if (g_atomic_int_get(&self->all->paused))
            g_usleep(PAUSE_US);
        else
            one_call(self);
    return NULL;
}

static kw_client *
open_client(uint16_t port)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *address = g_strdup_printf("127.0.0.1:%u", port);
    const kw_client_options options = {.call_timeout_ms = DEADLINE_MS + 10000};
    kw_client *client = kw_client_open(address, &options, &error);
    if (!client) {
        fprintf(stderr, "bench_change: connect: %s\n", error->message);
        exit(1);
    }
    return client;
}

bench_checkers *
bench_checkers_start(const bench_gateway *gateway, size_t threads, uint64_t numbers)
{
    bench_checkers *all = g_new0(bench_checkers, 1);
    *all = (bench_checkers){.threads = g_new0(checker, threads), .count = threads, .clients = gateway->count};
    for (size_t i = 0; i < threads; i++) {
        checker *self = &all->threads[i];
        *self = (checker){.all = all, .index = i, .count = numbers / threads};
        self->records = g_new0(expected, self->count);
        self->random = g_rand_new_with_seed((guint32)i + 1);
        for (size_t at = 0; at < self->count; at++)
            self->records[at].has_cells = true;
        for (size_t which = 0; which < all->clients; which++)
            self->clients[which] = open_client(gateway->ports[which]);
        g_mutex_init(&self->lock);
        self->thread = g_thread_new("checker", run, self);
    }
    return all;
}

bench_checked
bench_checkers_so_far(bench_checkers *all)
{
    bench_checked sum = {0};
    for (size_t i = 0; i < all->count; i++) {
        checker *self = &all->threads[i];
        g_mutex_lock(&self->lock);
        sum.calls += self->checked.calls;
        sum.atomics += self->checked.atomics;
        sum.path_reads += self->checked.path_reads;
        sum.refused += self->checked.refused;
        sum.wrong += self->checked.wrong;
        sum.longest_write_us = MAX(sum.longest_write_us, self->checked.longest_write_us);
        sum.longest_atomic_us = MAX(sum.longest_atomic_us, self->checked.longest_atomic_us);
        self->checked = (bench_checked){0};
        g_mutex_unlock(&self->lock);
    }
    return sum;
}

void
bench_checkers_pause(bench_checkers *all, bool pause)
{
    g_atomic_int_set(&all->paused, pause);
}

void
bench_checkers_path_is_filling(bench_checkers *all)
{
    g_atomic_int_set(&all->path, PATH_FILLING);
}

void
bench_checkers_path_is_complete(bench_checkers *all)
{
    g_atomic_int_set(&all->path, PATH_COMPLETE);
}

uint64_t
bench_checkers_removed(bench_checkers *all)
{
    uint64_t removed = 0;
    for (size_t i = 0; i < all->count; i++)
        for (size_t at = 0; at < all->threads[i].count; at++)
            removed += !all->threads[i].records[at].has_cells && !all->threads[i].records[at].counter;
    return removed;
}

static void
read_once_more(checker *self, const expected *record, uint64_t number)
{
    get(self, record, number);
    if (g_atomic_int_get(&self->all->path) == PATH_COMPLETE)
        read_path(self, record, number);
}

void
bench_checkers_end(bench_checkers *all)
{
    g_atomic_int_set(&all->stop, 1);
    for (size_t i = 0; i < all->count; i++)
        g_thread_join(all->threads[i].thread);
}

void
bench_checkers_read_all(bench_checkers *all, uint64_t rows, uint64_t others)
{
    const expected loaded = {.has_cells = true};
    uint64_t own = all->count * all->threads[0].count;
    for (size_t i = 0; i < all->count; i++)
        for (size_t at = 0; at < all->threads[i].count; at++)
            read_once_more(&all->threads[i], &all->threads[i].records[at], i + at * all->count);
    checker *first = &all->threads[0];
    for (uint64_t i = 0; i < others && rows > own; i++)
        read_once_more(first, &loaded, own + (uint64_t)(g_rand_double(first->random) * (double)(rows - own)));
}

void
bench_checkers_free(bench_checkers *all)
{
    for (size_t i = 0; i < all->count; i++) {
        checker *self = &all->threads[i];
        for (size_t which = 0; which < all->clients; which++)
            kw_client_close(self->clients[which]);
        g_rand_free(self->random);
        g_free(self->records);
        g_mutex_clear(&self->lock);
    }
    g_free(all->threads);
    g_free(all);
}

/* A Thrift2 server of a real HBase is killed, restarted, also in another form, and stopped with SIGSTOP
 * during writes and scans. There are two servers: the victim and the fixture's framed one. Acknowledged
 * writes must be visible, failed ones must not, and a scan returns every row once. */
#include "real.h"
#include "store/hbase/hbase_store.h"

#include <stdio.h>
#include <unistd.h>

#define CALLERS 8
/* A silent server counts as lost after twice this time. A busy one can be silent for a while, too. */
#define SILENCE_MS 3000
#define SCAN_ROWS 3000

static kw_model_server servers[2]; /* the first is the victim */
static bed on;
static char table[64];

/* --- writes ----------------------------------------------------------------------------------- */

#define WRITES_MAX 200000

typedef struct writer {
    bool stamped;
    bool stop;
    size_t started, ended;
    bool done_writes[WRITES_MAX];
    kw_outcome outcomes[WRITES_MAX];
    char prefix;
} writer;

typedef struct caller {
    writer *all;
    size_t number; /* of its write */
    char row[24];
    bed_cell_write put;
} caller;

static void next_write(caller *of);

static void
on_written(void *user, kw_outcome outcome, const kw_error *error)
{
    caller *of = user;
    if (error && outcome == KW_OUTCOME_FAILED)
        g_assert_false(error->maybe_applied);
    of->all->outcomes[of->number] = outcome;
    of->all->done_writes[of->number] = true;
    of->all->ended++;
    next_write(of);
}

/* The number of writes among the first ones that are not done. */
static size_t
count_unfinished(const writer *all, size_t first)
{
    size_t left = 0;
    for (size_t i = 0; i < first; i++)
        left += !all->done_writes[i];
    return left;
}

static void
next_write(caller *of)
{
    writer *all = of->all;
    if (all->stop || all->started == WRITES_MAX)
        return;
    of->number = all->started++;
    snprintf(of->row, sizeof of->row, "%c%06zu", all->prefix, of->number);
    bed_cell_write_init(&of->put, table, of->row, "f", "v", all->stamped ? 1000 : KW_TIMESTAMP_NONE);
    of->put.write.deadline = kw_deadline_in_ms(60000);
    kw_store_handle_write(on.handle, &of->put.write, on_written, of);
}

/* Reads which of the rows exist. */
static void
read_present(const writer *all, bool *present)
{
    char start[2] = {all->prefix, 0}, stop[2] = {(char)(all->prefix + 1), 0};
    kw_range_scan_spec spec = {
        .table = kw_bytes_of_text(table), .start = kw_bytes_of_text(start), .stop = kw_bytes_of_text(stop)};
    kw_range_scan *scan = kw_store_handle_open_range_scan(on.handle, &spec);
    for (bool end = false; !end;) {
        answer got = bed_fetch(&on, scan, 1000, 1 << 20, true, 60000);
        g_assert_cmpstr(got.error.text, ==, "");
        for (size_t i = 0; i < got.rows->count; i++) {
            g_autofree char *row =
                g_strndup((const char *)got.rows->rows[i].key.data, got.rows->rows[i].key.size);
            size_t number = strtoul(row + 1, NULL, 10);
            g_assert_cmpuint(number, <, all->started);
            g_assert_false(present[number]);
            present[number] = true;
        }
        end = got.rows->end;
        answer_clear(&got);
    }
    kw_range_scan_close(scan);
}

static void
check_outcomes(const writer *all)
{
    g_autofree bool *present = g_new0(bool, WRITES_MAX);
    size_t counts[3] = {0};
    read_present(all, present);
    for (size_t i = 0; i < all->started; i++) {
        counts[all->outcomes[i]]++;
        if (all->outcomes[i] == KW_OUTCOME_OK)
            g_assert_true(present[i]);
        if (all->outcomes[i] == KW_OUTCOME_FAILED)
            g_assert_false(present[i]);
    }
    g_test_message("%s: %zu ok, %zu failed, %zu unknown", all->stamped ? "stamped" : "unstamped", counts[0],
                   counts[1], counts[2]);
    g_assert_cmpuint(counts[0], >, 100);
    g_assert_cmpuint(counts[1], ==, 0);
    if (all->stamped)
        g_assert_cmpuint(counts[2], ==, 0);
    else
        g_assert_cmpuint(counts[2], <=, CALLERS * 2);
}

/* Runs the loop until this many more writes are done. */
static void
await_writes(const writer *all, size_t more)
{
    kw_deadline end = kw_deadline_in_ms(120000);
    for (size_t wanted = all->ended + more; all->ended < wanted && all->started < WRITES_MAX;) {
        g_assert_false(kw_deadline_passed(end));
        bed_run_loop(&on, 20);
    }
}

static writer *writing;

static void
write_while(bool stamped, char prefix, void (*event)(void))
{
    writer *all = g_new0(writer, 1);
    caller callers[CALLERS] = {0};
    all->stamped = stamped;
    all->prefix = prefix;
    for (size_t i = 0; i < CALLERS; i++) {
        callers[i].all = all;
        next_write(&callers[i]);
    }
    writing = all;
    bed_run_loop(&on, 500);
    await_writes(all, 60);
    event();
    bed_run_loop(&on, 500);
    await_writes(all, 60);
    all->stop = true;
    while (all->ended < all->started)
        bed_run_loop(&on, 5);
    check_outcomes(all);
    g_free(all);
}

static void
start_victim(void)
{
    g_autofree char *command = g_strdup_printf("start victim framed-compact %u", servers[0].port);
    real_thrift_in_background(&on, command);
}

static void
kill_and_start(void)
{
    real_thrift_in_background(&on, "kill victim");
    bed_run_loop(&on, 300);
    start_victim();
}

/* Freezes the victim until no caller waits for it. */
static void
freeze_and_thaw(void)
{
    real_thrift_in_background(&on, "freeze victim");
    bed_run_loop(&on, 500);
    const writer *all = writing;
    kw_deadline end = kw_deadline_in_ms(60000);
    for (size_t before = all->started; count_unfinished(all, before) > 0;) {
        g_assert_false(kw_deadline_passed(end));
        bed_run_loop(&on, 100);
    }
    g_free(real_thrift("thaw victim"));
}

static void
test_kill_under_stamped(void)
{
    write_while(true, 'a', kill_and_start);
}

static void
test_kill_under_unstamped(void)
{
    write_while(false, 'b', kill_and_start);
}

static void
test_freeze_under_stamped(void)
{
    write_while(true, 'c', freeze_and_thaw);
}

static void
test_freeze_under_unstamped(void)
{
    write_while(false, 'd', freeze_and_thaw);
}

/* --- scans ------------------------------------------------------------------------------------ */

static void
fill(void)
{
    static bed_cell_write writes[SCAN_ROWS];
    static char rows[SCAN_ROWS][8];
    static const kw_write *pointers[SCAN_ROWS];
    static kw_written results[SCAN_ROWS];
    for (size_t i = 0; i < SCAN_ROWS; i++) {
        snprintf(rows[i], sizeof rows[i], "s%05zu", i);
        bed_cell_write_init(&writes[i], table, rows[i], "f", "v", 1);
        pointers[i] = &writes[i].write;
    }
    bool done = false;
    kw_store_handle_write_many(on.handle, pointers, SCAN_ROWS, results, bed_on_done, &done);
    bed_await(&on, &done);
    for (size_t i = 0; i < SCAN_ROWS; i++)
        g_assert_cmpint(results[i].outcome, ==, KW_OUTCOME_OK);
}

/* Several scans at once, so that some use the victim; it is killed and restarted during the scans. */
static void
test_kill_under_scan(void)
{
    enum { SCANS = 6 };
    kw_range_scan *scans[SCANS];
    size_t next[SCANS] = {0};
    bool ended[SCANS] = {false};
    fill();
    kw_range_scan_spec spec = {
        .table = kw_bytes_of_text(table), .start = KW_BYTES_LITERAL("s"), .stop = KW_BYTES_LITERAL("t")};
    for (size_t i = 0; i < SCANS; i++)
        scans[i] = kw_store_handle_open_range_scan(on.handle, &spec);
    size_t left = SCANS;
    for (int round = 0; left; round++) {
        if (round == 10)
            g_free(real_thrift("kill victim"));
        if (round == 20)
            start_victim();
        for (size_t i = 0; i < SCANS; i++) {
            if (ended[i])
                continue;
            answer got = bed_fetch(&on, scans[i], 60, 1 << 20, true, 60000);
            g_assert_cmpstr(got.error.text, ==, "");
            for (size_t k = 0; k < got.rows->count; k++) {
                char key[8];
                snprintf(key, sizeof key, "s%05zu", next[i]++);
                g_assert_true(kw_bytes_equal(got.rows->rows[k].key, kw_bytes_of_text(key)));
            }
            ended[i] = got.rows->end;
            left -= ended[i];
            answer_clear(&got);
        }
    }
    for (size_t i = 0; i < SCANS; i++) {
        g_assert_cmpuint(next[i], ==, SCAN_ROWS);
        kw_range_scan_close(scans[i]);
    }
}

/* --- only one server, and it is silent -------------------------------------------------------- */

static void
test_deadline_of_frozen(void)
{
    bed alone = {.tuning = bed_tuning};
    kw_model_hbase settings = bed_settings(&servers[0], 1);
    alone.tuning.connect_timeout_ms = 30000; /* so that the deadline ends the calls */
    bed_open(&alone, &settings);
    bed_await_ready(&alone);
    g_free(real_thrift("freeze victim"));
    uint64_t start = kw_clock_mono_ns();
    answer got = bed_get(&alone, table, "s00000", 800);
    uint64_t took_ms = (kw_clock_mono_ns() - start) / 1000000;
    g_assert_cmpint(got.error.code, ==, KW_TIMEOUT);
    g_assert_cmpuint(took_ms, <, 30000);
    answer put = bed_put(&alone, table, "frozen", "f", "q", "v", KW_TIMESTAMP_NONE, 800);
    g_assert_cmpint(put.error.code, ==, KW_TIMEOUT);
    g_free(real_thrift("thaw victim"));
    got = bed_get(&alone, table, "s00000", 60000);
    g_assert_cmpstr(got.error.text, ==, "");
    answer_clear(&got);
    bed_close(&alone);
}

/* --- the form of the server changes ------------------------------------------------------------ */

static void
test_every_form(void)
{
    static const char *const forms[] = {"buffered-binary", "buffered-compact", "framed-binary",
                                        "framed-compact"};
    bed alone = {.tuning = bed_tuning};
    kw_model_hbase settings = bed_settings(&servers[0], 1);
    bed_open(&alone, &settings);
    for (uint8_t i = 0; i < G_N_ELEMENTS(forms); i++) {
        g_autofree char *command = g_strdup_printf("start victim %s %u", forms[i], servers[0].port);
        bed_await_ready(&alone);
        g_free(real_thrift("kill victim"));
        bed_run_loop(&alone, 300);
        g_free(real_thrift(command));
        bed_await_ready(&alone);
        answer got = bed_get(&alone, table, "s00000", 60000);
        g_assert_cmpstr(got.error.text, ==, "");
        answer_clear(&got);
        g_assert_cmpuint(atomic_load(&((kw_hbase_store *)alone.store)->forms[0]), ==, i);
    }
    bed_close(&alone);
}

int
main(int argc, char **argv)
{
    bool framed;
    real_init(&argc, &argv, &servers[1], &framed);
    g_assert_true(framed);
    g_autofree char *port = real_thrift("start victim framed-compact");
    servers[0] = (kw_model_server){.host = "127.0.0.1", .port = (uint16_t)strtoul(port, NULL, 10)};
    kw_model_hbase settings = bed_settings(servers, 2);
    settings.channels = 4;
    on.tuning = bed_tuning;
    on.tuning.connect_timeout_ms = SILENCE_MS;
    bed_open(&on, &settings);
    bed_await_ready(&on);
    snprintf(table, sizeof table, "kwk_%d", (int)getpid());
    answer made = bed_create(&on, table, "f", NULL, 0);
    g_assert_cmpstr(made.error.text, ==, "");
    g_test_add_func("/hbase/kill/under-stamped", test_kill_under_stamped);
    g_test_add_func("/hbase/kill/under-unstamped", test_kill_under_unstamped);
    g_test_add_func("/hbase/kill/freeze-under-stamped", test_freeze_under_stamped);
    g_test_add_func("/hbase/kill/freeze-under-unstamped", test_freeze_under_unstamped);
    g_test_add_func("/hbase/kill/under-scan", test_kill_under_scan);
    g_test_add_func("/hbase/kill/deadline-of-frozen", test_deadline_of_frozen);
    g_test_add_func("/hbase/kill/every-form", test_every_form);
    int failed = g_test_run();
    answer dropped = bed_drop(&on, table);
    answer_clear(&dropped);
    bed_close(&on);
    g_free(real_thrift("stop victim"));
    g_free((char *)servers[1].host);
    return failed;
}

/* Records one history and judges it: record_history --workload NAME --gateways ADDRESS,... [options].
 *
 *   callers execute the workload for a while (--until-line: until a line arrives) --> prints "quiet"
 *   reads lines "tie RECORD VALUE VALUE": the puts of these values had the same timestamp (judge.h)
 *   reads another line: the faults have ended
 *   reads every record once more by each gateway and path --> judges the history, saves a wrong one
 *
 * Prints one line of JSON; exits with 1 if the history is wrong.
 */
#include "histories/client.h"
#include "histories/workload.h"

#include "base/clock.h"
#include "base/thread.h"

#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLERS_MOST 64
#define RECORDS_MOST 64
#define BURST_CALLS_MOST 3
#define BURSTS_RARER_NS                                                                                      \
    (UINT64_C(5) * 1000 * 1000 * 1000) /* bursts become rarer: a long history has enough calls */
#define LAST_READ_MS 120000
#define LATER_READS_MS 1000 /* longest time between two reads after the callers have ended */
#define VERSIONS_READ 10
#define PUTS_MOST 4 /* of one call */

static struct {
    char *workload, *gateways, *file, *table, *paths;
    int seed, callers, duration_ms, deadline_ms, pause_us, burst_ms, prefix, records, keep_ms;
    gboolean until_line, later_reads, exempt;
} options = {.seed = 1, .callers = 8, .duration_ms = 500, .deadline_ms = 3000, .pause_us = 500, .prefix = 1};

static GOptionEntry entries[] = {
    {"workload", 0, 0, G_OPTION_ARG_STRING, &options.workload, "operations of the callers", "NAME"},
    {"gateways", 0, 0, G_OPTION_ARG_STRING, &options.gateways, "where", "HOST:PORT,..."},
    {"table", 0, 0, G_OPTION_ARG_STRING, &options.table, "table (default: the workload's)", "NAME"},
    {"until-line", 0, 0, G_OPTION_ARG_NONE, &options.until_line,
     "record until a line arrives, for --duration at most", NULL},
    {"later-reads", 0, 0, G_OPTION_ARG_NONE, &options.later_reads,
     "read records now and then until the faults have ended", NULL},
    {"exempt", 0, 0, G_OPTION_ARG_NONE, &options.exempt,
     "the key rule changes on HBase: atomic operations as with order: stamp", NULL},
    {"paths", 0, 0, G_OPTION_ARG_STRING, &options.paths,
     "how the paths of a record are judged: together (default), in-order, texts-in-order or apart", "HOW"},
    {"file", 0, 0, G_OPTION_ARG_STRING, &options.file, "file for a wrong history", "FILE"},
    {"seed", 0, 0, G_OPTION_ARG_INT, &options.seed, "", "N"},
    {"callers", 0, 0, G_OPTION_ARG_INT, &options.callers, "", "N"},
    {"records", 0, 0, G_OPTION_ARG_INT, &options.records, "number of records (default: the workload's)", "N"},
    {"duration", 0, 0, G_OPTION_ARG_INT, &options.duration_ms, "", "MS"},
    {"deadline", 0, 0, G_OPTION_ARG_INT, &options.deadline_ms, "deadline of each call", "MS"},
    {"pause", 0, 0, G_OPTION_ARG_INT, &options.pause_us, "longest pause between calls", "US"},
    {"bursts", 0, 0, G_OPTION_ARG_INT, &options.burst_ms,
     "all callers call at the same times: average time between them (default: without pauses)", "MS"},
    {"keep", 0, 0, G_OPTION_ARG_INT, &options.keep_ms,
     "queries of hint paths that take longer can miss records (default: no limit)", "MS"},
    {"prefix", 0, 0, G_OPTION_ARG_INT, &options.prefix, "prefix of the records' names", "N"},
    {NULL, 0, 0, 0, NULL, NULL, NULL}};

static atomic_bool asked_to_end;
static GArray *ties; /* of judge_tie */

typedef struct caller {
    kw_thread thread;
    unsigned number;
    const workload *work;
    client_table table;
    unsigned records;
    client *connection;
    client *other; /* to another gateway, which also reads pages; or NULL */
    GRand *random;
    operations *done;
    uint32_t count;
    uint64_t begin_ns, until_ns;
    int64_t seen[RECORDS_MOST];     /* last value of the first text */
    int64_t texts[RECORDS_MOST][2]; /* the last ones that were read together */
} caller;

static int64_t
next_value(caller *by)
{
    return (int64_t)(by->number + 1) * 1000000 + ++by->count;
}

/* Some records of a table with hint paths do not move: their texts always have the same sides. */
static bool
is_of_other_side(const caller *by, const operation *of, unsigned field, int64_t value)
{
    return by->work->hint_paths && of->record % 3 == 0 &&
           operation_side(value) != (of->record / 3 >> field & 1);
}

static int64_t
next_value_of(caller *by, const operation *of, unsigned field)
{
    int64_t value = next_value(by);
    return is_of_other_side(by, of, field, value) ? next_value(by) : value;
}

static workload_step
choose_step(caller *by)
{
    unsigned sum = 0, at = 0;
    for (int i = 0; i < STEPS; i++)
        sum += by->work->shares[i];
    unsigned chosen = (unsigned)g_rand_int_range(by->random, 0, (gint32)sum);
    while (chosen >= by->work->shares[at])
        chosen -= by->work->shares[at++];
    return at;
}

/* --- operations ------------------------------------------------------------------------------- */

/* Binds the texts that the caller has read last. */
static void
bind_texts(const caller *by, operation *of)
{
    of->view = by->work->hint_paths + 2;
    memcpy(of->results, by->texts[of->record], sizeof by->texts[0]);
}

/* The hint path of a query, and the sides that it binds: a find binds all, a scan the first ones. */
static void
choose_place(caller *by, operation *of)
{
    static const uint8_t bound[] = {0, 1, 1, 3};
    bool of_texts = of->kind == OPERATION_FIND && g_rand_int_range(by->random, 0, 3) == 0;
    of->view = (uint32_t)g_rand_int_range(by->random, 1, (gint32)by->work->hint_paths + 1);
    if (of_texts && by->texts[of->record][0] != OPERATION_ABSENT)
        bind_texts(by, of);
    of->on = operation_path_fields(of->view);
    if (of->kind == OPERATION_SCAN)
        of->on &= bound[g_rand_int_range(by->random, 0, G_N_ELEMENTS(bound))];
    of->expected = g_rand_int_range(by->random, 0, 4) & of->on;
}

static operation
operation_for(caller *by, workload_step step)
{
    static const struct {
        operation_kind kind;
        uint8_t fields;
    } forms[STEPS] = {
        [STEP_PUT] = {OPERATION_PUT, 3},          [STEP_PUT_A] = {OPERATION_PUT, 1},
        [STEP_PUT_B] = {OPERATION_PUT, 2},        [STEP_REMOVE] = {OPERATION_REMOVE, 15},
        [STEP_REMOVE_A] = {OPERATION_REMOVE, 1},  [STEP_REMOVE_MAP] = {OPERATION_REMOVE, 3},
        [STEP_GET] = {OPERATION_GET, 15},         [STEP_GET_A] = {OPERATION_GET, 1},
        [STEP_GET_PATH] = {OPERATION_GET, 15},    [STEP_PUT_IF] = {OPERATION_PUT_IF, 3},
        [STEP_ADD] = {OPERATION_INCREMENT, 4},    [STEP_ADD_BOTH] = {OPERATION_INCREMENT, 12},
        [STEP_PUT_COUNTER] = {OPERATION_PUT, 4},  [STEP_PUT_MIXED] = {OPERATION_PUT, 5},
        [STEP_SCAN] = {OPERATION_SCAN, 15},       [STEP_SCAN_FILTER] = {OPERATION_SCAN, 15},
        [STEP_SCAN_MATCH] = {OPERATION_SCAN, 15}, [STEP_VERSIONS] = {OPERATION_VERSIONS, 15},
        [STEP_NUMBER] = {OPERATION_NUMBER, 1},    [STEP_FIND] = {OPERATION_FIND, 15},
        [STEP_SCAN_PATH] = {OPERATION_SCAN, 15},  [STEP_PUT_MANY] = {OPERATION_PUT, 3},
    };
    operation made = {.caller = by->number, .kind = forms[step].kind, .fields = forms[step].fields};
    made.record = (uint32_t)g_rand_int_range(by->random, 0, (gint32)by->records);
    made.view = step == STEP_GET_PATH;
    made.expected = OPERATION_ABSENT;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        made.values[i] = made.results[i] = OPERATION_ABSENT;
    for (int i = 0; i < OPERATION_FIELDS; i++)
        if (made.fields >> i & 1 && made.kind == OPERATION_INCREMENT)
            made.values[i] = g_rand_int_range(by->random, 1, 4);
        else if (made.fields >> i & 1 && i >= 2 && made.kind == OPERATION_PUT)
            made.values[i] = g_rand_int_range(by->random, 0, 1000);
        else if (made.fields >> i & 1 && (made.kind == OPERATION_PUT || made.kind == OPERATION_PUT_IF))
            made.values[i] = next_value_of(by, &made, (unsigned)i);
    if (step == STEP_FIND || step == STEP_SCAN_PATH)
        choose_place(by, &made);
    if (made.kind == OPERATION_PUT_IF)
        made.expected = by->seen[made.record];
    if (made.kind == OPERATION_NUMBER)
        made.record = by->number * 100000 + by->count++;
    return made;
}

static void
note_seen(caller *by, const operation *of)
{
    bool shows = (of->kind == OPERATION_GET || of->kind == OPERATION_FIND) && of->applied;
    if (shows && of->outcome == OPERATION_OK && of->record < RECORDS_MOST &&
        of->values[0] != OPERATION_ABSENT && of->values[1] != OPERATION_ABSENT)
        memcpy(by->texts[of->record], of->values, sizeof by->texts[0]);
    if (of->record >= RECORDS_MOST || of->outcome != OPERATION_OK || !(of->fields & 1) || of->view)
        return;
    if (of->kind == OPERATION_GET || of->kind == OPERATION_PUT ||
        (of->kind == OPERATION_PUT_IF && of->applied))
        by->seen[of->record] = of->values[0];
    else if (of->kind == OPERATION_REMOVE || of->kind == OPERATION_PUT_IF)
        by->seen[of->record] = OPERATION_ABSENT;
}

static void
scan(caller *by, workload_step step, operation made)
{
    /* The store compares decimal digits. */
    static const char *const filters[STEPS] = {
        [STEP_SCAN] = "",
        [STEP_SCAN_FILTER] = "ColumnPrefixFilter ('a')",
        [STEP_SCAN_MATCH] = "SingleColumnValueFilter ('d', 'a', =, 'regexstring:[02468]$', true, true)"};
    if (step == STEP_SCAN_FILTER)
        made.fields = 1;
    made.applied = step == STEP_SCAN_MATCH;
    client_scan(by->connection, &by->table, made, 0, by->records, g_rand_int_range(by->random, 3, 20),
                filters[step], by->done);
}

/* Pages of a few rows, or one page. */
static bool
scan_path(caller *by, operation of)
{
    int page_rows = g_rand_boolean(by->random) ? g_rand_int_range(by->random, 1, 6) : 2 * RECORDS_MOST;
    return client_scan_path(by->connection, g_rand_boolean(by->random) ? by->other : NULL, &by->table, of,
                            page_rows, by->done);
}

/* Records that follow each other in number. */
static void
put_many(caller *by)
{
    operation puts[PUTS_MOST];
    unsigned count = (unsigned)g_rand_int_range(by->random, 2, PUTS_MOST + 1);
    count = MIN(count, by->records);
    puts[0] = operation_for(by, STEP_PUT_MANY);
    for (unsigned i = 1; i < count; i++) {
        puts[i] = puts[0];
        puts[i].record = (puts[i - 1].record + 1) % by->records;
        for (unsigned field = 0; field < 2; field++)
            puts[i].values[field] = next_value_of(by, &puts[i], field);
    }
    bool sent = client_put_many(by->connection, &by->table, puts, count);
    for (unsigned i = 0; sent && i < count; i++) {
        note_seen(by, &puts[i]);
        g_array_append_val(by->done, puts[i]);
    }
}

static operation
read_of(const caller *by, uint32_t record, uint32_t view, operation_kind kind)
{
    operation made = {.caller = by->number,
                      .record = record,
                      .view = view,
                      .kind = kind,
                      .fields = 15,
                      .expected = OPERATION_ABSENT};
    for (int i = 0; i < OPERATION_FIELDS; i++)
        made.values[i] = made.results[i] = OPERATION_ABSENT;
    return made;
}

static void
execute(caller *by, operation *of)
{
    if (!client_do(by->connection, &by->table, of))
        return;
    note_seen(by, of);
    g_array_append_val(by->done, *of);
}

/* Looks for a record by the texts that were read just now. */
static void
find_again(caller *by, uint32_t record)
{
    operation made = read_of(by, record, 0, OPERATION_FIND);
    bind_texts(by, &made);
    made.on = operation_path_fields(made.view);
    execute(by, &made);
}

static void
take_step(caller *by)
{
    workload_step step = choose_step(by);
    if (step == STEP_PUT_MANY) {
        put_many(by);
        return;
    }
    operation made = operation_for(by, step);
    if (made.kind == OPERATION_SCAN || made.kind == OPERATION_VERSIONS)
        made.scan = by->number * 100000 + ++by->count;
    if (made.kind == OPERATION_SCAN && made.view) {
        scan_path(by, made);
    } else if (made.kind == OPERATION_SCAN) {
        scan(by, step, made);
    } else if (made.kind == OPERATION_VERSIONS) {
        client_versions(by->connection, &by->table, made, VERSIONS_READ, by->done);
    } else {
        execute(by, &made);
    }
    if (step == STEP_GET && by->work->hint_paths && made.values[0] != OPERATION_ABSENT &&
        made.values[1] != OPERATION_ABSENT)
        find_again(by, made.record);
}

static bool
is_over(const caller *by)
{
    return kw_clock_mono_ns() >= by->until_ns || atomic_load(&asked_to_end);
}

/* Few calls, but many of them at the same time. `times` has the same seed for all callers. */
static void
call_in_bursts(caller *by)
{
    g_autoptr(GRand) times = g_rand_new_with_seed((guint32)options.seed);
    uint64_t next_ns = by->begin_ns;
    while (!is_over(by)) {
        int calls = g_rand_int_range(by->random, 1, BURST_CALLS_MOST + 1);
        uint64_t now_ns = kw_clock_mono_ns();
        if (now_ns < next_ns)
            g_usleep((gulong)((next_ns - now_ns) / 1000));
        for (int i = 0; i < calls && !is_over(by); i++)
            take_step(by);
        while (next_ns <= kw_clock_mono_ns())
            next_ns += (uint64_t)g_rand_int_range(times, 1, 2 * options.burst_ms) * 1000000 *
                       (1 + (next_ns - by->begin_ns) / BURSTS_RARER_NS);
    }
}

static void
call_for_a_while(void *user)
{
    caller *by = user;
    if (options.burst_ms) {
        call_in_bursts(by);
        return;
    }
    while (!is_over(by)) {
        take_step(by);
        if (options.pause_us)
            g_usleep((gulong)g_rand_int_range(by->random, 0, options.pause_us + 1));
    }
}

/* Reads lines up to the next one that is no tie. */
static void
read_line(void)
{
    char line[100];
    judge_tie tie;
    do {
        if (!fgets(line, sizeof line, stdin))
            exit(2);
        if (sscanf(line, "tie %" SCNu32 " %" SCNd64 " %" SCNd64, &tie.record, &tie.one, &tie.other) == 3)
            g_array_append_val(ties, tie);
    } while (g_str_has_prefix(line, "tie "));
}

/* --- the last reads ---------------------------------------------------------------------------------- */

/* False if it got no reply. */
static bool
read_once(caller *by, operation made)
{
    if (made.kind == OPERATION_SCAN) {
        made.scan = by->number * 100000 + ++by->count;
        return scan_path(by, made);
    }
    if (made.kind == OPERATION_VERSIONS) {
        made.scan = by->number * 100000 + ++by->count;
        return client_versions(by->connection, &by->table, made, VERSIONS_READ, by->done);
    }
    if (!client_do(by->connection, &by->table, &made))
        return false;
    note_seen(by, &made);
    g_array_append_val(by->done, made);
    return true;
}

static bool
read_last(caller *by, operation made)
{
    uint64_t until_ns = kw_clock_mono_ns() + (uint64_t)LAST_READ_MS * 1000000;
    made.last = true;
    while (!read_once(by, made)) {
        if (kw_clock_mono_ns() > until_ns) {
            fprintf(stderr, "record %u cannot be read: %s\n", made.record, client_why(by->connection));
            return false;
        }
        g_usleep(20000);
    }
    return true;
}

/* Looks for the record at all places of the hint paths. */
static bool
find_last(caller *by, uint32_t record)
{
    bool good = true;
    for (uint32_t view = 1; view <= by->work->hint_paths; view++)
        for (uint8_t sides = 0; sides <= operation_path_fields(view) && good; sides++) {
            operation made = read_of(by, record, view, OPERATION_FIND);
            made.on = operation_path_fields(view);
            made.expected = sides;
            good = read_last(by, made);
        }
    if (good && by->work->hint_paths && by->texts[record][0] != OPERATION_ABSENT) {
        operation made = read_of(by, record, 0, OPERATION_FIND);
        bind_texts(by, &made);
        made.on = operation_path_fields(made.view);
        good = read_last(by, made);
    }
    return good;
}

/* Scans the hint paths as a whole. */
static bool
scan_last(caller *by)
{
    bool good = true;
    for (uint32_t view = 1; view <= by->work->hint_paths && good; view++) {
        operation made = read_of(by, 0, view, OPERATION_SCAN);
        made.expected = 0;
        good = read_last(by, made);
    }
    return good;
}

static bool
read_all_last(caller *callers, size_t gateways)
{
    bool good = true;
    if (callers[0].work->shares[STEP_NUMBER])
        return true;
    for (size_t i = 0; i < gateways && i < (size_t)options.callers; i++) {
        good = good && scan_last(&callers[i]);
        for (uint32_t record = 0; record < callers[i].records && good; record++) {
            good = read_last(&callers[i], read_of(&callers[i], record, 0, OPERATION_GET));
            if (callers[i].table.second_path)
                good = good && read_last(&callers[i], read_of(&callers[i], record, 1, OPERATION_GET));
            if (callers[i].work->shares[STEP_VERSIONS])
                good = good && read_last(&callers[i], read_of(&callers[i], record, 0, OPERATION_VERSIONS));
            good = good && find_last(&callers[i], record);
        }
    }
    return good;
}

/* Reads records now and then, until a line arrives: what was written must stay. */
static void
read_until_line(caller *callers, size_t gateways)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    GRand *random = callers[0].random;
    size_t count = MIN(gateways, (size_t)options.callers);
    bool reads = options.later_reads && !callers[0].work->shares[STEP_NUMBER];
    while (poll(&input, 1, reads ? g_rand_int_range(random, 1, LATER_READS_MS) : -1) == 0) {
        caller *by = &callers[g_rand_int_range(random, 0, (gint32)count)];
        uint32_t record = (uint32_t)g_rand_int_range(random, 0, (gint32)by->records);
        bool views = by->table.second_path && g_rand_boolean(random);
        read_once(by, read_of(by, record, views, OPERATION_GET));
    }
    read_line();
}

/* True if one of these complaints is about versions. After ": " follows the operation, which can be a read of
 * versions in any complaint. */
static bool
complains_of_versions(const char *wrong)
{
    g_auto(GStrv) lines = g_strsplit(wrong, "\n", 0);
    for (char **line = lines; *line; line++) {
        char *end = strstr(*line, ": ");
        if (end)
            *end = '\0';
        if (strstr(*line, "version"))
            return true;
    }
    return false;
}

/* If the history is wrong, judges it again with one value for both values of each tie. The second judgement
 * ignores versions, because a tie can be one version or two; so errors of versions are final. */
static judgement
judge_with_ties(const operations *all, const workload *work)
{
    judge_rules rules = workload_rules(work, options.paths ? options.paths : "together", options.exempt);
    rules.keep_ms = options.keep_ms;
    judgement found = judge(all, rules);
    /* With hint paths, a record has one row. */
    if (!found.wrong || ties->len == 0 || work->hint_paths || complains_of_versions(found.wrong))
        return found;
    rules.versions = 0;
    operations *untied = judge_untie(all, (const judge_tie *)(void *)ties->data, ties->len);
    judgement again = judge(untied, rules);
    again.tied = !again.wrong;
    g_array_unref(untied);
    judgement_clear(&found);
    return again;
}

static int
print_judgement(const operations *all, const workload *work, bool complete)
{
    judgement found = judge_with_ties(all, work);
    unsigned outcomes[3] = {0};
    for (guint i = 0; i < all->len; i++)
        outcomes[operation_at(all, i)->outcome]++;
    if (found.wrong)
        fputs(found.wrong, stderr);
    if ((found.wrong || found.tied) && options.file)
        operations_save(all, options.file);
    printf("{\"workload\": \"%s\", \"seed\": %d, \"ok\": %u, \"failed\": %u, \"unknown\": %u, \"undecided\": "
           "%u, \"differing\": %u, \"tied\": %s, \"complete\": %s, \"right\": %s}\n",
           work->name, options.seed, outcomes[OPERATION_OK], outcomes[OPERATION_FAILED],
           outcomes[OPERATION_UNKNOWN], found.undecided, found.differing, found.tied ? "true" : "false",
           complete ? "true" : "false", found.wrong ? "false" : "true");
    bool right = !found.wrong;
    judgement_clear(&found);
    return right && complete ? 0 : 1;
}

/* --- main -------------------------------------------------------------------------------------------- */

static void
caller_init(caller *by, unsigned number, const workload *work, const char *gateway, const char *other,
            uint64_t begin_ns)
{
    *by = (caller){.number = number,
                   .work = work,
                   .table = {.name = options.table ? options.table : work->table,
                             .second_path = work->second_path,
                             .has_map = work->has_map,
                             .has_sides = work->hint_paths > 0,
                             .prefix = (unsigned)options.prefix},
                   .records = options.records ? (unsigned)options.records : work->records,
                   .connection = client_new(gateway, options.deadline_ms),
                   .other = other ? client_new(other, options.deadline_ms) : NULL,
                   .random = g_rand_new_with_seed((guint32)options.seed * 1000 + number),
                   .done = operations_new(),
                   .begin_ns = begin_ns,
                   .until_ns = begin_ns + (uint64_t)options.duration_ms * 1000000};
    for (int i = 0; i < RECORDS_MOST; i++)
        by->seen[i] = by->texts[i][0] = OPERATION_ABSENT;
}

static void
wait_for_callers(caller *callers)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (options.until_line && poll(&input, 1, options.duration_ms) == 1)
        read_line();
    if (options.until_line)
        atomic_store(&asked_to_end, true);
    for (int i = 0; i < options.callers; i++) {
        kw_thread_join(&callers[i].thread);
        client_hang_up(callers[i].connection);
        if (callers[i].other)
            client_hang_up(callers[i].other);
    }
}

int
main(int argc, char **argv)
{
    static caller callers[CALLERS_MOST];
    g_autoptr(GOptionContext) context = g_option_context_new("- records a history and judges it");
    g_autoptr(GError) error = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error) || !options.workload || !options.gateways ||
        options.callers > CALLERS_MOST)
        g_error("%s", error ? error->message : "--workload and --gateways are required");
    const workload *work = workload_find(options.workload);
    g_auto(GStrv) gateways = g_strsplit(options.gateways, ",", -1);
    size_t gateways_count = g_strv_length(gateways);
    ties = g_array_new(FALSE, FALSE, sizeof(judge_tie));
    uint64_t begin_ns = kw_clock_mono_ns();
    for (unsigned i = 0; i < (unsigned)options.callers; i++)
        caller_init(&callers[i], i, work, gateways[i % gateways_count],
                    gateways_count > 1 ? gateways[(i + 1) % gateways_count] : NULL, begin_ns);
    for (int i = 0; i < options.callers; i++)
        kw_thread_start(&callers[i].thread, "caller", call_for_a_while, &callers[i]);
    wait_for_callers(callers);
    printf("quiet\n");
    fflush(stdout);
    read_until_line(callers, gateways_count);
    bool complete = read_all_last(callers, gateways_count);
    operations *all = operations_new();
    for (int i = 0; i < options.callers; i++)
        g_array_append_vals(all, callers[i].done->data, callers[i].done->len);
    return print_judgement(all, work, complete);
}

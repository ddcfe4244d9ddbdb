/* Many callers of a running gateway; concurrent_callers.py starts the gateway (KW_CALLERS_PORT) and checks
 * its metrics.
 *
 * Each caller gets the correct reply, no matter how the gateway batches calls for the store: histories of hot
 * records, pipelined writes in order, callers that disconnect, callers with short deadlines, bad records
 * among good ones, a thousand callers of one key, thousands of connections.
 *
 * Table `hot` has the fields id and value, and field strange if the store lacks its family.
 */
#include "support/caller_group.h"
#include "support/history.h"

#include "support/seeded.h"
#include "thrift/keyway_wire.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

#define TABLE KW_BYTES_LITERAL("hot")
#define PATIENCE_MS 120000

typedef __typeof__(*((kw_api_Record *)0)->items) item;

static group_server gateway = {.name = "keywayd", .form = {KW_WIRE_COMPACT, true}};

/* --- calls ------------------------------------------------------------------------------------ */

typedef struct record_parts {
    char id[32], value[32];
    kw_api_Record record;
    item items[3];
    kw_api_Options options;
} record_parts;

static void
add_text(record_parts *to, const char *name, kw_bytes text)
{
    item *added = &to->items[to->record.count++];
    added->key = kw_bytes_of_text(name);
    added->value = (kw_api_Value){.has_text = true, .text = text};
}

/* value NULL: only the key. deadline_ms 0: no deadline. */
static void
parts_init(record_parts *to, const char *id, const char *value, int32_t deadline_ms)
{
    *to = (record_parts){.options = {.has_deadline_ms = deadline_ms > 0, .deadline_ms = deadline_ms}};
    g_strlcpy(to->id, id, sizeof to->id);
    to->record.items = (void *)to->items;
    add_text(to, "id", kw_bytes_of_text(to->id));
    if (value) {
        g_strlcpy(to->value, value, sizeof to->value);
        add_text(to, "value", kw_bytes_of_text(to->value));
    }
}

static void
send_put(group_caller *caller, const record_parts *parts, uint64_t tag)
{
    kw_api_Data_put_args args = {.has_table = true, .table = TABLE, .has_record = true};
    args.record = parts->record;
    args.has_options = true;
    args.options = &parts->options;
    group_caller_send(caller, &kw_api_methods[KW_API_Data_put], &args, tag);
}

static void
send_remove(group_caller *caller, const record_parts *parts, uint64_t tag)
{
    kw_api_Data_remove_args args = {.has_table = true, .table = TABLE, .has_key = true};
    args.key = parts->record;
    args.has_options = true;
    args.options = &parts->options;
    group_caller_send(caller, &kw_api_methods[KW_API_Data_remove], &args, tag);
}

static void
send_get(group_caller *caller, const record_parts *parts, uint64_t tag)
{
    kw_api_Data_get_args args = {.has_table = true, .table = TABLE, .has_key = true};
    args.key = parts->record;
    args.has_options = true;
    args.options = &parts->options;
    group_caller_send(caller, &kw_api_methods[KW_API_Data_get], &args, tag);
}

/* The outcome of a call. */
typedef struct call_outcome {
    kw_api_Code code; /* 0: success */
    bool maybe_applied;
    kw_bytes text;  /* the error */
    kw_bytes value; /* of a get; KW_BYTES_NONE if there is no such record */
} call_outcome;

static call_outcome
outcome_of_error(const kw_api_KeywayError *error)
{
    return (call_outcome){.code = (kw_api_Code)error->code,
                          .maybe_applied = error->has_maybe_applied && error->maybe_applied,
                          .text = error->message};
}

static call_outcome
outcome_of_written(const kw_api_Written *written)
{
    if (written->outcome == KW_API_Outcome_OK)
        return (call_outcome){0};
    return (call_outcome){.code = (kw_api_Code)written->failure->code,
                          .maybe_applied = written->outcome == KW_API_Outcome_UNKNOWN,
                          .text = written->failure->message};
}

static call_outcome
outcome_of_found(const kw_api_Found *found)
{
    call_outcome result = {.value = KW_BYTES_NONE};
    for (uint32_t i = 0; found->has_record && i < found->record.count; i++)
        if (kw_bytes_equal(found->record.items[i].key, KW_BYTES_LITERAL("value")))
            result.value = found->record.items[i].value.text;
    return result;
}

static call_outcome
outcome_of(const group_answer *answer)
{
    g_assert_nonnull(answer->result);
    if (answer->method == &kw_api_methods[KW_API_Data_put]) {
        const kw_api_Data_put_result *put = answer->result;
        return put->failure ? outcome_of_error(put->failure) : outcome_of_written(put->success);
    }
    if (answer->method == &kw_api_methods[KW_API_Data_remove]) {
        const kw_api_Data_remove_result *removed = answer->result;
        return removed->failure ? outcome_of_error(removed->failure) : outcome_of_written(removed->success);
    }
    const kw_api_Data_get_result *got = answer->result;
    return got->failure ? outcome_of_error(got->failure) : outcome_of_found(got->success);
}

static void
expect_ok(const group_answer *answer)
{
    call_outcome got = outcome_of(answer);
    if (got.code)
        g_error("%s: %.*s", answer->method->name, (int)got.text.size, (const char *)got.text.data);
}

static uint64_t
number_of(kw_bytes text)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.size; i++)
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    return number;
}

static void
run_all(unsigned callers, const group_handlers *handlers, void *user)
{
    caller_group *all = caller_group_open(&gateway, callers, PATIENCE_MS, handlers, user);
    g_assert_cmpuint(caller_group_size(all), ==, callers);
    caller_group_start(all);
    bool answered = caller_group_run(all, kw_deadline_in_ms(PATIENCE_MS));
    g_assert_true(answered);
    caller_group_close(all);
}

/* --- histories -------------------------------------------------------------------------------- */

#define HISTORY_CALLERS 100
#define HISTORY_CALLS 50
#define HOT_KEYS 4 /* removes use the upper half */

typedef struct memory {
    history *seen;
    uint64_t values;
    unsigned left[HISTORY_CALLERS];
    unsigned outcomes[3]; /* ok, not applied, unknown */
    unsigned run;         /* each run has other keys */
} memory;

static void
history_next(group_caller *caller, void *user)
{
    memory *of = user;
    unsigned number = group_caller_number(caller);
    if (of->left[number]++ == HISTORY_CALLS)
        return;
    int dice = g_test_rand_int_range(0, 100);
    uint32_t key = (uint32_t)g_test_rand_int_range(0, HOT_KEYS);
    bool removes = dice >= 92 && key >= HOT_KEYS / 2;
    uint64_t value = dice < 50 || removes ? 0 : ++of->values;
    char id[32], text[32];
    record_parts parts;
    snprintf(id, sizeof id, "hot-%u-%u", of->run, key);
    snprintf(text, sizeof text, "%" G_GUINT64_FORMAT, value);
    parts_init(&parts, id, value ? text : NULL, number % 4 == 3 ? g_test_rand_int_range(1, 8) : 0);
    size_t op =
        history_begin(of->seen, value ? HISTORY_PUT : (removes ? HISTORY_REMOVE : HISTORY_GET), key, value);
    if (value)
        send_put(caller, &parts, op);
    else if (removes)
        send_remove(caller, &parts, op);
    else
        send_get(caller, &parts, op);
}

static void
history_answer(group_caller *caller, const group_answer *answer, void *user)
{
    memory *of = user;
    call_outcome got = outcome_of(answer);
    bool hasty = group_caller_number(caller) % 4 == 3;
    bool late = got.code == KW_API_Code_TIMEOUT || got.code == KW_API_Code_BUSY; /* too late to succeed */
    if (got.code && !(hasty && late))
        expect_ok(answer);
    if (!got.code)
        history_end(of->seen, answer->tag, number_of(got.value));
    else if (!got.maybe_applied)
        history_failed(of->seen, answer->tag);
    of->outcomes[got.code ? (got.maybe_applied ? 2 : 1) : 0]++;
    history_next(caller, of);
}

static void
test_history(void)
{
    static const group_handlers handlers = {.start = history_next, .answer = history_answer};
    memory of = {.seen = history_new(), .run = (unsigned)g_test_rand_int_range(0, G_MAXINT32)};
    run_all(HISTORY_CALLERS, &handlers, &of);
    g_test_message("%u ok, %u not applied, %u unknown", of.outcomes[0], of.outcomes[1], of.outcomes[2]);
    g_assert_cmpuint(history_count(of.seen), ==, HISTORY_CALLERS * HISTORY_CALLS);
    g_assert_cmpuint(of.outcomes[0], >=, HISTORY_CALLERS * HISTORY_CALLS * 3 / 4);
    g_autofree char *wrong = history_wrong(of.seen);
    g_assert_cmpstr(wrong, ==, NULL);
    history_free(of.seen);
}

/* --- pipelined writes ------------------------------------------------------------------------- */

#define PIPE_CALLERS 32
#define PIPE_WRITES 30
#define PIPE_ROUNDS 5

typedef struct pipes {
    unsigned round[PIPE_CALLERS];
} pipes;

/* True if the round ends with a remove. (A put after a remove waits for its reply, and the remove waits until
 * the time of its stamp has passed.) */
static bool
ends_with_remove(unsigned round)
{
    return round % 2;
}

/* Every caller writes its own record repeatedly without waiting for replies, and then reads it. */
static void
pipe_start(group_caller *caller, void *user)
{
    pipes *of = user;
    unsigned number = group_caller_number(caller), round = of->round[number];
    record_parts key, put;
    char id[32], value[32];
    snprintf(id, sizeof id, "pipe-%u", number);
    parts_init(&key, id, NULL, 0);
    for (unsigned i = 0; i < PIPE_WRITES; i++) {
        snprintf(value, sizeof value, "%u", round * PIPE_WRITES + i + 1);
        parts_init(&put, id, value, 0);
        if (i == PIPE_WRITES - 1 && ends_with_remove(round))
            send_remove(caller, &key, 0);
        else
            send_put(caller, &put, 0);
    }
}

static void
pipe_answer(group_caller *caller, const group_answer *answer, void *user)
{
    pipes *of = user;
    unsigned number = group_caller_number(caller);
    call_outcome got = outcome_of(answer);
    char id[32];
    expect_ok(answer);
    if (answer->tag == 1) {
        unsigned round = of->round[number];
        uint64_t wanted = ends_with_remove(round) ? 0 : (round + 1) * PIPE_WRITES;
        g_assert_cmpuint(number_of(got.value), ==, wanted);
        if (++of->round[number] < PIPE_ROUNDS)
            pipe_start(caller, of);
    } else if (group_caller_outstanding(caller) == 0) {
        record_parts key;
        snprintf(id, sizeof id, "pipe-%u", number);
        parts_init(&key, id, NULL, 0);
        send_get(caller, &key, 1);
    }
}

static void
test_pipelined(void)
{
    static const group_handlers handlers = {.start = pipe_start, .answer = pipe_answer};
    pipes of = {0};
    run_all(PIPE_CALLERS, &handlers, &of);
    for (unsigned i = 0; i < PIPE_CALLERS; i++)
        g_assert_cmpuint(of.round[i], ==, PIPE_ROUNDS);
}

/* --- callers that disconnect ------------------------------------------------------------------ */

#define VANISH_CALLERS 200
#define VANISH_CALLS 20

typedef struct staying {
    unsigned answers[VANISH_CALLERS];
    bool reading;
} staying;

static void
vanish_next(group_caller *caller, void *user)
{
    staying *of = user;
    unsigned number = group_caller_number(caller);
    char id[32];
    record_parts parts;
    snprintf(id, sizeof id, "vanish-%u", number);
    parts_init(&parts, id, of->reading ? NULL : "1", 0);
    if (of->reading)
        send_get(caller, &parts, 0);
    else
        send_put(caller, &parts, 0);
    if (number % 2 && !of->reading && of->answers[number] == 0)
        group_caller_disconnect(caller); /* during its first put */
}

static void
vanish_answer(group_caller *caller, const group_answer *answer, void *user)
{
    staying *of = user;
    unsigned number = group_caller_number(caller);
    call_outcome got = outcome_of(answer);
    expect_ok(answer);
    of->answers[number]++;
    if (of->reading) {
        g_assert_true(got.value.size == 0 || kw_bytes_equal(got.value, KW_BYTES_LITERAL("1")));
        g_assert_true(number % 2 || got.value.size == 1);
    } else if (of->answers[number] < VANISH_CALLS) {
        vanish_next(caller, of);
    }
}

static void
test_vanish(void)
{
    static const group_handlers handlers = {.start = vanish_next, .answer = vanish_answer};
    staying of = {0};
    run_all(VANISH_CALLERS, &handlers, &of);
    for (unsigned i = 0; i < VANISH_CALLERS; i++)
        g_assert_cmpuint(of.answers[i], ==, i % 2 ? 0 : VANISH_CALLS);
    of.reading = true;
    run_all(VANISH_CALLERS, &handlers, &of);
}

/* --- bad records ------------------------------------------------------------------------------ */

#define BAD_CALLERS 64
#define BAD_CALLS 20

static bool strange_is_bad; /* true if the store has no family for field strange */

typedef struct goodness {
    unsigned calls[BAD_CALLERS];
    unsigned refused;
} goodness;

static bool
is_bad(unsigned number, unsigned call)
{
    return number % 8 == 1 && call % 3 == 0;
}

static void
bad_next(group_caller *caller, void *user)
{
    goodness *of = user;
    unsigned number = group_caller_number(caller), call = of->calls[number];
    char id[32];
    record_parts parts;
    snprintf(id, sizeof id, "bad-%u-%u", number, call);
    parts_init(&parts, id, "1", 0);
    if (is_bad(number, call))
        add_text(&parts, strange_is_bad ? "strange" : "no-such-field", KW_BYTES_LITERAL("x"));
    send_put(caller, &parts, is_bad(number, call));
}

static void
bad_answer(group_caller *caller, const group_answer *answer, void *user)
{
    goodness *of = user;
    call_outcome got = outcome_of(answer);
    if (answer->tag) {
        g_assert_cmpint(got.code, ==, KW_API_Code_INVALID);
        g_assert_false(got.maybe_applied);
        g_assert_cmpuint(got.text.size, >, 0);
        of->refused++;
    } else {
        expect_ok(answer);
    }
    if (++of->calls[group_caller_number(caller)] < BAD_CALLS)
        bad_next(caller, of);
}

static void
test_bad_among_good(void)
{
    static const group_handlers handlers = {.start = bad_next, .answer = bad_answer};
    goodness of = {0};
    run_all(BAD_CALLERS, &handlers, &of);
    g_assert_cmpuint(of.refused, ==, BAD_CALLERS / 8 * ((BAD_CALLS + 2) / 3));
}

/* --- many callers ----------------------------------------------------------------------------- */

static void
one_get(group_caller *caller, void *user)
{
    record_parts key;
    parts_init(&key, user, NULL, 0);
    send_get(caller, &key, 0);
}

static void
one_answer(group_caller *caller, const group_answer *answer, void *user)
{
    call_outcome got = outcome_of(answer);
    (void)caller, (void)user;
    expect_ok(answer);
    g_assert_true(kw_bytes_equal(got.value, KW_BYTES_LITERAL("7")));
}

static void
put_seven(group_caller *caller, void *user)
{
    record_parts parts;
    parts_init(&parts, user, "7", 0);
    send_put(caller, &parts, 0);
}

static void
put_answer(group_caller *caller, const group_answer *answer, void *user)
{
    (void)caller, (void)user;
    expect_ok(answer);
}

static void
get_by_many(unsigned callers)
{
    static const group_handlers writer = {.start = put_seven, .answer = put_answer};
    static const group_handlers handlers = {.start = one_get, .answer = one_answer};
    if (!g_getenv("KW_CALLERS_WRITTEN"))
        run_all(1, &writer, "hot-one");
    run_all(callers, &handlers, "hot-one");
}

static void
test_hot_key(void)
{
    get_by_many(1000);
}

static void
test_many(void)
{
    const char *callers = g_getenv("KW_CALLERS");
    get_by_many(callers ? (unsigned)atoi(callers) : 2000);
}

int
main(int argc, char **argv)
{
    const char *port = g_getenv("KW_CALLERS_PORT");
    seeded_init(&argc, &argv);
    if (!port)
        g_error("KW_CALLERS_PORT is not set: concurrent_callers.py runs this");
    gateway.port = (uint16_t)atoi(port);
    strange_is_bad = g_getenv("KW_CALLERS_STRANGE") != NULL;
    g_test_add_func("/caller_group/history", test_history);
    g_test_add_func("/caller_group/pipelined", test_pipelined);
    g_test_add_func("/caller_group/vanish", test_vanish);
    g_test_add_func("/caller_group/bad-among-good", test_bad_among_good);
    g_test_add_func("/caller_group/hot-key", test_hot_key);
    g_test_add_func("/caller_group/many", test_many);
    return g_test_run();
}

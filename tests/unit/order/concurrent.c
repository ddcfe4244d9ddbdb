#include "concurrent.h"

#include "histories/linear.h"
#include "store/refuse.h"

static const kw_ordering orderings[] = {
    [KW_WRITE_ORDER_STORE] = {.regime.order = KW_WRITE_ORDER_STORE, .family = {(const uint8_t *)"f", 1}},
    [KW_WRITE_ORDER_RAISED] = {.regime.order = KW_WRITE_ORDER_RAISED, .family = {(const uint8_t *)"f", 1}},
    [KW_WRITE_ORDER_STAMP] = {.regime.order = KW_WRITE_ORDER_STAMP,
                              .family = {(const uint8_t *)"f", 1},
                              .regime.waits_for_next_ms = true,
                              .regime.keeps_gone = true}};
static const kw_ordering atomic_ordering = {.regime.order = KW_WRITE_ORDER_STAMP,
                                            .regime.atomics = KW_ATOMICS_CAS,
                                            .counters = true,
                                            .family = {(const uint8_t *)"f", 1}};

typedef struct caller caller;

struct town {
    kw_loop *loop;
    kw_store *rows[GATEWAYS], *stores[GATEWAYS];
    kw_store_handle *handles[GATEWAYS];
    form forms[2];
    GRand *random;
    double trouble; /* the probability that a call is not just answered */
    uint64_t moment;
    int64_t next_value;
    caller *callers;
    size_t running;
    int64_t swept_ms; /* all writes with lower timestamps have ended */
    GArray *effects[RECORDS][FIELDS];
    GArray *others[RECORDS][FIELDS]; /* with `paths`: what the new placement shows */
    bool lost[RECORDS][FIELDS];      /* an increment of unknown result was written there */
};

typedef enum op_kind { OP_GET, OP_WRITE, OP_WRITE_IF, OP_ADD } op_kind;

struct caller {
    town *in;
    unsigned record, ops_left;
    unsigned gateway;
    form how; /* of the present operation */
    op_kind kind;
    bool other_path;  /* a get of the new placement, with `paths` */
    int64_t expected; /* conditional writes: of field a */
    int64_t last_read;
    kw_check check;
    kw_increment increment;
    int64_t amount;
    uint8_t value_bytes[8];
    uint8_t fields;
    int64_t value; /* OPERATION_ABSENT: a removal */
    uint64_t begin;
    kw_arena *arena; /* of the present operation */
    kw_write writes[2];
    const kw_write *list[2];
    size_t writes_count;
    kw_written written[2];
    kw_row_target other;
    kw_get get;
    kw_row_copy copy;
    kw_row_sweep sweep;
};

/* --- what happened ------------------------------------------------------------------------------ */

/* `other`: of the new placement, if it is a path of its own. */
static void
note_effect(caller *of, unsigned field, const effect *added, bool other)
{
    effect copy = *added;
    copy.fields = 1;
    copy.begin_ns = of->begin;
    g_array_append_val((other ? of->in->others : of->in->effects)[of->record][field], copy);
}

static void
note(caller *of, unsigned field, int64_t value, uint64_t end)
{
    effect added = {
        .kind = of->kind == OP_GET ? EFFECT_READ : EFFECT_WRITE, .values = {value}, .end_ns = end};
    if (of->kind != OP_GET || !of->other_path)
        note_effect(of, field, &added, false);
    if (of->kind != OP_GET || of->other_path)
        note_effect(of, field, &added, true);
}

static void begin_op(caller *of);

static void
end_op(caller *of)
{
    kw_arena_free(g_steal_pointer(&of->arena));
    begin_op(of);
}

static int64_t
value_in(const kw_row *row, unsigned field)
{
    for (uint32_t i = 0; i < row->cells_count; i++)
        if (row->cells[i].qualifier.data[0] == 'a' + field)
            return (int64_t)kw_be64_load(row->cells[i].value.data);
    return OPERATION_ABSENT;
}

static void
on_rows(void *user, kw_rows *rows, const kw_error *error)
{
    caller *of = user;
    uint64_t end = ++of->in->moment;
    for (unsigned i = 0; !error && i < FIELDS; i++)
        if (of->fields >> i & 1)
            note(of, i, value_in(&rows->rows[0], i), end);
    if (!error && of->fields & 1)
        of->last_read = value_in(&rows->rows[0], 0);
    kw_rows_free(rows);
    end_op(of);
}

static void
on_written(void *user)
{
    caller *of = user;
    size_t good = 0, failed = 0;
    for (size_t i = 0; i < of->writes_count; i++) {
        good += of->written[i].outcome == KW_OUTCOME_OK;
        failed += of->written[i].outcome == KW_OUTCOME_FAILED;
    }
    uint64_t end = ++of->in->moment;
    for (unsigned i = 0; failed < of->writes_count && i < FIELDS; i++)
        if (of->fields >> i & 1)
            note(of, i, of->value, good == of->writes_count ? end : OPERATION_NEVER);
    end_op(of);
}

/* In the new placement, an atomic operation is a write of its result. */
static void
note_atomic(caller *of, unsigned field, effect added, int64_t result, bool applied)
{
    note_effect(of, field, &added, false);
    effect written = {.kind = EFFECT_WRITE, .values = {result}, .end_ns = added.end_ns};
    if (applied)
        note_effect(of, field, &written, true);
}

static void
on_write_if(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    caller *of = user;
    uint64_t end = ++of->in->moment;
    bool unknown = outcome == KW_OUTCOME_UNKNOWN, written = unknown || applied;
    (void)error;
    effect a = {.kind = unknown   ? EFFECT_IF
                        : applied ? EFFECT_MET
                                  : EFFECT_NOT_MET,
                .expected = of->expected,
                .values = {of->value},
                .end_ns = unknown ? OPERATION_NEVER : end};
    effect b = {.kind = EFFECT_WRITE, .values = {of->value}, .end_ns = a.end_ns};
    if (outcome != KW_OUTCOME_FAILED)
        note_atomic(of, 0, a, of->value, written);
    if (outcome != KW_OUTCOME_FAILED && written && of->fields & 2)
        note_atomic(of, 1, b, of->value, true);
    end_op(of);
}

static void
on_added(void *user, kw_outcome outcome, kw_rows *rows, const kw_error *error)
{
    caller *of = user;
    uint64_t end = ++of->in->moment;
    bool known = outcome == KW_OUTCOME_OK;
    (void)error;
    int64_t result = known ? (int64_t)kw_be64_load(rows->rows[0].cells[0].value.data) : 0;
    effect added = {.kind = EFFECT_ADD,
                    .known = known,
                    .values = {of->amount},
                    .results = {result},
                    .end_ns = known ? end : OPERATION_NEVER};
    if (outcome != KW_OUTCOME_FAILED)
        note_atomic(of, 1, added, result, known);
    if (outcome == KW_OUTCOME_UNKNOWN)
        of->in->lost[of->record][1] = true;
    kw_rows_free(rows);
    end_op(of);
}

/* --- operations --------------------------------------------------------------------------------- */

static kw_bytes
row_of(const caller *of, char first)
{
    char *text = kw_arena_alloc(of->arena, 8);
    int size = g_snprintf(text, 8, "%c%u", first, of->record);
    return kw_bytes_of((uint8_t *)text, (size_t)size);
}

static const kw_ordering *
ordering_of(const caller *of)
{
    return of->how.atomics ? &atomic_ordering : &orderings[of->how.order];
}

static kw_column *
columns_of(const caller *of, size_t *ret_count)
{
    kw_column *columns = KW_ARENA_ARRAY(of->arena, kw_column, FIELDS);
    size_t count = 0;
    for (unsigned i = 0; i < FIELDS; i++)
        if (of->fields >> i & 1)
            columns[count++] = (kw_column){.family = KW_BYTES_LITERAL("f"),
                                           .qualifier = kw_bytes_of((const uint8_t *)(i ? "b" : "a"), 1)};
    *ret_count = count;
    return columns;
}

static kw_write
write_of(const caller *of, bool fresh)
{
    size_t count;
    kw_column *columns = columns_of(of, &count);
    kw_cell *cells = KW_ARENA_ARRAY(of->arena, kw_cell, count);
    uint8_t *value = kw_arena_alloc(of->arena, 8);
    kw_be64_store(value, (uint64_t)of->value);
    for (size_t i = 0; i < count; i++)
        cells[i] = (kw_cell){
            .family = columns[i].family, .qualifier = columns[i].qualifier, .value = kw_bytes_of(value, 8)};
    bool removes = of->value == OPERATION_ABSENT;
    return (kw_write){.kind = removes ? KW_WRITE_DELETE : KW_WRITE_PUT,
                      .table = kw_bytes_of_text(fresh ? "new" : "old"),
                      .row = row_of(of, fresh ? 'n' : 'r'),
                      .cells = cells,
                      .cells_count = removes ? 0 : count,
                      .columns = columns,
                      .columns_count = removes && count < FIELDS ? count : 0,
                      .timestamp = KW_TIMESTAMP_NONE,
                      .deadline = kw_deadline_in_ms(DEADLINE_MS),
                      .ordering = ordering_of(of)};
}

static void
begin_write(caller *of)
{
    of->writes_count = 0;
    for (int step = of->how.two ? 1 : 2; step <= 2; step++) {
        kw_write *write = &of->writes[of->writes_count];
        *write = write_of(of, of->how.new_last == (step == 2));
        write->record = of->how.two;
        write->step = of->how.paths ? 0 : (uint8_t)step;
        of->list[of->writes_count++] = write;
    }
    kw_store_handle_write_many(of->in->handles[of->gateway], of->list, of->writes_count, of->written,
                               on_written, of);
}

static void
begin_get(caller *of)
{
    kw_row_target rows[] = {{.table = KW_BYTES_LITERAL("old"), .row = row_of(of, 'r')},
                            {.table = KW_BYTES_LITERAL("new"), .row = row_of(of, 'n')}};
    unsigned read = of->how.new_last || of->other_path;
    of->other = rows[!read];
    of->get = (kw_get){.table = rows[read].table,
                       .row = rows[read].row,
                       .other = of->how.both ? &of->other : NULL,
                       .deadline = kw_deadline_in_ms(DEADLINE_MS),
                       .ordering = ordering_of(of)};
    if (of->fields != 3)
        of->get.columns = columns_of(of, &of->get.columns_count);
    kw_store_handle_get(of->in->handles[of->gateway], &of->get, on_rows, of);
}

/* An atomic operation begins with the placement that scans read. */
static void
begin_write_if(caller *of)
{
    bool expects = of->expected != OPERATION_ABSENT;
    kw_be64_store(of->value_bytes, (uint64_t)of->expected);
    of->writes[0] = write_of(of, of->how.new_last);
    of->other = (kw_row_target){kw_bytes_of_text(of->how.new_last ? "old" : "new"),
                                row_of(of, of->how.new_last ? 'r' : 'n'), 0};
    of->writes[0].others = &of->other;
    of->writes[0].others_count = of->how.two;
    of->check = (kw_check){.family = KW_BYTES_LITERAL("f"),
                           .qualifier = KW_BYTES_LITERAL("a"),
                           .compare = KW_COMPARE_EQUAL,
                           .has_value = expects,
                           .value = expects ? kw_bytes_of(of->value_bytes, 8) : KW_BYTES_NONE};
    kw_store_handle_write_if(of->in->handles[of->gateway], &of->writes[0], &of->check, on_write_if, of);
}

static void
begin_add(caller *of)
{
    size_t count;
    of->fields = 2;
    of->other = (kw_row_target){kw_bytes_of_text(of->how.new_last ? "old" : "new"),
                                row_of(of, of->how.new_last ? 'r' : 'n'), 0};
    of->increment = (kw_increment){.table = kw_bytes_of_text(of->how.new_last ? "new" : "old"),
                                   .row = row_of(of, of->how.new_last ? 'n' : 'r'),
                                   .columns = columns_of(of, &count),
                                   .amounts = &of->amount,
                                   .columns_count = 1,
                                   .deadline = kw_deadline_in_ms(DEADLINE_MS),
                                   .ordering = ordering_of(of),
                                   .others = &of->other,
                                   .others_count = of->how.two};
    kw_store_handle_increment(of->in->handles[of->gateway], &of->increment, on_added, of);
}

static void
on_work_done(void *user)
{
    end_op(user);
}

static void
begin_sweep(caller *of)
{
    of->sweep = (kw_row_sweep){.table = KW_BYTES_LITERAL("old"),
                               .row = row_of(of, 'r'),
                               .ordering = &orderings[of->how.order],
                               .until_ms = of->in->swept_ms};
    kw_store_handle_sweep_rows(of->in->handles[of->gateway], &of->sweep, 1, kw_deadline_in_ms(DEADLINE_MS),
                               of->written, on_work_done, of);
}

static void
begin_copy(caller *of)
{
    const form *how = &of->how;
    bool from_new = how->passes && how->new_last;
    of->copy = (kw_row_copy){.table = kw_bytes_of_text(from_new ? "new" : "old"),
                             .row = row_of(of, from_new ? 'n' : 'r'),
                             .to_table = kw_bytes_of_text(from_new ? "old" : "new"),
                             .to_row = row_of(of, from_new ? 'r' : 'n'),
                             .ordering = &orderings[how->order],
                             .both_ways = how->passes};
    kw_store_handle_copy_rows(of->in->handles[of->gateway], &of->copy, 1, kw_deadline_in_ms(DEADLINE_MS),
                              of->written, on_work_done, of);
}

static void
begin_op(caller *of)
{
    town *in = of->in;
    if (of->ops_left == 0) {
        in->running--;
        return;
    }
    of->ops_left--;
    of->arena = kw_arena_new();
    of->gateway = (unsigned)g_rand_int_range(in->random, 0, GATEWAYS);
    of->how = in->forms[g_rand_int_range(in->random, 0, 2)];
    of->kind = g_rand_int_range(in->random, 0, 5) < 2 ? OP_GET : OP_WRITE;
    if (of->how.atomics && of->kind == OP_WRITE && g_rand_boolean(in->random))
        of->kind = g_rand_boolean(in->random) ? OP_WRITE_IF : OP_ADD;
    of->other_path = of->how.paths && g_rand_boolean(in->random);
    of->fields = (uint8_t)g_rand_int_range(in->random, 1, 4);
    if (of->kind == OP_WRITE_IF)
        of->fields |= 1;
    bool removes = of->kind == OP_WRITE && g_rand_int_range(in->random, 0, 3) == 0;
    of->value = removes ? OPERATION_ABSENT : 100 * ++in->next_value;
    of->amount = g_rand_int_range(in->random, 1, 4);
    of->expected = of->last_read;
    of->begin = ++in->moment;
    bool works = g_rand_int_range(in->random, 0, 4) == 0;
    if (works && of->how.sweeps)
        begin_sweep(of);
    else if (works && (of->how.copies || of->how.passes))
        begin_copy(of);
    else if (of->kind == OP_GET)
        begin_get(of);
    else if (of->kind == OP_WRITE)
        begin_write(of);
    else if (of->kind == OP_WRITE_IF)
        begin_write_if(of);
    else
        begin_add(of);
}

/* --- trouble ------------------------------------------------------------------------------------ */

static kw_fate
draw(void *user, const kw_simulated_call *call)
{
    static const kw_fate fates[] = {KW_FATE_HELD, KW_FATE_HELD,    KW_FATE_HELD, KW_FATE_HELD,
                                    KW_FATE_LOST, KW_FATE_DROPPED, KW_FATE_LATE, KW_FATE_FAILED};
    town *in = user;
    kw_fate fate = fates[g_rand_int_range(in->random, 0, (gint32)G_N_ELEMENTS(fates))];
    if (g_rand_double(in->random) >= in->trouble)
        return KW_FATE_ANSWERED;
    return !call->write && fate != KW_FATE_HELD ? KW_FATE_FAILED : fate;
}

static void
set_flag(void *flag)
{
    *(bool *)flag = true;
}

/* Lets about a millisecond pass. */
static void
run_loop(town *in)
{
    bool done = false;
    kw_complete_later(in->handles[0], set_flag, &done);
    while (!done)
        uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
}

static void
disturb(town *in)
{
    for (unsigned i = 0; i < GATEWAYS; i++) {
        size_t held = kw_simulated_held(in->rows[i]);
        if (held && g_rand_double(in->random) < 0.05 + 0.01 * (double)held)
            kw_simulated_release(in->rows[i]);
        if (g_rand_double(in->random) < 0.002)
            kw_simulated_apply_late(in->rows[i]);
    }
    if (g_rand_double(in->random) < 0.0005)
        kw_simulated_purge(in->rows[0]);
}

/* --- the town ---------------------------------------------------------------------------------- */

/* The gateways have different errors of their clocks. Their latest times never end in the same digits. */
town *
town_new(form one, form other, uint32_t seed, double trouble)
{
    static const char *const tables[] = {"old", "new"};
    static const kw_order_settings settings = {
        .clock_width_ms = 50, .max_clock_skew_ms = SKEW_HERE_MS, .late_ms = 60000, .client_pause_ms = 100};
    town *in = g_new0(town, 1);
    in->loop = kw_loop_new();
    in->callers = g_new0(caller, RECORDS * CALLERS);
    in->random = g_rand_new_with_seed(seed);
    in->trouble = trouble;
    in->forms[0] = one;
    in->forms[1] = other;
    in->rows[0] = kw_simulated_store_open(tables, G_N_ELEMENTS(tables));
    in->rows[1] = kw_simulated_store_join(in->rows[0]);
    for (unsigned i = 0; i < GATEWAYS; i++) {
        kw_simulated_follow_clock(in->rows[i], g_rand_int_range(in->random, 0, 3),
                                  g_rand_int_range(in->random, 0, 3),
                                  g_rand_int_range(in->random, -SKEW_HERE_MS, SKEW_HERE_MS + 1));
        if (other.order == KW_WRITE_ORDER_STAMP)
            kw_simulated_set_grid(in->rows[i], 16, 8 * (int64_t)i);
        kw_simulated_set_fate(in->rows[i], draw, in);
        in->stores[i] = kw_order_store_new(in->rows[i], &settings);
        in->handles[i] = kw_store_open_handle(in->stores[i], in->loop);
    }
    for (unsigned i = 0; i < RECORDS * FIELDS; i++) {
        in->effects[i / FIELDS][i % FIELDS] = g_array_new(FALSE, TRUE, sizeof(effect));
        in->others[i / FIELDS][i % FIELDS] = g_array_new(FALSE, TRUE, sizeof(effect));
    }
    return in;
}

void
town_free(town *in)
{
    for (unsigned i = GATEWAYS; i-- > 0;) {
        bool closed = false;
        kw_store_handle_close(in->handles[i], set_flag, &closed);
        while (!closed)
            uv_run(kw_loop_uv(in->loop), UV_RUN_ONCE);
        kw_store_free(in->stores[i]);
    }
    for (unsigned i = 0; i < RECORDS * FIELDS; i++) {
        g_array_free(in->effects[i / FIELDS][i % FIELDS], TRUE);
        g_array_free(in->others[i / FIELDS][i % FIELDS], TRUE);
    }
    kw_loop_free(in->loop);
    g_rand_free(in->random);
    g_free(in->callers);
    g_free(in);
}

static bool
is_atomic(const effect *of)
{
    return of->kind == EFFECT_MET || of->kind == EFFECT_IF || of->kind == EFFECT_ADD;
}

/* Plain writes in progress at the same time as an atomic operation are exempt: see linear.h. */
static void
mark_exempt(GArray *effects)
{
    for (guint i = 0; i < effects->len; i++) {
        effect *plain = &g_array_index(effects, effect, i);
        for (guint j = 0; plain->kind == EFFECT_WRITE && j < effects->len; j++) {
            const effect *each = &g_array_index(effects, effect, j);
            if (is_atomic(each) && each->begin_ns < plain->end_ns && plain->begin_ns < each->end_ns)
                plain->exempt = true;
        }
    }
}

static const char *
name_of(const effect *of)
{
    static const char *const names[] = {"write", "read", "met", "not met", "if", "add"};
    return names[of->kind];
}

static linear_verdict
judge_effects(GArray *effects, const char *what)
{
    mark_exempt(effects);
    linear_verdict verdict = linear_judge((const effect *)(void *)effects->data, effects->len, 1, NULL);
    for (guint i = 0; verdict == LINEAR_WRONG && i < effects->len; i++) {
        const effect *each = &g_array_index(effects, effect, i);
        g_test_message("%s %lld (expected %lld, result %lld) from %llu to %llu%s", name_of(each),
                       (long long)each->values[0], (long long)each->expected, (long long)each->results[0],
                       (unsigned long long)each->begin_ns, (unsigned long long)each->end_ns,
                       each->exempt ? ", exempt" : "");
    }
    if (verdict == LINEAR_WRONG)
        g_error("%s is not linearizable", what);
    return verdict;
}

void
town_judge(town *in, uint32_t seed)
{
    unsigned undecided = 0;
    for (unsigned record = 0; record < RECORDS; record++)
        for (unsigned field = 0; field < FIELDS; field++) {
            g_autofree char *what =
                g_strdup_printf("seed %u: record %u, field %c", seed, record, 'a' + (char)field);
            g_autofree char *other = g_strdup_printf("%s, in the other path", what);
            undecided += judge_effects(in->effects[record][field], what) == LINEAR_TOO_MANY;
            if (in->forms[0].paths && !in->lost[record][field])
                judge_effects(in->others[record][field], other);
        }
    g_test_message("%u of %d undecided", undecided, RECORDS * FIELDS);
    g_assert_cmpuint(undecided, <, RECORDS * FIELDS);
}

void
town_run(town *in, form one, form other)
{
    in->forms[0] = one;
    in->forms[1] = other;
    in->running = RECORDS * CALLERS;
    for (unsigned i = 0; i < RECORDS * CALLERS; i++) {
        in->callers[i] =
            (caller){.in = in, .record = i % RECORDS, .ops_left = OPS, .last_read = OPERATION_ABSENT};
        begin_op(&in->callers[i]);
    }
    while (in->running) {
        run_loop(in);
        disturb(in);
    }
}

void
town_grace(town *in)
{
    uint64_t until_ns = kw_clock_mono_ns() + 60 * UINT64_C(1000000);
    for (unsigned i = 0; i < GATEWAYS; i++)
        kw_simulated_apply_late(in->rows[i]);
    while (kw_clock_mono_ns() < until_ns)
        run_loop(in);
    in->swept_ms = kw_clock_wall_ms() - 10;
}

static void
for_all(town *in, form how, bool works)
{
    double trouble = in->trouble;
    in->trouble = 0;
    in->running = RECORDS;
    for (unsigned i = 0; i < RECORDS; i++) {
        caller *of = &in->callers[i];
        *of = (caller){.in = in, .record = i, .fields = 3, .how = how};
        of->begin = ++in->moment;
        of->arena = kw_arena_new();
        if (!works)
            begin_get(of);
        else if (how.sweeps)
            begin_sweep(of);
        else
            begin_copy(of);
    }
    while (in->running)
        run_loop(in);
    in->trouble = trouble;
}

void
town_work(town *in, form how)
{
    for_all(in, how, true);
}

void
town_get(town *in, form how)
{
    for_all(in, how, false);
}

#include "bed.h"

#include "config/reader.h"
#include "sequence/sequence_internal.h"

#include <stdlib.h>
#include <string.h>

int64_t bed_lease_ms = KW_WORKER_LEASE_MS;
int64_t bed_wall_ms = 1790000000000;
uint64_t bed_mono_ns = 1000000000;

static int64_t
wall(void)
{
    return bed_wall_ms;
}

static uint64_t
mono(void)
{
    return bed_mono_ns;
}

void
bed_inject_clock(void)
{
    kw_clock_inject(wall, mono);
}

void
bed_pass_ms(int64_t ms)
{
    bed_wall_ms += ms;
    bed_mono_ns += (uint64_t)ms * 1000000;
}

/* libuv restarts an active timer as a repeating one only. */
static void
bring_forward(uv_handle_t *handle, void *user)
{
    const uint64_t *ms = user;
    if (uv_handle_get_type(handle) != UV_TIMER || !uv_is_active(handle))
        return;
    uv_timer_t *timer = (uv_timer_t *)handle;
    uint64_t left = uv_timer_get_due_in(timer);
    uv_timer_set_repeat(timer, left > *ms ? left - *ms : 1);
    uv_timer_again(timer);
    uv_timer_set_repeat(timer, 0);
}

void
bed_pass_all_ms(bed *self, int64_t ms)
{
    uint64_t nearer = (uint64_t)ms;
    bed_pass_ms(ms);
    uv_walk(kw_loop_uv(self->loop), bring_forward, &nearer);
}

/* --- policy ------------------------------------------------------------------------------------------- */

/* Removes ", block: N" from the line of a field. Returns N; 0: the line has none. */
static int64_t
cut_block(char *line)
{
    static const char name[] = ", block: ";
    char *at = strstr(line, name), *end;
    if (!at)
        return 0;
    int64_t block = (int64_t)strtoll(at + strlen(name), &end, 10);
    memmove(at, end, strlen(end) + 1);
    return block;
}

/* The model is not shared yet. */
static void
set_block(kw_model *model, const char *line, int64_t block)
{
    const kw_model_table *table = &model->tables[0];
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_model_field *field = (kw_model_field *)&table->fields[i];
        if (g_str_has_prefix(line, field->name) && line[strlen(field->name)] == ':')
            field->generate.block = block;
    }
}

static kw_policy *
read_policy(const char *more, const char *fields)
{
    size_t count;
    g_autoptr(GString) text = g_string_new(more);
    g_auto(GStrv) lines = g_strsplit(fields, "\n", -1);
    g_string_append(text, "tables:\n  t:\n    fields:\n      key: string\n      ts: timestamp\n");
    int64_t blocks[16] = {0};
    g_assert_cmpuint(g_strv_length(lines), <=, G_N_ELEMENTS(blocks));
    for (size_t i = 0; lines[i]; i++) {
        blocks[i] = cut_block(lines[i]);
        g_string_append_printf(text, "      %s\n", lines[i]);
    }
    g_string_append(text, "    key: [field: key]\n");
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    g_autoptr(kw_diagnostics) problems = kw_diagnostics_new("test.yaml");
    g_autoptr(kw_model) model =
        kw_model_read_text("test.yaml", text->str, text->len, schemas, count, problems);
    for (size_t i = 0; model && lines[i]; i++)
        if (blocks[i])
            set_block(model, lines[i], blocks[i]);
    kw_policy *policy = model ? kw_policy_new(model, problems) : NULL;
    if (!policy) {
        g_autofree char *why = kw_diagnostics_text(problems);
        g_error("%s", why);
    }
    return policy;
}

bed *
bed_new_over(kw_store *inner, const char *more, const char *fields)
{
    bed *self = g_new0(bed, 1);
    self->loop = kw_loop_new();
    self->store = kw_fault_store_new(inner, &self->plan);
    self->arena = kw_arena_new();
    self->policy = read_policy(more, fields);
    self->table = kw_policy_table(self->policy, 0);
    return self;
}

bed *
bed_new(const char *more, const char *fields)
{
    kw_store *inner = kw_memory_store_open();
    bed *self = bed_new_over(inner, more, fields);
    self->inner = inner;
    self->control = kw_memory_store_control(inner);
    return self;
}

void
bed_reload(bed *self, const char *more, const char *fields)
{
    kw_policy *old = self->policy;
    self->policy = read_policy(more, fields);
    self->table = kw_policy_table(self->policy, 0);
    kw_policy_unref(old);
}

void
bed_free(bed *self)
{
    for (size_t i = 0; i < BED_GATEWAYS; i++)
        if (self->gateways[i].generator)
            bed_close(self, i);
    kw_store_free(self->store);
    kw_policy_unref(self->policy);
    kw_loop_free(self->loop);
    kw_arena_free(self->arena);
    g_free(self);
}

/* --- gateways ----------------------------------------------------------------------------------------- */

typedef struct step {
    bool done;
    kw_error error;
    int64_t first, count;
} step;

void
bed_run_until(bed *self, const bool *flag)
{
    while (!*flag)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

static void
ended(void *user)
{
    ((step *)user)->done = true;
}

static void
prepared(void *user, const kw_error *error)
{
    step *now = user;
    now->done = true;
    now->error = error ? *error : KW_ERROR_NONE;
}

bool
bed_open(bed *self, size_t number)
{
    bed_gateway *gateway = &self->gateways[number];
    step now = {false};
    if (!gateway->generator) {
        gateway->bed = self;
        gateway->handle = kw_store_open_handle(self->store, self->loop);
        gateway->sequences = kw_sequences_new(kw_policy_model(self->policy), self->loop, gateway->handle);
        kw_sequences_set_lease(gateway->sequences, bed_lease_ms);
        gateway->generator = kw_generator_new(gateway->sequences, self->loop, gateway->handle);
    }
    kw_sequences_prepare(gateway->sequences, self->policy, kw_deadline_in_ms(BED_PATIENCE_MS), prepared,
                         &now);
    bed_run_until(self, &now.done);
    self->error = now.error;
    return now.error.code == KW_OK;
}

void
bed_close(bed *self, size_t number)
{
    bed_gateway *gateway = &self->gateways[number];
    step now = {false};
    kw_generator_close(gateway->generator, ended, &now);
    bed_run_until(self, &now.done);
    now.done = false;
    kw_sequences_close(gateway->sequences, ended, &now);
    bed_run_until(self, &now.done);
    now.done = false;
    kw_store_handle_close(gateway->handle, ended, &now);
    bed_run_until(self, &now.done);
    kw_generator_free(gateway->generator);
    kw_sequences_free(gateway->sequences);
    *gateway = (bed_gateway){NULL};
}

/* --- records ------------------------------------------------------------------------------------------ */

kw_value *
bed_record(bed *self, const char *text)
{
    kw_value *values = kw_record_new(self->table, self->arena).values;
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    for (char **word = words; *word && **word; word++) {
        g_auto(GStrv) parts = g_strsplit(*word, "=", 2);
        int field = kw_table_find_field(self->table, kw_bytes_of_text(parts[0]));
        g_assert_cmpint(field, >=, 0);
        kw_value_kind kind = kw_field_value_kind(self->table->fields[field].type);
        values[field] = (kw_value){.kind = kind};
        if (kind == KW_VALUE_NUMBER)
            values[field].number = g_ascii_strtoll(parts[1], NULL, 10);
        else
            values[field].bytes = kw_arena_copy(self->arena, kw_bytes_of_text(parts[1]));
    }
    return values;
}

const char *
bed_text(bed *self, const kw_value *values)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; values && i < self->table->fields_count; i++) {
        char shown[120];
        if (values[i].kind == KW_VALUE_NONE)
            continue;
        kw_value_print(values[i], shown, sizeof shown);
        g_string_append_printf(text, "%s%s=%s", text->len ? " " : "", self->table->fields[i].name, shown);
    }
    return kw_arena_text(self->arena, kw_bytes_of(text->str, text->len));
}

static kw_filling *
fill(bed *self, size_t gateway, const char *record)
{
    step now = {false};
    kw_filling *filling = KW_ARENA_NEW(self->arena, kw_filling);
    filling->values = bed_record(self, record);
    kw_generator_fill(self->gateways[gateway].generator, self->arena, self->table, filling, 1,
                      kw_deadline_in_ms(BED_PATIENCE_MS), ended, &now);
    bed_run_until(self, &now.done);
    self->error = filling->error;
    return filling;
}

static const char *
error_text(bed *self, const kw_error *error)
{
    return kw_arena_printf(self->arena, "%s: %s", kw_code_name(error->code), error->text);
}

const char *
bed_fill(bed *self, size_t gateway, const char *record)
{
    kw_filling *filling = fill(self, gateway, record);
    return filling->error.code == KW_OK ? bed_text(self, filling->generated)
                                        : error_text(self, &filling->error);
}

int64_t
bed_number(bed *self, size_t gateway, const char *record, const char *name)
{
    kw_filling *filling = fill(self, gateway, record);
    if (filling->error.code != KW_OK)
        g_error("%s", error_text(self, &filling->error));
    int field = kw_table_find_field(self->table, kw_bytes_of_text(name));
    g_assert_cmpint(filling->generated[field].kind, ==, KW_VALUE_NUMBER);
    return filling->generated[field].number;
}

static void
allocated(void *user, int64_t first, int64_t count, const kw_error *error)
{
    step *now = user;
    *now = (step){true, error ? *error : KW_ERROR_NONE, first, count};
}

const char *
bed_allocate(bed *self, size_t gateway, const char *name, int64_t count, const char *scope)
{
    step now = {false};
    int field = kw_table_find_field(self->table, kw_bytes_of_text(name));
    kw_generator_allocate(self->gateways[gateway].generator, self->table, (size_t)field,
                          bed_record(self, scope), count, kw_deadline_in_ms(BED_PATIENCE_MS), allocated,
                          &now);
    bed_run_until(self, &now.done);
    self->error = now.error;
    if (now.error.code != KW_OK)
        return error_text(self, &now.error);
    return kw_arena_printf(self->arena, "%" G_GINT64_FORMAT "+%" G_GINT64_FORMAT, (gint64)now.first,
                           (gint64)now.count);
}

static void
written(void *user, kw_outcome outcome, const kw_error *error)
{
    (void)error;
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    ended(user);
}

void
bed_write(bed *self, const kw_write *write)
{
    step now = {false};
    kw_store_handle_write(self->gateways[0].handle, write, written, &now);
    bed_run_until(self, &now.done);
}

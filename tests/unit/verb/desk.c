#include "desk.h"

#include "config/reader.h"

#include <stdlib.h>

const char desk_policy[] = "store: {kind: embedded}\n"
                           "limits: {batch_records: 500, page_rows: 1000}\n"
                           "tables:\n"
                           "  orders:\n"
                           "    fields:\n"
                           "      order_id: {type: string, max_bytes: 40}\n"
                           "      ts: {type: timestamp, unit: ms}\n"
                           "      status: {type: string, values: [new, paid, sent]}\n"
                           "      city: string\n"
                           "      amount: double\n"
                           "    key:\n"
                           "      - hash: {algorithm: md5, of: [order_id], take: 4, as: hex}\n"
                           "      - field: order_id\n"
                           "      - field: {name: ts, order: desc}\n"
                           "    paths:\n"
                           "      by_time:\n"
                           "        key:\n"
                           "          - salt: {buckets: 16, of: [order_id]}\n"
                           "          - field: ts\n"
                           "          - field: order_id\n"
                           "  counters:\n"
                           "    fields:\n"
                           "      name: string\n"
                           "      hits: {type: int, counter: true}\n"
                           "      visits: {type: int, form: text}\n"
                           "      note: string\n"
                           "    key:\n"
                           "      - field: name\n"
                           "  marks:\n"
                           "    fields:\n"
                           "      tag: string\n"
                           "    key:\n"
                           "      - field: tag\n";

static kw_policy *
read_policy(const char *text)
{
    size_t count;
    const kw_component_schema *const *schemas = kw_rule_schemas(&count);
    kw_diagnostics *problems = kw_diagnostics_new("test.yaml");
    kw_model *model = kw_model_read_text("test.yaml", text, strlen(text), schemas, count, problems);
    kw_policy *policy = model ? kw_policy_new(model, problems) : NULL;
    if (!policy) {
        g_autofree char *why = kw_diagnostics_text(problems);
        g_error("%s", why);
    }
    kw_model_unref(model);
    kw_diagnostics_free(problems);
    return policy;
}

desk *
desk_new(const char *policy_text)
{
    kw_store *store = kw_memory_store_open();
    desk *self = desk_new_over(store, policy_text);
    self->control = kw_memory_store_control(store);
    return self;
}

desk *
desk_new_over(kw_store *store, const char *policy_text)
{
    desk *self = g_new0(desk, 1);
    kw_bytes key = KW_BYTES_LITERAL("0123456789abcdef");
    self->loop = kw_loop_new();
    self->store = store;
    self->handle = kw_store_open_handle(self->store, self->loop);
    self->policy = read_policy(policy_text);
    self->keyring = kw_keyring_new(&key, 1);
    self->sequences = kw_sequences_new(kw_policy_model(self->policy), self->loop, self->handle);
    self->generator = kw_generator_new(self->sequences, self->loop, self->handle);
    self->call = (kw_call){.arena = kw_arena_new(),
                           .policy = self->policy,
                           .store = self->store,
                           .handle = self->handle,
                           .loop = self->loop,
                           .keyring = self->keyring,
                           .generator = self->generator,
                           .deadline = KW_DEADLINE_NONE,
                           .request_id = "test"};
    return self;
}

static void
closed(void *user)
{
    ((desk *)user)->done = true;
}

void
desk_free(desk *self)
{
    if (self->control)
        g_assert_cmpuint(self->control->runs_open, ==, 0);
    self->done = false;
    kw_generator_close(self->generator, closed, self);
    desk_wait(self);
    self->done = false;
    kw_sequences_close(self->sequences, closed, self);
    desk_wait(self);
    self->done = false;
    kw_store_handle_close(self->handle, closed, self);
    desk_wait(self);
    kw_generator_free(self->generator);
    kw_sequences_free(self->sequences);
    kw_keyring_unref(self->keyring);
    kw_policy_unref(self->policy);
    kw_store_free(self->store);
    kw_loop_free(self->loop);
    kw_arena_free(self->call.arena);
    g_free(self);
}

void
desk_clear(desk *self)
{
    kw_arena_reset(self->call.arena);
}

const kw_table *
desk_table(desk *self, const char *name)
{
    const kw_table *table = kw_policy_find_table(self->policy, kw_bytes_of_text(name));
    g_assert_nonnull(table);
    return table;
}

size_t
desk_field(desk *self, const char *table, const char *name)
{
    int field = kw_table_find_field(desk_table(self, table), kw_bytes_of_text(name));
    if (field < 0)
        g_error("no field %s in %s", name, table);
    return (size_t)field;
}

kw_pick
desk_pick(desk *self, const char *table, const char *name)
{
    kw_pick pick;
    if (!kw_table_find_pick(desk_table(self, table), kw_bytes_of_text(name), &pick))
        g_error("no field %s in %s", name, table);
    pick.entry = kw_arena_copy(self->call.arena, pick.entry);
    return pick;
}

static kw_value
parse_value(desk *self, kw_field_type type, const char *text)
{
    kw_value value = {.kind = kw_field_value_kind(type)};
    switch (value.kind) {
    case KW_VALUE_FLAG:
        value.flag = g_str_equal(text, "true");
        break;
    case KW_VALUE_NUMBER:
        value.number = strtoll(text, NULL, 10);
        break;
    case KW_VALUE_REAL:
        value.real = g_ascii_strtod(text, NULL);
        break;
    case KW_VALUE_TEXT:
    case KW_VALUE_BYTES:
        value.bytes = kw_arena_copy(self->call.arena, kw_bytes_of_text(text));
        break;
    case KW_VALUE_MAP:
    case KW_VALUE_NONE:
        break;
    }
    return value;
}

/* Adds an entry to a map, for example "followed.bob=5". */
static void
add_entry(desk *self, const kw_table *table, kw_pick pick, const char *text, kw_record *record)
{
    kw_value *map = &record->values[pick.field];
    size_t count = map->kind == KW_VALUE_MAP ? map->entries_count : 0;
    kw_entry *entries = KW_ARENA_ARRAY(self->call.arena, kw_entry, count + 1);
    kw_bytes duplicate;
    if (count)
        memcpy(entries, map->entries, count * sizeof *entries);
    entries[count] = (kw_entry){kw_arena_copy(self->call.arena, pick.entry),
                                parse_value(self, kw_pick_field(table, pick)->type, text)};
    g_assert_true(kw_entries_sort(entries, count + 1, &duplicate));
    *map = (kw_value){.kind = KW_VALUE_MAP, .entries = entries, .entries_count = count + 1};
}

kw_record
desk_record(desk *self, const char *table_name, const char *text)
{
    const kw_table *table = desk_table(self, table_name);
    kw_record record = kw_record_new(table, self->call.arena);
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    for (char **word = words; *word && **word; word++) {
        g_auto(GStrv) parts = g_strsplit(*word, "=", 2);
        kw_pick pick = desk_pick(self, table_name, parts[0]);
        if (pick.entry.size)
            add_entry(self, table, pick, parts[1], &record);
        else
            record.values[pick.field] = parse_value(self, table->fields[pick.field].type, parts[1]);
    }
    return record;
}

static void
append_value(GString *text, const char *name, kw_bytes entry, kw_value value)
{
    char shown[200];
    kw_value_print(value, shown, sizeof shown);
    size_t length = strlen(shown);
    bool quoted = length >= 2 && shown[0] == '"';
    g_string_append_printf(text, "%s%s%s%.*s=%.*s", text->len ? " " : "", name, entry.size ? "." : "",
                           (int)entry.size, (const char *)entry.data, (int)(length - 2 * quoted),
                           shown + quoted);
}

const char *
desk_text(desk *self, const kw_table *table, const kw_record *record)
{
    g_autoptr(GString) text = g_string_new(NULL);
    for (size_t i = 0; i < table->fields_count; i++) {
        kw_value value = record->values[i];
        if (value.kind != KW_VALUE_NONE && value.kind != KW_VALUE_MAP)
            append_value(text, table->fields[i].name, KW_BYTES_NONE, value);
        for (size_t at = 0; value.kind == KW_VALUE_MAP && at < value.entries_count; at++)
            append_value(text, table->fields[i].name, value.entries[at].name, value.entries[at].value);
    }
    return kw_arena_text(self->call.arena, kw_bytes_of(text->str, text->len));
}

void
desk_wait(desk *self)
{
    while (!self->done)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

void
desk_done(void *user, const kw_written_record *results, size_t count)
{
    desk *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->written = results;
    self->count = count;
}

static void
created(void *user, const kw_created_table *tables, size_t count, const kw_error *error)
{
    desk *self = user;
    (void)tables;
    (void)count;
    if (error)
        g_error("%s", error->text);
    self->done = true;
}

void
desk_create(desk *self, const char *table)
{
    kw_create_request request = {.table = desk_table(self, table), .path = -1, .if_absent = true};
    self->done = false;
    kw_verb_create_table(&self->call, &request, created, self);
    desk_wait(self);
}

const kw_written_record *
desk_put(desk *self, const char *table, const char *text)
{
    kw_item item = {.record = desk_record(self, table, text)};
    kw_item *copy = (kw_item *)(void *)kw_arena_copy(self->call.arena, kw_bytes_of(&item, sizeof item)).data;
    self->done = false;
    kw_verb_put(&self->call, desk_table(self, table), copy, 1, self->options, desk_done, self);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, 1);
    return self->written;
}

static size_t
parse_picks(desk *self, const char *table, const char *names, const char *between, const kw_pick **ret_picks)
{
    g_auto(GStrv) words = g_strsplit(names ? names : "", between, -1);
    size_t count = 0;
    kw_pick *picks = KW_ARENA_ARRAY(self->call.arena, kw_pick, g_strv_length(words) + 1);
    for (char **word = words; *word && **word; word++)
        picks[count++] = desk_pick(self, table, *word);
    *ret_picks = picks;
    return count;
}

const kw_written_record *
desk_remove(desk *self, const char *table, const char *key, const char *columns)
{
    kw_item *item = KW_ARENA_NEW(self->call.arena, kw_item);
    const kw_pick *picks;
    size_t count = parse_picks(self, table, columns, " ", &picks);
    item->record = desk_record(self, table, key);
    self->done = false;
    kw_verb_remove(&self->call, desk_table(self, table), item, 1, picks, count, self->options, desk_done,
                   self);
    desk_wait(self);
    return self->written;
}

void
desk_got(void *user, const kw_found_record *found, size_t count)
{
    desk *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->found = found;
    self->count = count;
}

const char *
desk_get(desk *self, const char *table, const char *key, const char *columns)
{
    kw_item *item = KW_ARENA_NEW(self->call.arena, kw_item);
    const kw_pick *picks;
    size_t count = parse_picks(self, table, columns, " ", &picks);
    item->record = desk_record(self, table, key);
    self->done = false;
    kw_verb_get(&self->call, desk_table(self, table), item, 1, picks, count, desk_got, self);
    desk_wait(self);
    g_assert_cmpuint(self->count, ==, 1);
    const kw_found_record *found = self->found;
    if (found->error.code != KW_OK)
        return kw_arena_printf(self->call.arena, "%s: %s", kw_code_name(found->error.code),
                               found->error.text);
    return found->record.values ? desk_text(self, desk_table(self, table), &found->record) : "none";
}

/* --- scans ----------------------------------------------------------------------------------------- */

static void
parse_bound(desk *self, kw_scan_request *request, kw_bound *bounds, const char *name, const char *text)
{
    const kw_table *table = request->query.table;
    size_t field = desk_field(self, table->name, name);
    kw_field_type type = table->fields[field].type;
    const char *dots = strstr(text, "..");
    if (dots) {
        g_autofree char *from = g_strndup(text, (size_t)(dots - text));
        request->query.range_field = (int)field;
        request->query.from_inclusive = true;
        if (*from)
            request->query.from = parse_value(self, type, from);
        if (dots[2])
            request->query.to = parse_value(self, type, dots + 2);
        return;
    }
    g_auto(GStrv) parts = g_strsplit(text, "|", -1);
    size_t count = g_strv_length(parts);
    kw_value *values = KW_ARENA_ARRAY(self->call.arena, kw_value, count);
    for (size_t i = 0; i < count; i++)
        values[i] = parse_value(self, type, parts[i]);
    bounds[field] = (kw_bound){.values = values, .count = count};
}

static void
parse_word(desk *self, kw_scan_request *request, kw_bound *bounds, const char *name, const char *value)
{
    if (g_str_equal(name, "path"))
        request->query.path = kw_table_find_path(request->query.table, kw_bytes_of_text(value));
    else if (g_str_equal(name, "order"))
        request->query.order = g_str_equal(value, "asc") ? KW_ORDER_ASCENDING : KW_ORDER_DESCENDING;
    else if (g_str_equal(name, "full"))
        request->query.full_scan = true;
    else if (g_str_equal(name, "limit"))
        request->limit = request->query.limit = (uint64_t)strtoull(value, NULL, 10);
    else if (g_str_equal(name, "page"))
        request->page_rows = (uint32_t)strtoul(value, NULL, 10);
    else if (g_str_equal(name, "bytes"))
        request->page_bytes = (uint32_t)strtoul(value, NULL, 10);
    else if (g_str_equal(name, "columns"))
        request->picks_count = parse_picks(self, request->query.table->name, value, ",", &request->picks);
    else if (g_str_equal(name, "filter"))
        request->filter = kw_arena_copy(self->call.arena, kw_bytes_of_text(value));
    else if (g_str_equal(name, "skip"))
        request->skip_undecodable = true;
    else if (g_str_equal(name, "wait"))
        request->waits_for_row = true;
    else
        parse_bound(self, request, bounds, name, value);
}

kw_scan_request
desk_request(desk *self, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    kw_scan_request request = {.query = {.table = desk_table(self, words[0]), .path = -1, .range_field = -1}};
    kw_bound *bounds = KW_ARENA_ARRAY(self->call.arena, kw_bound, request.query.table->fields_count);
    request.query.bounds = bounds;
    for (char **word = words + 1; *word && **word; word++) {
        g_auto(GStrv) parts = g_strsplit(*word, "=", 2);
        parse_word(self, &request, bounds, parts[0], parts[1] ? parts[1] : "");
    }
    return request;
}

static void
scan_done(void *user, const kw_scan_page *page, const kw_error *error)
{
    desk *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->page = page ? *page : (kw_scan_page){0};
    self->error = error ? *error : KW_ERROR_NONE;
}

bool
desk_scan(desk *self, const char *text)
{
    kw_scan_request request = desk_request(self, text);
    self->done = false;
    kw_verb_scan(&self->call, &request, scan_done, self);
    desk_wait(self);
    return self->error.code == KW_OK;
}

bool
desk_next(desk *self, kw_bytes cursor)
{
    self->done = false;
    kw_verb_next(&self->call, cursor, scan_done, self);
    desk_wait(self);
    return self->error.code == KW_OK;
}

char *
desk_page_text(desk *self)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < self->page.count; i++)
        g_string_append_printf(text, "%s\n", desk_text(self, self->page.table, &self->page.rows[i]));
    return g_string_free(text, FALSE);
}

char *
desk_scan_all(desk *self, const char *text)
{
    GString *all = g_string_new(NULL);
    bool good = desk_scan(self, text);
    self->undecodable = 0;
    for (;;) {
        if (!good) {
            g_string_append_printf(all, "%s: %s\n", kw_code_name(self->error.code), self->error.text);
            break;
        }
        g_autofree char *rows = desk_page_text(self);
        g_string_append(all, rows);
        self->undecodable += self->page.undecodable;
        if (self->page.cursor.size == 0)
            break;
        g_autofree uint8_t *cursor = g_memdup2(self->page.cursor.data, self->page.cursor.size);
        size_t size = self->page.cursor.size;
        desk_clear(self);
        kw_bytes copy = kw_arena_copy(self->call.arena, kw_bytes_of(cursor, size));
        good = desk_next(self, copy);
    }
    return g_string_free(all, FALSE);
}

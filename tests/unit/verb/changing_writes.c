#include "changing_writes.h"

const char *const changing_all_paths[CHANGING_ALL_PATHS] = {"primary", "second", "primary second",
                                                            "primary static"};

void
changing_put(changing *self, const char *record)
{
    const kw_written_record *written = desk_put(self->desk, "t", record);
    if (written->outcome != KW_OUTCOME_OK)
        g_error("%s: %s", record, written->error.text);
}

void
changing_remove(changing *self, const char *key, const char *columns)
{
    const kw_written_record *written = desk_remove(self->desk, "t", key, columns);
    if (written->outcome != KW_OUTCOME_OK)
        g_error("%s: %s", key, written->error.text);
}

void
changing_assert_record(changing *self, const char *key, const char *expected)
{
    g_assert_cmpstr(desk_get(self->desk, "t", key, NULL), ==, expected);
    g_autofree char *cells = changing_same_cells(self, key);
    g_assert_cmpint(g_str_equal(cells, ""), ==, g_str_equal(expected, "none"));
}

static void
dropped(void *user, const kw_error *error)
{
    desk *self = user;
    g_assert_null(error);
    self->done = true;
}

void
changing_drop_new_table(changing *self)
{
    self->desk->done = false;
    kw_store_handle_drop_table(self->desk->handle, KW_BYTES_LITERAL("t_L2"), KW_DEADLINE_NONE, dropped,
                               self->desk);
    desk_wait(self->desk);
}

/* --- atomic writes ------------------------------------------------------------------------------------- */

static void
decided(void *user, bool applied, kw_record made, const kw_error *error)
{
    desk *self = user;
    (void)made;
    self->done = true;
    self->applied = applied;
    self->error = error ? *error : KW_ERROR_NONE;
}

static void
incremented(void *user, const kw_record *values, const kw_error *error)
{
    desk *self = user;
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
    if (values)
        self->values = *values;
}

void
changing_try_increment(changing *self, const char *key, int64_t amount)
{
    desk *on = self->desk;
    kw_record record = desk_record(on, "t", key);
    kw_pick pick = desk_pick(on, "t", "n");
    kw_write_options options = {0}; /* no timestamp */
    on->done = false;
    kw_verb_increment(&on->call, desk_table(on, "t"), &record, &pick, &amount, 1, options, incremented, on);
    desk_wait(on);
}

int64_t
changing_increment(changing *self, const char *key, int64_t amount)
{
    desk *on = self->desk;
    changing_try_increment(self, key, amount);
    if (on->error.code != KW_OK)
        g_error("%s: %s", key, on->error.text);
    return on->values.values[desk_field(on, "t", "n")].number;
}

bool
changing_put_if(changing *self, const char *record, const char *condition)
{
    desk *on = self->desk;
    kw_record values = desk_record(on, "t", record);
    kw_condition_on_field expected = {.pick = desk_pick(on, "t", "note"), .compare = KW_COMPARE_EQUAL};
    if (condition)
        expected.value = (kw_value){.kind = KW_VALUE_TEXT, .bytes = kw_bytes_of_text(condition)};
    on->done = false;
    kw_verb_put_if(&on->call, desk_table(on, "t"), &values, &expected, on->options, decided, on);
    desk_wait(on);
    if (on->error.code != KW_OK)
        g_error("%s: %s", record, on->error.text);
    return on->applied;
}

/* --- random writes ------------------------------------------------------------------------------------- */

char *
changing_random_key(void)
{
    return g_strdup_printf("id=r%d", g_test_rand_int_range(0, CHANGING_RECORDS));
}

static char *
random_record(void)
{
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "id=r%d", g_test_rand_int_range(0, CHANGING_RECORDS));
    if (g_test_rand_int_range(0, 2))
        g_string_append_printf(text, " n=%d", g_test_rand_int_range(0, 100));
    if (g_test_rand_int_range(0, 2))
        g_string_append_printf(text, " note=x%d", g_test_rand_int_range(0, 100));
    for (int i = 0; i < 3; i++)
        if (g_test_rand_int_range(0, 3) == 0)
            g_string_append_printf(text, " tags.e%d=%d", i, g_test_rand_int_range(0, 100));
    return g_string_free(text, FALSE);
}

void
changing_write_many(changing *self, bool puts)
{
    desk *on = self->desk;
    enum { MANY = 9 };
    kw_item *items = KW_ARENA_ARRAY(on->call.arena, kw_item, MANY);
    for (int i = 0; i < MANY; i++) {
        g_autofree char *text = puts ? random_record() : changing_random_key();
        items[i] = (kw_item){.record = desk_record(on, "t", text)};
    }
    on->done = false;
    if (puts)
        kw_verb_put(&on->call, desk_table(on, "t"), items, MANY, on->options, desk_done, on);
    else
        kw_verb_remove(&on->call, desk_table(on, "t"), items, MANY, NULL, 0, on->options, desk_done, on);
    desk_wait(on);
    for (int i = 0; i < MANY; i++)
        g_assert_cmpint(on->written[i].outcome, ==, KW_OUTCOME_OK);
}

void
changing_random_write(changing *self)
{
    static const char *const columns[] = {NULL, "note", "n note", "tags", "tags.e1"};
    g_autofree char *key = changing_random_key(), *record = random_record();
    int kind = g_test_rand_int_range(0, 10);
    kw_write_options before = self->desk->options;
    if (g_test_rand_int_range(0, 5) == 0)
        self->desk->options = (kw_write_options){
            .has_timestamp = true,
            .timestamp = kw_clock_wall_ms() + g_test_rand_int_range(-1000, 1),
        };
    if (kind < 5)
        changing_put(self, record);
    else if (kind < 8)
        changing_remove(self, key, columns[g_test_rand_int_range(0, G_N_ELEMENTS(columns))]);
    else
        changing_write_many(self, kind == 8);
    self->desk->options = before;
}

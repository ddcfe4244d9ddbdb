#include "town.h"
#include "base/units.h"

#include "support/seed.h"

#define WALL_START_MS INT64_C(1795000000000)
#define MONO_START_NS ((uint64_t)5 << 50)

static int64_t now_wall_ms;
static uint64_t now_mono_ns;

static int64_t
wall_ms(void)
{
    return now_wall_ms;
}

static uint64_t
mono_ns(void)
{
    return now_mono_ns;
}

town *
town_new(void)
{
    town *self = g_new0(town, 1);
    now_wall_ms = WALL_START_MS;
    now_mono_ns = MONO_START_NS;
    kw_clock_inject(wall_ms, mono_ns);
    self->loop = kw_loop_new();
    self->store = kw_memory_store_open();
    self->control = kw_memory_store_control(self->store);
    self->handle = kw_store_open_handle(self->store, self->loop);
    return self;
}

static void
set_flag(void *user)
{
    *(bool *)user = true;
}

static void
close_handle(town *self, kw_store_handle *handle)
{
    bool closed = false;
    kw_store_handle_close(handle, set_flag, &closed);
    while (!closed)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
}

void
town_free(town *self)
{
    g_assert_cmpuint(self->control->runs_open, ==, 0);
    close_handle(self, self->handle);
    kw_store_free(self->store);
    kw_loop_free(self->loop);
    kw_clock_inject(NULL, NULL);
    g_free(self);
}

void
town_pass_ms(uint64_t ms)
{
    now_wall_ms += (int64_t)ms;
    now_mono_ns += ms * KW_NS_PER_MS;
}

void
town_move_wall_ms(int64_t ms)
{
    now_wall_ms += ms;
}

/* --- gateways -------------------------------------------------------------------------------------- */

static void
lost(void *user)
{
    ((gateway *)user)->lost++;
}

gateway *
gateway_new(town *in, const char *id, bool shared)
{
    gateway *self = g_new0(gateway, 1);
    self->town = in;
    self->handle = kw_store_open_handle(in->store, in->loop);
    self->catalog = kw_catalog_new(&(kw_catalog_settings){.loop = in->loop,
                                                          .handle = self->handle,
                                                          .store_table = CATALOG,
                                                          .gateway_id = id,
                                                          .shared = shared,
                                                          .follows = true,
                                                          .lost = lost,
                                                          .user = self});
    return self;
}

void
gateway_wait(gateway *self)
{
    while (!self->done)
        uv_run(kw_loop_uv(self->town->loop), UV_RUN_ONCE);
}

void
gateway_free(gateway *self)
{
    kw_catalog_free(self->catalog);
    uv_run(kw_loop_uv(self->town->loop), UV_RUN_NOWAIT); /* the timer's handle closes */
    g_strfreev(self->emptied);
    g_free(self);
}

void
gateway_die(gateway *self)
{
    close_handle(self->town, self->handle);
    gateway_free(self);
}

void
gateway_close(gateway *self)
{
    bool closed = false;
    kw_catalog_close(self->catalog, set_flag, &closed);
    while (!closed)
        uv_run(kw_loop_uv(self->town->loop), UV_RUN_ONCE);
    close_handle(self->town, self->handle);
}

void
gateway_stop(gateway *self)
{
    gateway_close(self);
    gateway_free(self);
}

void
gateway_ended(void *user, const kw_error *error)
{
    gateway *self = user;
    g_assert_false(self->done);
    self->done = true;
    self->error = error ? *error : KW_ERROR_NONE;
}

static void
checked(void *user, kw_admission *admission, const kw_error *error)
{
    gateway *self = user;
    g_assert_true(!admission == !!error);
    self->admission = admission;
    gateway_ended(self, error);
}

void
gateway_begin_with(gateway *self, kw_policy *policy, const bool *optional)
{
    self->done = false;
    kw_catalog_check(self->catalog, policy, NULL, optional, KW_DEADLINE_NONE, checked, self);
}

void
gateway_begin(gateway *self, kw_policy *policy)
{
    gateway_begin_with(self, policy, NULL);
}

kw_code
gateway_check(gateway *self, kw_policy *policy)
{
    gateway_begin(self, policy);
    gateway_wait(self);
    return self->error.code;
}

kw_code
gateway_commit(gateway *self)
{
    self->done = false;
    kw_admission_commit(self->admission, KW_DEADLINE_NONE, gateway_ended, self);
    gateway_wait(self);
    if (self->error.code == KW_OK)
        kw_admission_serve(g_steal_pointer(&self->admission));
    else
        kw_admission_abandon(g_steal_pointer(&self->admission));
    return self->error.code;
}

kw_code
gateway_admit(gateway *self, kw_policy *policy)
{
    kw_code code = gateway_check(self, policy);
    return code == KW_OK ? gateway_commit(self) : code;
}

static void
forgotten(void *user, const char *const *emptied, size_t count, const kw_error *error)
{
    gateway *self = user;
    g_strfreev(self->emptied);
    self->emptied = g_new0(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        self->emptied[i] = g_strdup(emptied[i]);
    gateway_ended(self, error);
}

kw_code
gateway_forget(gateway *self, const kw_policy *served, const char *table, const char *path, bool drop_rows)
{
    kw_forget_request request = {.table = table, .path = path, .drop_rows = drop_rows, .policy = served};
    self->done = false;
    kw_catalog_forget(self->catalog, &request, KW_DEADLINE_NONE, forgotten, self);
    gateway_wait(self);
    return self->error.code;
}

bool
gateway_is_open(const gateway *self)
{
    const kw_fence *fence = kw_catalog_fence(self->catalog);
    return !fence || kw_fence_is_open(fence);
}

void
gateway_assert_text(const gateway *self, const char *part)
{
    if (!strstr(self->error.text, part))
        g_error("got: %s\nnot: %s", self->error.text, part);
}

/* --- the store ------------------------------------------------------------------------------------- */

static void
created(void *user, bool is_new, const kw_error *error)
{
    (void)is_new;
    g_assert_null(error);
    set_flag(user);
}

void
town_put(town *self, const char *store_table, const char *row)
{
    bool done = false;
    kw_family_spec family = {.name = "d"};
    kw_table_spec spec = {.name = kw_bytes_of_text(store_table),
                          .families = &family,
                          .families_count = 1,
                          .deadline = KW_DEADLINE_NONE};
    kw_store_handle_create_table(self->handle, &spec, created, &done);
    while (!done)
        uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
    kw_memory_store_set(self->store, store_table, kw_bytes_of_text(row), "d", "n", KW_BYTES_LITERAL("1"), 1);
}

char *
town_facts(town *self, const char *table)
{
    g_autofree char *qualifier = g_strdup_printf("table/%s", table);
    kw_bytes text = kw_memory_store_cell(self->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", qualifier);
    return g_strndup(text.size ? (const char *)text.data : "", text.size);
}

bool
town_was_created(town *self, const char *store_table)
{
    g_autofree char *qualifier = g_strdup_printf("made/%s", store_table);
    return kw_memory_store_cell(self->store, CATALOG, KW_CATALOG_FACTS_ROW, "d", qualifier).size > 0;
}

/* The row keys of the registrations. */
static GArray *
list_registrations(town *self)
{
    GArray *keys = g_array_new(FALSE, FALSE, sizeof(kw_bytes));
    size_t rows = kw_memory_store_rows(self->store, CATALOG);
    for (size_t i = 0; i < rows; i++) {
        kw_bytes key = kw_memory_store_key(self->store, CATALOG, i);
        if (kw_bytes_starts_with(key, KW_BYTES_LITERAL(KW_CATALOG_GATEWAY_PREFIX)))
            g_array_append_val(keys, key);
    }
    return keys;
}

size_t
town_registrations(town *self)
{
    g_autoptr(GArray) keys = list_registrations(self);
    return keys->len;
}

static void
removed(void *user, kw_outcome outcome, const kw_error *error)
{
    g_assert_null(error);
    g_assert_cmpint(outcome, ==, KW_OUTCOME_OK);
    set_flag(user);
}

void
town_remove_registrations(town *self)
{
    g_autoptr(GArray) keys = list_registrations(self);
    for (guint i = 0; i < keys->len; i++) {
        bool done = false;
        kw_write write = {.kind = KW_WRITE_DELETE,
                          .table = KW_BYTES_LITERAL(CATALOG),
                          .row = g_array_index(keys, kw_bytes, i),
                          .timestamp = KW_TIMESTAMP_NONE,
                          .deadline = KW_DEADLINE_NONE};
        kw_store_handle_write(self->handle, &write, removed, &done);
        while (!done)
            uv_run(kw_loop_uv(self->loop), UV_RUN_ONCE);
    }
}

void
town_set_registration(town *self, const char *qualifier, const char *value)
{
    g_autoptr(GArray) keys = list_registrations(self);
    g_assert_cmpuint(keys->len, ==, 1);
    kw_memory_store_set(self->store, CATALOG, g_array_index(keys, kw_bytes, 0), "d", qualifier,
                        kw_bytes_of_text(value), KW_PLAUSIBLE_MAX_MS - 50);
}

void
town_assert_facts(town *self, const char *part, bool there)
{
    g_autofree char *facts = town_facts(self, "t");
    if (!!strstr(facts, part) != there)
        g_error("facts: %s\n%s: %s", facts, there ? "missing" : "there", part);
}

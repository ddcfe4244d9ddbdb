#include "pass_fixture.h"

static void
on_created(void *user, bool created, const kw_error *error)
{
    g_assert_null(error);
    g_assert_true(created);
    ((desk *)user)->done = true;
}

/* 4 salted regions of the new placement, which are not divided at the buckets, and 3 of the old one. */
static void
create_tables(pass_fixture *self)
{
    static const char *const old[] = {"r100", "r3"};
    static const uint8_t new[][2] = {{0, 'r'}, {1, 0}, {2, 'r'}};
    desk *on = self->apart.desk;
    kw_bytes keys[3];
    for (int side = 0; side < 2; side++) {
        const size_t count = side ? G_N_ELEMENTS(old) : G_N_ELEMENTS(new);
        for (size_t i = 0; i < count; i++)
            keys[i] = side ? kw_bytes_of_text(old[i]) : kw_bytes_of(new[i], sizeof new[i]);
        const kw_table_spec spec = {.name = self->apart.placements[side].store_table,
                                    .families = &(kw_family_spec){.name = "d"},
                                    .families_count = 1,
                                    .split_keys = keys,
                                    .split_keys_count = count};
        on->done = false;
        kw_store_handle_create_table(on->handle, &spec, on_created, on);
        desk_wait(on);
    }
}

/* Three quarters of the records have two equal rows; the others have one row, or two that differ. */
static void
put_records(pass_fixture *self)
{
    for (int i = 0; i < PASS_RECORDS; i++) {
        g_autofree char *record = g_strdup_printf("id=r%03d n=%d note=x", i, i);
        g_autofree char *other = g_strdup_printf("id=r%03d n=%d note=y", i, i);
        apart_put(&self->apart, i % 16 == 1 ? OLD : i % 16 == 2 ? NEW : BOTH, record, 1000);
        if (i % 16 == 3)
            apart_put(&self->apart, i % 32 == 3 ? OLD : NEW, other, 2000);
        if (i % 16 == 4)
            apart_put(&self->apart, i % 32 == 4 ? OLD : NEW, other, 1000); /* a tie */
    }
}

void
pass_fixture_open(pass_fixture *self, uint32_t max_scans)
{
    *self = (pass_fixture){0};
    apart_fixture_open(&self->apart, "now");
    create_tables(self);
    put_records(self);
    self->request = (kw_copy_request){.mode = KW_COPY_PASS, .max_rows = 64, .max_scans = max_scans};
}

void
pass_fixture_open_new_read(pass_fixture *self, uint32_t max_scans)
{
    pass_fixture_open(self, max_scans);
    self->new_is_read = true;
    self->apart.placements[0].role.scan = true;
    self->apart.placements[1].role.scan = false;
}

void
pass_fixture_close(pass_fixture *self)
{
    apart_fixture_close(&self->apart);
}

static void
answered(void *user, const kw_copy_result *result, const kw_error *error)
{
    pass_fixture *self = user;
    self->error = error ? *error : KW_ERROR_NONE;
    self->ended = result;
    if (result)
        self->slice = *result;
    self->apart.desk->done = true;
}

void
pass_fixture_slice(pass_fixture *self)
{
    static uint8_t after[100];
    desk *on = self->apart.desk;
    on->done = false;
    kw_copy(&on->call, &self->request, answered, self);
    desk_wait(on);
    self->slices++;
    if (!self->ended) /* it is repeated */
        return;
    self->rows += self->slice.rows;
    g_assert_cmpuint(self->slice.after.size, <, sizeof after);
    if (self->slice.after.size)
        memcpy(after, self->slice.after.data, self->slice.after.size);
    self->request.after = self->slice.end ? KW_BYTES_NONE : kw_bytes_of(after, self->slice.after.size);
    self->request.first = self->request.last = KW_BYTES_NONE;
    desk_clear(on);
}

apart_side
pass_fixture_first(const pass_fixture *self)
{
    return self->apart.placements[0].role.scan ? NEW : OLD;
}

void
pass_fixture_begin(pass_fixture *self, kw_copy_seen_use use)
{
    bool new = (use == KW_COPY_SEEN_COMPARE) != (pass_fixture_first(self) == NEW);
    self->request.seen_use = use;
    self->request.from = &self->apart.placements[!new];
    self->request.to = &self->apart.placements[new];
    self->request.after = KW_BYTES_NONE;
}

void
pass_fixture_scan(pass_fixture *self, kw_copy_seen_use use)
{
    pass_fixture_begin(self, use);
    do
        pass_fixture_slice(self);
    while (!self->ended || !self->slice.end);
}

void
pass_fixture_run(pass_fixture *self)
{
    self->request.seen = kw_copy_seen_new();
    self->rows = 0;
    for (kw_copy_seen_use use = KW_COPY_SEEN_ADD; use <= KW_COPY_SEEN_LEFT; use++)
        pass_fixture_scan(self, use);
    g_clear_pointer(&self->request.seen, kw_copy_seen_unref);
}

void
pass_fixture_expect_equal(pass_fixture *self)
{
    int tie = self->new_is_read ? 20 : 4; /* the row that scans read stays */
    for (int i = 0; i < PASS_RECORDS; i++) {
        g_autofree char *key = g_strdup_printf("id=r%03d n=%d", i, i);
        bool changed = i % 16 == 3 || i % 32 == tie;
        g_autofree char *record = g_strdup_printf("%s note=%c", key, changed ? 'y' : 'x');
        for (apart_side side = OLD; side <= NEW; side++) {
            self->apart.placements[0].role.get = side == NEW;
            self->apart.placements[1].role.get = side == OLD;
            g_assert_cmpstr(desk_get(self->apart.desk, "now", key, NULL), ==, record);
        }
    }
}

/* See put.h. If the first of two equal puts was applied, the second is rejected, and the catalog has the id
 * of the put. */
#include "catalog/put.h"

#include "base/log.h"

#define AGAIN_MS 200
#define CALL_MS 10000
/* A Thrift2 server with framed transport rejects larger calls. */
#define BYTES_MAX ((size_t)1024 * 1024)

struct kw_catalog_putting {
    kw_catalog *catalog;
    kw_arena *arena;
    const char *id;
    bool uncertain; /* an earlier attempt can have been applied, or can still be applied */
    bool pausing;   /* before the next attempt */
    kw_timer *timer;
    kw_write write;
    kw_check check;
    kw_get get;
    void (*done)(void *user, const kw_error *error);
    void *user;
};
typedef struct kw_catalog_putting putting;

static void
finish(putting *self, const kw_error *error)
{
    void (*done)(void *, const kw_error *) = self->done;
    void *user = self->user;
    kw_error reported = error ? *error : KW_ERROR_NONE;
    self->catalog->putting = NULL;
    kw_timer_free(self->timer);
    kw_arena_free(self->arena);
    done(user, error ? &reported : NULL);
}

static void put(putting *self);

static void
on_again(void *user)
{
    putting *self = user;
    self->pausing = false;
    put(self);
}

void
kw_catalog_end_put(kw_catalog *catalog)
{
    if (!catalog->putting || !catalog->putting->pausing)
        return;
    kw_timer_stop(catalog->putting->timer);
    on_again(catalog->putting);
}

void
kw_catalog_end_repeats(kw_catalog *catalog)
{
    catalog->ends_repeats = true;
    kw_catalog_end_put(catalog);
}

static void
put_again_soon(putting *self, const kw_error *error)
{
    if (self->catalog->ends_repeats) {
        finish(self, error);
        return;
    }
    if (!self->uncertain)
        kw_log(KW_LOG_WARN, "catalog", "it is not yet known whether the catalog was changed",
               KW_LOG_FACT("reason", error->text));
    self->uncertain = self->pausing = true;
    if (!self->timer)
        self->timer = kw_timer_new(self->catalog->settings.loop, on_again, self);
    kw_timer_start_ms(self->timer, AGAIN_MS);
    if (self->catalog->closed)
        kw_catalog_end_put(self->catalog);
}

/* --- finding out whether a put was applied --------------------------------------------------------- */

static void
on_id_read(void *user, kw_rows *rows, const kw_error *error)
{
    putting *self = user;
    if (error) {
        put_again_soon(self, error);
        return;
    }
    const kw_row *row = &rows->rows[0];
    bool ours = row->cells_count > 0 && kw_bytes_equal(row->cells[0].value, kw_bytes_of_text(self->id));
    kw_rows_free(rows);
    kw_error changed;
    kw_error_set(&changed, KW_BUSY, "another gateway has changed the catalog since it was read; try again");
    finish(self, ours ? NULL : &changed);
}

static void
read_id(putting *self)
{
    static const kw_column id = {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("id")};
    self->get = (kw_get){.table = self->catalog->table,
                         .row = KW_CATALOG_FACTS_ROW,
                         .columns = &id,
                         .columns_count = 1,
                         .max_versions = 1,
                         .deadline = kw_deadline_in_ms(CALL_MS)};
    kw_store_handle_get(self->catalog->settings.handle, &self->get, on_id_read, self);
}

/* --- the put --------------------------------------------------------------------------------------- */

static void
on_put(void *user, kw_outcome outcome, bool applied, const kw_error *error)
{
    putting *self = user;
    if (applied && !error)
        finish(self, NULL);
    else if (!error)
        read_id(self);
    else if (outcome == KW_OUTCOME_FAILED && !self->uncertain)
        finish(self, error);
    else
        put_again_soon(self, error);
}

static void
put(putting *self)
{
    kw_error ending;
    if (self->catalog->closed) {
        kw_error_set(&ending, KW_UNAVAILABLE, "the gateway is stopping");
        finish(self, &ending);
        return;
    }
    self->write.deadline = kw_deadline_in_ms(CALL_MS);
    kw_store_handle_write_if(self->catalog->settings.handle, &self->write, &self->check, on_put, self);
}

static kw_cell
cell(const char *qualifier, kw_bytes value)
{
    return (kw_cell){.family = KW_CATALOG_FAMILY, .qualifier = kw_bytes_of_text(qualifier), .value = value};
}

/* Prints the facts, and parses the text to make sure that it can be read back: some of the facts come from
 * the store, where other programs can have changed them. */
static bool
print_facts(const kw_facts_put *put, kw_arena *arena, kw_bytes *ret_text, kw_error *ret_error)
{
    kw_facts *read;
    *ret_text = put->facts ? kw_facts_print(put->facts, arena) : KW_BYTES_NONE;
    return !put->facts || kw_facts_parse(*ret_text, arena, &read, ret_error) ||
           kw_error_prefix(ret_error, "table %s", put->table);
}

static bool
build_cells(putting *self, const kw_catalog_changes *changes, kw_error *ret_error)
{
    kw_arena *arena = self->arena;
    kw_cell *cells = KW_ARENA_ARRAY(arena, kw_cell,
                                    3 + changes->facts_count + changes->created_count + changes->zones_count);
    size_t count = 0, bytes = 0;
    cells[count++] = cell("id", kw_bytes_of_text(self->id));
    for (size_t i = 0; i < changes->facts_count; i++) {
        const kw_facts_put *put = &changes->facts[i];
        kw_bytes text;
        if (!print_facts(put, arena, &text, ret_error))
            return false;
        cells[count++] = cell(kw_arena_printf(arena, KW_CATALOG_TABLE_PREFIX "%s", put->table), text);
        bytes += text.size;
    }
    for (size_t i = 0; i < changes->created_count; i++)
        cells[count++] = cell(kw_arena_printf(arena, KW_CATALOG_CREATED_PREFIX "%s", changes->created[i]),
                              KW_BYTES_LITERAL("1"));
    for (size_t i = 0; i < changes->zones_count; i++) {
        kw_bytes steps = kw_bytes_of_text(changes->zones[i].steps);
        cells[count++] =
            cell(kw_arena_printf(arena, KW_CATALOG_ZONE_PREFIX "%s", changes->zones[i].key), steps);
        bytes += steps.size;
    }
    if (changes->version)
        cells[count++] = cell("policy", kw_version_print(changes->version, arena));
    if (changes->puts_records) {
        kw_bytes text;
        if (!kw_changes_print_to_put(changes->records, changes->records_count, arena, &text, ret_error))
            return false;
        cells[count++] = cell("changes", text);
        bytes += text.size;
    }
    self->write.cells = cells;
    self->write.cells_count = count;
    return bytes <= BYTES_MAX || kw_error_set(ret_error, KW_REFUSED,
                                              "the facts of the changed tables have %zu bytes, and at most "
                                              "%zu can be written at once; change "
                                              "fewer tables at a time",
                                              bytes, BYTES_MAX);
}

void
kw_catalog_put(kw_catalog *catalog, const kw_catalog_image *image, const kw_catalog_changes *changes,
               void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    putting *self = KW_ARENA_NEW(arena, putting);
    kw_error error;
    *self = (putting){.catalog = catalog, .arena = arena, .done = done, .user = user};
    if (catalog->putting) {
        kw_error_set(&error, KW_BUSY, "this gateway is changing the catalog now; try again");
        kw_arena_free(arena);
        done(user, &error);
        return;
    }
    catalog->putting = self;
    self->id = kw_arena_printf(arena, "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", kw_random_u64(),
                               kw_random_u64());
    /* The timestamp is greater than all that were read: even after a clock was set back, the put stays
     * visible. */
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = catalog->table,
                             .row = KW_CATALOG_FACTS_ROW,
                             .timestamp = MAX(image->newest_ms + 1, kw_clock_wall_ms())};
    self->check = (kw_check){.family = KW_CATALOG_FAMILY,
                             .qualifier = KW_CATALOG_ID,
                             .compare = KW_COMPARE_EQUAL,
                             .has_value = image->id[0] != '\0',
                             .value = kw_bytes_of_text(image->id)};
    if (build_cells(self, changes, &error))
        put(self);
    else
        finish(self, &error);
}

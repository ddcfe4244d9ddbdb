/* See put.h. If the first of two equal puts came through, the second one is refused, and the catalog has our
 * id. */
#include "catalog/put.h"

#include "base/log.h"

#define AGAIN_MS 200
#define CALL_MS 10000
/* A Thrift2 server that speaks framed refuses larger calls. */
#define BYTES_MAX ((size_t)1024 * 1024)

struct kw_catalog_putting {
    kw_catalog *catalog;
    kw_arena *arena;
    const char *id;
    bool uncertain; /* an earlier try may have been applied, or may be applied yet */
    bool pausing;   /* before the next try */
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
    kw_error told = error ? *error : KW_ERROR_NONE;
    self->catalog->putting = NULL;
    kw_timer_free(self->timer);
    kw_arena_free(self->arena);
    done(user, error ? &told : NULL);
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

static void
put_again_soon(putting *self, const kw_error *error)
{
    if (!self->uncertain)
        kw_log(KW_LOG_WARN, "catalog", "it is not known yet whether the catalog was changed", "reason=\"%s\"",
               error->text);
    self->uncertain = self->pausing = true;
    if (!self->timer)
        self->timer = kw_timer_new(self->catalog->settings.loop, on_again, self);
    kw_timer_start_ms(self->timer, AGAIN_MS);
    if (self->catalog->closed)
        kw_catalog_end_put(self->catalog);
}

/* --- was it applied? ------------------------------------------------------------------------------- */

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
    kw_error_set(&changed, KW_BUSY, "another gateway changed the catalog meanwhile; try again");
    finish(self, ours ? NULL : &changed);
}

static void
read_id(putting *self)
{
    static const kw_column id = {.family = KW_BYTES_LITERAL("d"), .qualifier = KW_BYTES_LITERAL("id")};
    self->get = (kw_get){.table = self->catalog->table,
                         .row = KW_CATALOG_TABLES_ROW,
                         .columns = &id,
                         .columns_count = 1,
                         .max_versions = 1,
                         .deadline = kw_deadline_in_ms(CALL_MS)};
    kw_door_get(self->catalog->settings.door, &self->get, on_id_read, self);
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
        kw_error_set(&ending, KW_UNAVAILABLE, "the gateway is ending");
        finish(self, &ending);
        return;
    }
    self->write.deadline = kw_deadline_in_ms(CALL_MS);
    kw_door_write_if(self->catalog->settings.door, &self->write, &self->check, on_put, self);
}

static kw_cell
cell(const char *qualifier, kw_bytes value)
{
    return (kw_cell){.family = KW_CATALOG_FAMILY, .qualifier = kw_bytes_of_text(qualifier), .value = value};
}

static bool
make_cells(putting *self, const kw_facts_put *puts, size_t count, kw_error *ret_error)
{
    kw_cell *cells = KW_ARENA_ARRAY(self->arena, kw_cell, count + 1);
    size_t bytes = 0;
    cells[0] = cell("id", kw_bytes_of_text(self->id));
    for (size_t i = 0; i < count; i++) {
        kw_bytes text = puts[i].facts ? kw_facts_print(puts[i].facts, self->arena) : KW_BYTES_NONE;
        cells[i + 1] = cell(kw_arena_printf(self->arena, KW_CATALOG_TABLE_PREFIX "%s", puts[i].table), text);
        bytes += text.size;
    }
    self->write.cells = cells;
    self->write.cells_count = count + 1;
    return bytes <= BYTES_MAX ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "the facts of the changed tables take %zu bytes, and %zu can be written at once; change "
               "fewer tables at a time",
               bytes, BYTES_MAX);
}

void
kw_catalog_put(kw_catalog *catalog, const kw_catalog_image *image, const kw_facts_put *puts, size_t count,
               void (*done)(void *user, const kw_error *error), void *user)
{
    kw_arena *arena = kw_arena_new();
    putting *self = KW_ARENA_NEW(arena, putting);
    *self = (putting){.catalog = catalog, .arena = arena, .done = done, .user = user};
    g_assert(!catalog->putting);
    catalog->putting = self;
    self->id = kw_arena_printf(arena, "%s %016" G_GINT64_MODIFIER "x", catalog->instance, kw_random_u64());
    /* The timestamp is above all that was read: a clock that was put back cannot hide the put. */
    self->write = (kw_write){.kind = KW_WRITE_PUT,
                             .table = catalog->table,
                             .row = KW_CATALOG_TABLES_ROW,
                             .timestamp = MAX(image->newest_ms + 1, kw_clock_wall_ms())};
    self->check = (kw_check){.family = KW_CATALOG_FAMILY,
                             .qualifier = KW_CATALOG_ID,
                             .compare = KW_COMPARE_EQUAL,
                             .has_value = image->id[0] != '\0',
                             .value = kw_bytes_of_text(image->id)};
    kw_error error;
    if (make_cells(self, puts, count, &error))
        put(self);
    else
        finish(self, &error);
}

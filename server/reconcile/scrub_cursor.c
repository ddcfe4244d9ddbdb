/* See scrub.h. A cursor is not secret and grants no rights: a caller who changes one only scrubs other rows.
 */
#include "reconcile/scrub.h"

#include "reconcile/share.h"
#include "verb/row_keys.h"

#include <xxhash.h>

#define VERSION 1
/* version, hash of the sides, stage */
#define HEAD_SIZE (1 + 8 + 2)

/* The two placements of a path whose key rule changes; or that of the primary path, from which rows are
 * copied, and that of the path that is being added. */
static void
list_changing(const kw_path *path, const kw_placement **ret_sides)
{
    bool adds = kw_path_is_filling(path);
    g_assert(path->placements_count == (adds ? 1 : 2));
    ret_sides[0] = kw_path_scanned(adds ? path->table->paths : path);
    ret_sides[1] = &path->placements[ret_sides[0] == &path->placements[0]];
}

kw_scrub_sides
kw_scrub_sides_of(const kw_scrub_request *request, kw_arena *arena)
{
    const kw_table *table = request->table;
    const kw_path *changing = request->changing;
    size_t count = changing ? 2 : 0, hints_count = 0;
    const kw_placement **all =
        KW_ARENA_ARRAY(arena, const kw_placement *, count + table->queried_paths_count);
    const kw_placement **hints = KW_ARENA_ARRAY(arena, const kw_placement *, table->hint_paths_count);
    for (size_t i = 0; !changing && i < table->queried_paths_count; i++) {
        const kw_path *path = &table->paths[i];
        if (!kw_path_is_filling(path) && path->content == KW_CONTENT_HINTS)
            hints[hints_count++] = kw_path_scanned(path);
        else if (!kw_path_is_filling(path))
            all[count++] = kw_path_scanned(path);
    }
    bool of_hints = changing && changing->content == KW_CONTENT_HINTS;
    if (of_hints) {
        all[0] = kw_path_scanned(table->paths);
        hints[hints_count++] = changing->placements;
        count = 1;
    } else if (changing) {
        list_changing(changing, all);
    }
    return (kw_scrub_sides){.table = table,
                            .exact = changing && !of_hints,
                            .all = all,
                            .count = count,
                            .hints = hints,
                            .hints_count = hints_count,
                            .finds_stale = !changing};
}

/* --- stages -------------------------------------------------------------------------------------- */

/* Of a hint path. */
static size_t
stages_each(const kw_scrub_sides *sides)
{
    return sides->finds_stale ? 2 : 1;
}

size_t
kw_scrub_stages(const kw_scrub_sides *sides)
{
    return sides->count + sides->hints_count * stages_each(sides);
}

size_t
kw_scrub_first_stage(const kw_scrub_sides *sides)
{
    return sides->count == 1 ? 1 : 0;
}

const kw_placement *
kw_scrub_hint_stage(const kw_scrub_sides *sides, size_t stage, bool *ret_stale)
{
    if (stage < sides->count || stage >= kw_scrub_stages(sides))
        return NULL;
    *ret_stale = (stage - sides->count) % stages_each(sides);
    return sides->hints[(stage - sides->count) / stages_each(sides)];
}

/* --- checks -------------------------------------------------------------------------------------- */

/* Refuses a repair while a path of the table has a change: it would write only the placements that scans
 * read. */
static bool
check_change(const kw_scrub_request *request, kw_error *ret_error)
{
    return !request->repair || !kw_table_changes_rows(request->table) ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "table %s: scrub cannot repair rows while the key rule of a path is being changed, or "
               "a path is being added; repair them after the change, or compare them without repair",
               request->table->name);
}

/* Rows are copied to a placement only while every write reaches it. Otherwise a later removal could miss
 * them. */
static bool
check_changing(const kw_scrub_request *request, kw_error *ret_error)
{
    const kw_path *path = request->changing;
    bool written = true;
    for (size_t i = 0; i < path->placements_count; i++)
        written = written && path->placements[i].role.put > 0;
    return !request->repair || written ||
           kw_error_set(
               ret_error, KW_REFUSED,
               "table %s: rows can be repaired only while writes go to both store tables, and in the "
               "present place of the change they do not",
               request->table->name);
}

static size_t
count_readable(const kw_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < table->queried_paths_count; i++)
        count += !kw_path_is_filling(&table->paths[i]);
    return count;
}

bool
kw_scrub_check(const kw_scrub_request *request, kw_error *ret_error)
{
    const kw_table *table = request->table;
    if (request->changing)
        return check_changing(request, ret_error);
    if (count_readable(table) < 2)
        return kw_error_set(ret_error, KW_INVALID,
                            "table %s has one path that is complete, so there is nothing to compare it with",
                            table->name);
    if (table->chosen)
        kw_error_set(ret_error, KW_INVALID,
                     "table %s: scrub cannot compare paths whose buckets are chosen at each put (salt "
                     "with algorithm random or round_robin)",
                     table->name);
    return !table->chosen && check_change(request, ret_error);
}

/* --- cursors ------------------------------------------------------------------------------------- */

static uint64_t
add_side(const kw_placement *side, uint64_t hash)
{
    const char *fingerprint = kw_layout_fingerprint(side->layout);
    hash = XXH64(side->path->name, strlen(side->path->name), hash);
    hash = XXH64(side->store_table.data, side->store_table.size, hash);
    return XXH64(fingerprint, strlen(fingerprint), hash);
}

/* Hashes everything that gives the stages and keys of a cursor their meaning. */
static uint64_t
identity_of(const kw_scrub_sides *sides)
{
    uint64_t hash = XXH64(sides->table->name, strlen(sides->table->name), sides->exact);
    for (size_t i = 0; i < sides->count; i++)
        hash = add_side(sides->all[i], hash);
    for (size_t i = 0; i < sides->hints_count; i++)
        hash = add_side(sides->hints[i], hash);
    return hash;
}

kw_bytes
kw_scrub_cursor(kw_call *call, const kw_scrub_sides *sides, const kw_scrub_position *position)
{
    g_auto(kw_buffer) text = KW_BUFFER_EMPTY;
    uint8_t *head = kw_buffer_reserve(&text, HEAD_SIZE);
    head[0] = VERSION;
    kw_be64_store(head + 1, identity_of(sides));
    kw_be16_store(head + 9, (uint16_t)position->stage);
    text.size = HEAD_SIZE;
    kw_row_key_append(&text, position->first);
    kw_row_key_append(&text, position->last);
    kw_row_key_append(&text, position->after);
    return kw_arena_copy(call->arena, kw_buffer_bytes(&text));
}

bool
kw_scrub_open_cursor(const kw_scrub_sides *sides, kw_bytes cursor, kw_scrub_position *ret_position,
                     kw_error *ret_error)
{
    const kw_table *table = sides->table;
    kw_scrub_position position = {0};
    if (cursor.size < HEAD_SIZE || cursor.data[0] != VERSION)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the cursor is not from a scrub", table->name);
    if (kw_be64_load(cursor.data + 1) != identity_of(sides))
        return kw_error_set(
            ret_error, KW_INVALID,
            "table %s: the cursor belongs to another table, or the table's paths have changed "
            "since it was made; start again without it",
            table->name);
    position.stage = kw_be16_load(cursor.data + 9);
    kw_bytes rest = kw_bytes_skip(cursor, HEAD_SIZE);
    if (position.stage >= kw_scrub_stages(sides) || !kw_row_key_take(&rest, &position.first) ||
        !kw_row_key_take(&rest, &position.last) || !kw_row_key_take(&rest, &position.after) || rest.size)
        return kw_error_set(ret_error, KW_INVALID, "table %s: the cursor is damaged", table->name);
    *ret_position = position;
    return true;
}

/* --- paths of a change ------------------------------------------------------------------------------ */

static kw_scrub_sides
sides_of_changing(const kw_path *path, kw_arena *arena)
{
    const kw_scrub_request request = {.table = path->table, .changing = path};
    return kw_scrub_sides_of(&request, arena);
}

static const kw_path *
first_changing(const kw_table *table, size_t from)
{
    for (size_t i = from; i < table->queried_paths_count; i++)
        if (kw_path_is_changing(&table->paths[i]))
            return &table->paths[i];
    return NULL;
}

static const kw_path *
next_changing(const kw_path *after)
{
    return first_changing(after->table, (size_t)(after - after->table->paths) + 1);
}

const kw_path *
kw_scrub_find_changing(const kw_table *table, kw_bytes cursor, kw_arena *arena)
{
    const kw_path *first = first_changing(table, 0);
    kw_scrub_position ignored_position;
    kw_error ignored;
    for (const kw_path *path = first; path && cursor.size; path = next_changing(path)) {
        kw_scrub_sides sides = sides_of_changing(path, arena);
        if (kw_scrub_open_cursor(&sides, cursor, &ignored_position, &ignored))
            return path;
    }
    return first; /* if the cursor belongs to no path, kw_scrub_open_cursor rejects it later */
}

kw_bytes
kw_scrub_next_changing(kw_call *call, const kw_path *after)
{
    const kw_path *next = next_changing(after);
    if (!next)
        return KW_BYTES_NONE;
    kw_scrub_sides sides = sides_of_changing(next, call->arena);
    return kw_scrub_cursor(call, &sides, &(kw_scrub_position){.stage = 0});
}

double
kw_scrub_progress_of_changing(const kw_path *path, double progress)
{
    size_t before = 0, count = 0;
    for (const kw_path *each = first_changing(path->table, 0); each; each = next_changing(each)) {
        before += each < path;
        count++;
    }
    return ((double)before + progress) / (double)count;
}

/* --- progress ------------------------------------------------------------------------------------ */

double
kw_scrub_progress(const kw_scrub_sides *sides, const kw_scrub_position *position)
{
    double share = kw_share_of_keys(position->first, position->last, position->after);
    size_t first = kw_scrub_first_stage(sides), count = kw_scrub_stages(sides) - first;
    return ((double)(position->stage - first) + share) / (double)count;
}

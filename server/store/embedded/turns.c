#include "store/embedded/turns.h"

/* Sets of rows, by hash. Rows with the same hash count as one row. */
#define ROW_HASHES 4096

typedef struct row_set {
    uint64_t bits[ROW_HASHES / 64];
} row_set;

/* --- the rows and entries of a commit --------------------------------------------------------------- */

/* Calls `visit` for the rows that the commit, or its next slice, changes, until it returns false. */
static bool
visit_rows(const kw_commit *commit, bool (*visit)(row_set *set, kw_bytes row), row_set *set)
{
    bool increments = commit->kind == KW_COMMIT_INCREMENT;
    if (commit->kind == KW_COMMIT_MANY) {
        size_t end = MIN(commit->many.count, commit->many.next + KW_TURNS_ROUND_ENTRIES);
        for (size_t i = commit->many.next; i < end; i++)
            if (!visit(set, commit->many.writes[i]->row))
                return false;
        return true;
    }
    const kw_row_target *others = increments ? commit->increment->others : commit->write->others;
    size_t others_count = increments ? commit->increment->others_count : commit->write->others_count;
    if (!visit(set, increments ? commit->increment->row : commit->write->row))
        return false;
    for (size_t i = 0; i < others_count; i++)
        if (!visit(set, others[i].row))
            return false;
    return true;
}

static bool
add_row(row_set *set, kw_bytes row)
{
    size_t hash = kw_bytes_hash(row) % ROW_HASHES;
    set->bits[hash / 64] |= UINT64_C(1) << hash % 64;
    return true;
}

static bool
lacks_row(row_set *set, kw_bytes row)
{
    size_t hash = kw_bytes_hash(row) % ROW_HASHES;
    return !(set->bits[hash / 64] >> hash % 64 & 1);
}

static size_t
entries_of(const kw_write *write)
{
    return 1 + (write->cells_count + write->columns_count) * (1 + write->others_count);
}

static bool
is_large_slice(const kw_commit *commit)
{
    size_t entries = 0;
    for (size_t i = commit->many.next; i < commit->many.count && entries <= KW_TURNS_SMALL_ENTRIES; i++)
        entries += entries_of(commit->many.writes[i]);
    return entries > KW_TURNS_SMALL_ENTRIES;
}

bool
kw_turns_is_large(const kw_commit *commit)
{
    if (commit->kind == KW_COMMIT_MANY)
        return is_large_slice(commit);
    if (commit->kind == KW_COMMIT_INCREMENT)
        return commit->increment->columns_count * (1 + commit->increment->others_count) >
               KW_TURNS_SMALL_ENTRIES;
    if (commit->kind == KW_COMMIT_DERIVED)
        return entries_of(commit->write) +
                   commit->derivation->columns_count * (1 + commit->write->others_count) +
                   KW_STORE_RECORD_ROWS_MAX >
               KW_TURNS_SMALL_ENTRIES;
    return entries_of(commit->write) > KW_TURNS_SMALL_ENTRIES;
}

/* --- the order -------------------------------------------------------------------------------------- */

void
kw_turns_arrange(kw_commit **pending)
{
    row_set rows = {0}; /* of the commits in `later` */
    kw_commit *later = NULL, **later_end = &later, **at = pending;
    while (*at && (*at)->kind < KW_COMMIT_CREATE) {
        kw_commit *commit = *at;
        if (!kw_turns_is_large(commit) && (!later || visit_rows(commit, lacks_row, &rows))) {
            at = &commit->next;
            continue;
        }
        *at = commit->next;
        *later_end = commit;
        later_end = &commit->next;
        visit_rows(commit, add_row, &rows);
    }
    *later_end = *at;
    *at = later;
}

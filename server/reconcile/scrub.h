/* Scrub checks that all sides of a table hold the same records. The sides are the placements that scans read,
 * one of each path that is complete; or, if the request names a path with a change, the two placements of
 * this change (see kw_scrub_sides_of). Scrub compares one slice of a side's rows with the rows of the other
 * sides, and on request rewrites rows that differ from the first side, which is correct.
 *
 *   scrub.c         a slice: scan rows of one path, look their records up in the others
 *   scrub_judge.c   pairs of rows that differ: read them again until they are settled, repair, verify
 *   scrub_large.c   rows of a change that are too large to be compared: the store copies them once more
 *   scrub_rows.c    two rows: whether and how they differ, and the writes that make them equal. Pure
 *   scrub_apart.c   in a store with several writers, what two rows of a change must have in common. Pure
 *   scrub_cursor.c  where the next slice begins. Pure
 *
 *   stage 0:  first side -> every other side    finds MISSING and DIFFERENT rows
 *   stage n:  side n     -> first side          finds EXTRA rows, whose records were removed
 *
 * Then two stages for each hint path (hint_slice.h): rows without their hint are MISSING, and stale hints are
 * counted. Only the first one for a hint path that is added.
 *
 * Why a repair cannot hide an acknowledged write: it uses timestamps that the rows already have, or the
 * horizon, which is older than any write in flight can be. The horizon is determined before the rows are
 * read. So the rows contain every acknowledged write up to the horizon, and later writes get greater
 * timestamps than the repair, however late the repair arrives. Repeating a repair, or running two at once,
 * writes the same cells.
 *
 * The placements of a change are compared exactly, with all versions and timestamps, because readers of the
 * new placement must see what they saw before. A repair lets the store copy the row.
 *
 * In a store with one writer, the store writes both rows in one step, so writes in flight do not matter. A
 * cell that only the other row has is deleted with its own timestamp: the correct row can only lack it
 * because of a later removal. Cells that a deletion hides cannot be repaired in this way.
 *
 * In a store with several writers ("apart"), the comparison runs in both-old of change/ladder.h, or in
 * spaced-old if a path is added. Scans read the correct row (O), and not the other row (N). A removal
 * writes N first, and O after that. A put writes both at once, so it can be in O before it is in N. A row
 * that differs is therefore read again, and then N is read some time after O. A put in flight that had
 * reached O when it was read has then reached N. So N has every cell that was read from O, or a newer write
 * of it. Only these differences are repaired:
 *
 *   O has a visible cell, and N lacks it     unless N has removed it, or has a newer cell of the column and
 *                                            as many cells of it as O (the family keeps no more versions)
 *   both have it, with different values      (writes of one millisecond)
 *   N has a cell that O has removed          N lacks the removal
 *
 * A put that takes longer than the wait looks like a row that N lacks. If the repair copies it, the copy is a
 * cell with the timestamp of the put, which the put then writes again.
 *
 * A cell or a removal that only N has is not repaired. It is of a write in flight, or of one with an unknown
 * outcome that has not reached O, and can take effect at any time. Deleting it could hide a write that O is
 * about to acknowledge. After both-old, and before calls read N, the pass in last-pass-old copies such cells
 * to O, or replaces them by those of O. If a path is added, no pass follows, because gets read O. There such
 * cells stay in N until the record is written again. Their records are counted as extra, for information.
 *
 * A put with an unknown outcome can also have reached only O. If it reached O before the row was compared, it
 * is a difference and is copied to N. If it did so later, the pass copies it, or it stays there if a
 * path is added.
 */
#pragma once

#include "reconcile/reconcile.h"

#include <glib.h>

/* What is compared. In an arena. */
typedef struct kw_scrub_sides {
    const kw_table *table;
    bool exact; /* the two placements of a change */
    bool apart; /* the same, in a store with several writers; rows are read with their control cells */
    const kw_placement *const *all; /* [0] is correct, called primary below */
    size_t count;
    const kw_placement *const *hints; /* of the hint paths that queries use, or of the one that is added */
    size_t hints_count;
    bool finds_stale; /* not for a path that is added */
} kw_scrub_sides;

/* One record: its row under the primary side and its row under another one. */
typedef struct kw_scrub_pair {
    kw_record key; /* identity fields */
    kw_bytes primary_key;
    kw_bytes other_key;
    uint64_t state;    /* hash of the difference when the rows were last read */
    size_t at;         /* index of the pair's rows among the rows last read */
    bool stable;       /* true if the previous read showed the same difference */
    size_t difference; /* index among the listed ones; SIZE_MAX: not listed */
} kw_scrub_pair;

/* --- scrub_rows.c -------------------------------------------------------------------------------- */

/* exact: rows have all versions, and timestamps are compared too. Otherwise rows have one version of each
 * column. */

/* A hash of the differing cells, with values and timestamps. Equal cells are not part of it, so frequent
 * writes to one column do not hide an old difference in another column. */
uint64_t kw_scrub_state(bool exact, const kw_row *primary, const kw_row *other);

/* True if both rows have the same columns with the same values, or both have no cells. */
bool kw_scrub_alike(bool exact, const kw_row *primary, const kw_row *other);

/* Classifies two rows that are not alike. */
kw_scrub_kind kw_scrub_kind_of(const kw_row *primary, const kw_row *other);

/* True if a differing cell has a timestamp after `horizon_ms`, unless the timestamp is far after `now_ms`, so
 * that no clock can have assigned it. The write of such a cell can still be in flight. */
bool kw_scrub_is_young(const kw_row *primary, const kw_row *other, int64_t horizon_ms, int64_t now_ms);

/* Describes a difference for people, for example "amount has another value, note is missing". In the arena,
 * of bounded length. */
const char *kw_scrub_text(kw_scrub_kind kind, const kw_table *table, bool exact, const kw_row *primary,
                          const kw_row *other, kw_arena *arena);

/* Builds writes that make the other row equal to the primary one. Their timestamps are those of the primary
 * cells, or of the other row's cells where those are newer. raise: use the horizon as the timestamp instead,
 * because a delete marker hides the first repair. The horizon is after that marker. A cell of the other row
 * that is newer than the horizon is never deleted, and only a primary cell that is still newer overwrites it.
 * Appends `kw_write *` to `writes`; everything except the cells' bytes is in the arena. */
typedef struct kw_scrub_repair {
    const kw_placement *other;
    kw_bytes row;
    int64_t horizon_ms;
    bool raise;
    kw_deadline deadline;
    uint64_t era; /* of the call */
} kw_scrub_repair;
void kw_scrub_repair_row(const kw_scrub_repair *repair, const kw_row *primary, const kw_row *other,
                         kw_arena *arena, GPtrArray *writes);

/* Deletes the cells that only the other row has, if that does not hide a cell of the primary one. Of the
 * repair, `horizon_ms` and `raise` are not used. */
void kw_scrub_delete_extra(const kw_scrub_repair *repair, const kw_row *primary, const kw_row *other,
                           kw_arena *arena, GPtrArray *writes);

/* --- scrub_apart.c ------------------------------------------------------------------------------- */

/* Rows in HBase's order with control cells. The results borrow the cells; their arrays are in the arena. */

/* Selects the cells that must be equal. ret_primary: the cells of the primary row that the other row must
 * have. ret_other: the cells of the other row that the primary row has, too, with any value, or has
 * removed. */
void kw_scrub_needed(const kw_ordering *ordering, const kw_row *primary, const kw_row *other, kw_arena *arena,
                     kw_row *ret_primary, kw_row *ret_other);
/* The visible cells that only the other row has, and that the primary row has not removed. */
kw_row kw_scrub_extra(const kw_ordering *ordering, const kw_row *primary, const kw_row *other,
                      kw_arena *arena);
/* The row as callers see it. */
kw_row kw_scrub_visible(const kw_ordering *ordering, const kw_row *row, kw_arena *arena);

/* --- scrub_cursor.c ------------------------------------------------------------------------------ */

/* What the request compares, in the arena. */
kw_scrub_sides kw_scrub_sides_of(const kw_scrub_request *request, kw_arena *arena);

/* INVALID if the paths of the table cannot be compared. REFUSED if the request repairs rows, and they cannot
 * be repaired at present. */
bool kw_scrub_check(const kw_scrub_request *request, kw_error *ret_error);

/* Where a slice begins. */
typedef struct kw_scrub_position {
    size_t stage; /* the side whose rows are scanned; from sides.count on: of hints (kw_scrub_hint_stage) */
    kw_bytes
        first; /* first and last row key of the side when the stage began, for the progress; empty: unknown */
    kw_bytes last;
    kw_bytes after; /* the last row compared; empty: none */
} kw_scrub_position;

/* In the call's arena. */
kw_bytes kw_scrub_cursor(kw_call *call, const kw_scrub_sides *sides, const kw_scrub_position *position);
/* INVALID if the cursor was made for another table, or for other sides or rules, or is damaged. ret_position
 * holds slices of the cursor. */
bool kw_scrub_open_cursor(const kw_scrub_sides *sides, kw_bytes cursor, kw_scrub_position *ret_position,
                          kw_error *ret_error);
/* The number of stages, and the first one: a single side is not compared. */
size_t kw_scrub_stages(const kw_scrub_sides *sides);
size_t kw_scrub_first_stage(const kw_scrub_sides *sides);
/* The hint path of a stage, and whether the stage looks for stale hints. NULL: it is a stage of a side. */
const kw_placement *kw_scrub_hint_stage(const kw_scrub_sides *sides, size_t stage, bool *ret_stale);
/* The share of the whole scrub that is done at this position, 0 to 1. */
double kw_scrub_progress(const kw_scrub_sides *sides, const kw_scrub_position *position);

/* --- the rows of a comparison: end of scrub_apart.c ---------------------------------------------- */

typedef struct kw_scrub_job {
    kw_call *call;
    const kw_scrub_request *request;
    const kw_scrub_sides *sides;
    size_t max_bytes; /* of the rows read together */
    int64_t grace_ms; /* a write that is in flight for longer is not acknowledged any more */
    bool of_primary;  /* the rows of the primary side are being scanned */
    kw_scrub_result result;
    kw_scrub_difference *differences; /* space for max_differences */
} kw_scrub_job;

/* What is compared of two rows. Normally that is all of their cells. If the sides are apart, it is what
 * kw_scrub_needed selects; in the stages that scan the other side, it is what kw_scrub_extra selects, against
 * no cells. Borrows the cells from the rows; the arrays can be in the call's arena. */
typedef struct kw_scrub_view {
    kw_row primary, other;
} kw_scrub_view;
kw_scrub_view kw_scrub_view_of(const kw_scrub_job *job, const kw_row *primary, const kw_row *other);
/* kw_scrub_alike and kw_scrub_state of the view. */
bool kw_scrub_view_is_alike(const kw_scrub_job *job, const kw_row *primary, const kw_row *other);
uint64_t kw_scrub_view_state(const kw_scrub_job *job, const kw_row *primary, const kw_row *other);

/* The copy that repairs a row of the other side of a change. */
kw_row_copy kw_scrub_copy_of(const kw_scrub_job *job, kw_bytes primary_key, kw_bytes other_key);
/* A row that was read, as callers see it. */
kw_row kw_scrub_job_visible(const kw_scrub_job *job, const kw_row *row);
/* The ordering for reads of a side. NULL: the reads return control cells, too. */
const kw_ordering *kw_scrub_ordering(const kw_scrub_job *job);

/* --- scrub_judge.c ------------------------------------------------------------------------------- */

/* Lists a difference if there is space. Returns its index, or SIZE_MAX. */
size_t kw_scrub_list(kw_scrub_job *job, const kw_scrub_difference *difference);

/* --- scrub_large.c ------------------------------------------------------------------------------- */

/* row: the key of the row under the scanned side; empty: there is no row. */
typedef void (*kw_scrub_large_done)(void *user, kw_bytes row, const kw_error *error);
/* Finds the first row of the side from `start` on, has the store copy the primary row of its record to the
 * other row, and counts it as large. Counts a row that one of the rules does not fit as foreign instead. The
 * key that is passed to done is in the call's arena. Only for a change. */
void kw_scrub_copy_large(kw_scrub_job *job, const kw_placement *side, kw_bytes start,
                         kw_scrub_large_done done, void *user);
/* Copies the primary row of the pair to its other row, and counts it as large. */
void kw_scrub_copy_pair(kw_scrub_job *job, const kw_scrub_pair *pair, kw_scrub_large_done done, void *user);

/* --- scrub_judge.c ------------------------------------------------------------------------------- */

/* Counts and lists a row whose key does not follow the rule of this side, or, in a change, whose record the
 * rule of the other side cannot encode. */
void kw_scrub_note_foreign(kw_scrub_job *job, const kw_placement *side, kw_bytes row, const kw_error *error);

/* The get operation that reads a row for the comparison. */
kw_get kw_scrub_get(const kw_scrub_job *job, const kw_placement *side, kw_bytes row);

typedef void (*kw_scrub_judged)(void *user, const kw_error *error);
/* Reads again the pairs that differed, counts those that still differ by kind, and repairs them on request.
 * done is called later. */
void kw_scrub_judge(kw_scrub_job *job, const kw_placement *other, kw_scrub_pair **pairs, size_t count,
                    kw_scrub_judged done, void *user);

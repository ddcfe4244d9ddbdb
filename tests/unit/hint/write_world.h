/* The state of write_model, for its parts: write_calls.c takes the steps of writes, write_others.c those of
 * reads and of the cleaner. */
#pragma once

#include "write_model.h"

#include <glib.h>
#include <string.h>

#define CALLERS_MAX 2
#define CLEANER CALLERS_MAX
#define LATE (CLEANER + 1)
#define CALLS (LATE + 3)
#define TUPLES 8 /* of a path: values 1 and 2 for each of three fields */
#define ROW 0
#define HINT 1

typedef struct cell {
    uint8_t at, value; /* at 0: it was never written */
} cell;

/* A compare has written what it had read, although its caller did not give this field. */
#define COPIED_CELL 1
#define COPIED_MARKER 2

/* What a delete marker hides is not kept. A gone cell has the timestamp of its marker plus 1. */
typedef struct row {
    cell fields[FIELDS];
    uint8_t markers[FIELDS];
    uint8_t copied[FIELDS]; /* COPIED_ */
    cell writer;            /* kw:w */
    cell generation;        /* kw:g */
} row;

typedef struct hint {
    uint8_t at, marker;
} hint;

typedef enum call_kind {
    CALL_NONE,
    CALL_PUT,
    CALL_PUT_IF,
    CALL_REMOVE,
    CALL_GET,
    CALL_FIND,
    CALL_CLEAN,
    CALL_COPY
} call_kind;

typedef struct call {
    uint8_t kind;
    uint8_t step;    /* of its program; of others: how far it is */
    uint8_t sent;    /* the message of this step is under way */
    uint8_t pending; /* bits: the paths whose hints are under way */
    uint8_t hints;   /* bits: the paths that get a hint */
    uint8_t given;   /* bits: the fields */
    uint8_t values[FIELDS];
    uint8_t believed;
    uint8_t seen[FIELDS];
    uint8_t seen_writer, seen_generation;
    uint8_t newest; /* the newest timestamp that was read */
    uint8_t stamp, id;
    uint8_t sent_at, hinted_at;
    uint8_t path, tuple; /* finds and cleans */
    uint8_t hint_at, earliest, stale;
    uint8_t place;  /* the index in the walk at which it runs */
    uint8_t exempt; /* this write can take effect at any time later, or never */
    int8_t spec;
    uint16_t result;
} call;

typedef struct world {
    row row;
    hint hints[PATHS_MAX][TUPLES];
    call calls[CALLS];
    spec_ops specs;
    uint8_t now, slow[2], next_id, wrong;
    /* A compare has replaced a plain write that it could not notice: only invariant H is checked. */
    uint8_t at, from;            /* of the walk; `from` while some gateways have not reported */
    uint8_t copied;              /* the copy of this place has ended */
    uint8_t max_stamp[WALK_MAX]; /* the newest stamp that was taken at each place */
    uint8_t lost;
    uint8_t ticks_left, moves_left, row_moves_left, calls_left, unknown_left, cleans_left;
    monitor monitors[2]; /* the last one is only in the state if it is used */
} world;

typedef struct search {
    const write_model *model;
    explorer *of;
} search;

static inline void
take_step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

/* --- write_row.c ---------------------------------------------------------------------------------- */

uint8_t row_value(const search *with, const world *in, unsigned field);
/* The fields that a read shows. */
uint8_t row_fields(const search *with, const world *in);
/* The newest timestamp that a read of these fields returns; with order: stamp that of gone cells, too. */
uint8_t row_newest(const search *with, const world *in, uint8_t fields);
void cell_put(cell *to, uint8_t at, uint8_t value);
bool hint_is_visible(const search *with, const world *in, size_t path, unsigned tuple);
void hint_put(const search *with, world *in, size_t path, unsigned tuple);
/* The number of a tuple among those of a path; all its fields must be present. */
unsigned tuple_number(kw_hint_fields tuple, const uint8_t *values);
/* The values of the tuple with this number; other values are left. */
void tuple_values(kw_hint_fields tuple, unsigned number, uint8_t *ret_values);
/* True if the row has a complete tuple; ret_number: which. */
bool row_tuple(const search *with, const world *in, size_t path, unsigned *ret_number);
/* True if the row has a complete tuple, and its hint is missing. */
bool row_lacks_hint(const search *with, const world *in);

/* --- write_calls.c -------------------------------------------------------------------------------- */

const kw_hint_program *call_program(const search *with, const call *of);
kw_hint_step call_step(const search *with, const call *of);
/* Goes to the next step that is not skipped. */
void call_begin_step(const search *with, const world *in, call *of, unsigned step);
void write_expand(const search *with, const world *in, int index);

/* --- write_others.c ------------------------------------------------------------------------------- */

/* The values of all fields, 4 bits each. */
uint16_t read_all(const search *with, const world *in);
void get_expand(const search *with, const world *in, int index);
void find_expand(const search *with, const world *in, int index);
void clean_expand(const search *with, const world *in, int index);
void clean_begin(const search *with, const world *in);

void copy_begin(const search *with, const world *in);
void copy_expand(const search *with, const world *in);

/* --- write_walk.c --------------------------------------------------------------------------------- */

/* Bits: the paths whose hints calls at this place write. */
uint8_t place_hints(const search *with, unsigned place);
bool place_marks(const search *with, unsigned place);
/* Bits: the paths that readers can use now. */
uint8_t paths_read(const search *with, const world *in);
void walk_expand(const search *with, const world *in);
bool is_after_grace(const world *in);

/* --- write_model.c -------------------------------------------------------------------------------- */

bool is_timed(const search *with);
void answer(const search *with, const world *in, int index, uint16_t result, const char *action);

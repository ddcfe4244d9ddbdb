/* The state of one_writer_model, for its parts: one_writer_calls.c takes the steps of calls,
 * one_writer_model.c the others. */
#pragma once

#include "monitor.h"
#include "one_writer_model.h"

#include <glib.h>

#define SLOTS 4
#define PLACES 2
#define OLD 0
#define NEW 1
#define CELLS 2
#define A 0
#define B 1
#define BIT(number) ((uint8_t)(1u << (number)))
#define INITIAL 1 /* the value of both fields before the change, and its timestamp */
#define VALUES_MAX 15

/* Monitors: of the whole record, and of each field. Scans are operations only of the second view. */
enum { RECORD, FIELD_A, FIELD_B, MONITORS };
enum { VIEW_RECORD = 1, VIEW_FIELDS = 2 };

typedef struct cell {
    uint8_t stamp; /* 0: none */
    uint8_t value;
} cell;

/* What a delete marker hides is not kept: it never becomes visible again. */
typedef struct row {
    cell cells[CELLS];
    uint8_t row_marker, a_marker;
} row;

typedef enum call_state { CALL_NONE, CALL_BEGUN, CALL_HALF, CALL_APPLIED } call_state;

typedef struct call {
    uint8_t kind;
    uint8_t state;
    uint8_t version;
    uint8_t place;    /* reads: the placement */
    uint8_t value;    /* to write */
    uint8_t believed; /* atomics: the value that is replaced */
    uint8_t stamp;    /* of a write */
    uint8_t result;   /* reads: 4 bits for each field; atomics: whether the value was replaced */
    int8_t spec;
} call;

typedef struct world {
    row rows[PLACES];
    row copy; /* of a copy or comparison: read, and not yet written or removed */
    call calls[SLOTS];
    uint8_t now, floor[PLACES]; /* floor: the least timestamp of the row's next write */
    uint8_t ticks_left, calls_left, turns_left, kills_left, purges_left, copies_left, next_value;
    uint8_t at, from; /* versions; `from` is also used while `moving` */
    uint8_t moving, back, copying, copied, comparing, compared, wrong;
    uint8_t cursors; /* bits: placements of which there is a cursor */
    spec_ops specs;
    monitor monitors[MONITORS];
} world;

typedef struct search {
    const one_writer_model *model;
    explorer *of;
} search;

static inline const place_copy *
version_of(const search *with, uint8_t version)
{
    return &with->model->places[version];
}

static inline kw_role
role_in(const search *with, uint8_t version, int place)
{
    return place == OLD ? version_of(with, version)->rules.old_role
                        : version_of(with, version)->rules.new_role;
}

static inline void
step(const search *with, const world *next, const char *action, int index)
{
    explore_step(with->of, next, action, index);
}

/* --- rows ------------------------------------------------------------------------------------- */

static inline uint8_t
marker_of(const row *in, unsigned field)
{
    return field == A ? MAX(in->row_marker, in->a_marker) : in->row_marker;
}

static inline void
put_cell(row *to, unsigned field, cell put)
{
    if (put.stamp > marker_of(to, field) && put.stamp >= to->cells[field].stamp)
        to->cells[field] = put;
}

static inline void
delete_cells(row *from, bool whole, uint8_t stamp)
{
    uint8_t *marker = whole ? &from->row_marker : &from->a_marker;
    *marker = MAX(*marker, stamp);
    for (unsigned i = 0; i < CELLS; i++)
        if (from->cells[i].stamp <= marker_of(from, i))
            from->cells[i] = (cell){0, 0};
}

static inline uint8_t
values_of(const row *in)
{
    return (uint8_t)(in->cells[A].value | in->cells[B].value << 4);
}

/* The steps of a call that runs. */
void one_writer_call_expand(const search *with, const world *in, int index);
/* A call begins, under each version that can be in effect. */
void one_writer_calls_begin(const search *with, const world *in);

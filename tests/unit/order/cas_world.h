/* The state of cas_model, for its parts: cas_row.c has the rows, cas_model.c the calls. */
#pragma once

#include "cas_model.h"
#include "monitor.h"

#define OPS 5
#define CALLERS_MAX 3
#define PLACES 2
#define GATEWAYS 2
#define WATCHED 2
#define A 0
#define B 1
#define BIT(field) ((uint8_t)(1u << (field)))
#define FIRST BIT(0) /* placements */
#define SECOND BIT(1)

typedef struct cell {
    uint8_t stamp; /* 0: none */
    uint8_t value;
} cell;

/* One row. Gone cells, and kw:w of removals, are written one millisecond after the stamp of the removal. */
typedef struct place {
    cell cells[WATCHED];
    cell writer; /* kw:w */
    uint8_t row_marker, a_marker;
    uint8_t row_gone, a_gone;
    uint8_t writer_removes; /* kw:w is that of a removal */
} place;

typedef enum phase {
    IDLE,
    BEGUN,
    READ,        /* atomic operations: the compare can be sent; gets and unmet conditions: to be answered */
    APPLIED,     /* atomic operations: the first placement has it */
    REFUSED_LATE /* the compare may have been applied */
} phase;

typedef struct op {
    uint16_t kind;
    uint8_t phase;
    uint8_t value;    /* to write; unique, but for sums */
    uint8_t believed; /* conditions */
    uint8_t met;      /* conditions */
    uint8_t stamp;
    uint8_t id;      /* the value that it writes to kw:w */
    uint8_t seen;    /* the kw:w that was read; 0: none */
    uint8_t newest;  /* the newest stamp read */
    uint8_t pending; /* bits: placements where it has not arrived yet */
    uint8_t unseen;  /* bits: operations that had not arrived at the first placement when it was read */
    uint8_t exempt;
    uint8_t asked;  /* the compare was sent twice */
    uint8_t resent; /* the other placement was written twice */
    uint8_t from;   /* gets: the placement */
    uint8_t gateway;
    uint8_t turn; /* index of the version under which it began */
    uint16_t read;
    int8_t specs[2]; /* the second one: atomic operations, as the other placement sees them */
} op;

typedef struct world {
    uint8_t now, ticks_left, calls_left, unknown_left, asks_left, resends_left, repeats_left, slow_left,
        purges_left, expiries_left;
    uint8_t next_value, next_id, wrong;
    uint8_t turn;             /* index of the newest version */
    uint8_t serves[GATEWAYS]; /* indexes of those that the gateways serve */
    place places[PLACES];
    op ops[OPS];
    spec_ops specs;
    monitor monitors[PLACES * WATCHED];
} world;

bool op_is_removal(const op *of);
bool op_is_plain(const op *of); /* a put or a removal */
bool op_is_condition(const op *of);
uint8_t op_writes(const op *of); /* bits: fields */

cell place_visible(const place *in, unsigned field);
cell place_writer(const place *in);
uint16_t place_read(const place *from);
/* What the gateways do in the version under which the call began. */
cas_turn op_turn(const cas_model *model, const op *of);
/* The newest stamp among the cells and gone cells, and kw:w if `writer`. */
uint8_t place_newest(const place *in, bool writer);
void place_apply(const cas_model *model, place *to, const op *of);
/* A compaction drops the delete markers and the cells that they hide. */
void place_purge(place *in);
